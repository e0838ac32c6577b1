package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

// since is where a reader without a cursor begins that wants what was stored from
// t on. Store times grow with sequences, so a binary search finds the first such
// message, in about 30 requests for a stream of 10^9.
func (r *run) since(ctx context.Context, stream jetstream.Stream, state jetstream.StreamState, t time.Time) (place, error) {
	first, end := max(state.FirstSeq, 1), state.LastSeq+1
	low, high := first, max(end, first) // the answer lies in [low, high]
	for low < high {
		middle := low + (high-low)/2
		at, stored, err := r.stored(ctx, stream, middle)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			high = middle // there is none from middle on
		case err != nil:
			return place{}, fmt.Errorf("stream %s: %w", r.opts.Stream, err)
		case stored.Before(t):
			low = at + 1
		default:
			high = middle
		}
	}
	p := place{next: low}
	if low == first && first > 1 {
		p.gaps = []ingest.Gap{{From: 1, To: int64(first), Reason: "removed from the stream's beginning, and may have been stored within the range"}}
	}
	return p, nil
}

// stored is the first message from seq on.
func (r *run) stored(ctx context.Context, stream jetstream.Stream, seq uint64) (at uint64, t time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	m, err := stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
	if err != nil {
		return 0, time.Time{}, err
	}
	return m.Sequence, m.Time, nil
}
