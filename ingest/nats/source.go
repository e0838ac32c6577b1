package nats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// Source reads one stream as the partition "nats:STREAM".
type Source struct {
	opts Options
	js   jetstream.JetStream
}

// New checks o. It does not talk to the server.
func New(o Options) (*Source, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(o.Conn, jetstream.WithDefaultTimeout(apiWait))
	if err != nil {
		return nil, fmt.Errorf("nats source: %w", err)
	}
	return &Source{opts: o, js: js}, nil
}

// fatalError is an error that no retry can mend.
type fatalError struct{ reason string }

func (e *fatalError) Error() string { return "nats source: " + e.reason }

// Run implements [ingest.Source]. It waits out a missing server or stream, and
// fails where the stream deletes what any consumer has taken.
func (s *Source) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	status := s.opts.Conn.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer s.opts.Conn.RemoveStatusListener(status)
	r := &run{
		Source: s, out: out, status: status, silence: silenceFirst,
		at: place{next: uint64(max(from[s.opts.partition()].Next, 0)), identity: from[s.opts.partition()].Identity},
	}
	r.fresh = r.at.next == 0 && r.at.identity == "" && s.opts.Since.IsZero()
	wait := retryFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := r.session(ctx)
		if time.Since(began) > 2*retryMost {
			wait = retryFirst
		}
		var fatal *fatalError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &fatal):
			return err
		case errors.Is(err, errConsumer) && wait == retryFirst:
			// Made again at once; repeated failures are told.
		default:
			r.say(ctx, err.Error())
		}
		if !r.pause(ctx, wait) {
			return nil
		}
		wait = min(2*wait, retryMost)
	}
	return nil
}

// run is the state that outlives the consumers of one Run.
type run struct {
	*Source
	out    chan<- ingest.Chunk
	status chan nats.Status

	pending  uint64 // what the server still had when it sent the last message
	at       place
	lastTime int64  // store time of message at.next-1, when lastSeq is at.next-1
	lastSeq  uint64 // last message taken in this run, 0: none
	trouble  string // the problem last sent
	silence  time.Duration
	chunk    ingest.Chunk
	bytes    int  // in chunk
	hint     int  // messages of the chunk before
	fresh    bool // nothing was read before, by any run
	gone     removed
}

// pause waits for d, or for the connection to come back.
func (r *run) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case st := <-r.status:
			if st == nats.CONNECTED {
				return true
			}
		}
	}
}

// say sends a problem unless it is the one last sent; "" says that it is over.
func (r *run) say(ctx context.Context, problem string) bool {
	if problem == r.trouble {
		return true
	}
	r.trouble = problem
	return r.deliver(ctx, ingest.Chunk{Problem: problem})
}

// deliver completes c with name, cursor and the gaps that lie before the cursor,
// and waits until it is taken.
func (r *run) deliver(ctx context.Context, c ingest.Chunk) bool {
	if len(r.at.gaps) > 0 {
		c.Gaps = append(r.at.gaps, c.Gaps...)
		r.at.gaps = nil
	}
	c.Partition = r.opts.partition()
	c.Cursor = ingest.Cursor{Next: int64(r.at.next), Identity: r.at.identity}
	c.Behind = int64(min(r.pending, math.MaxInt64))
	began := time.Now()
	select {
	case r.out <- c:
		r.gone.blind = r.gone.blind || time.Since(began) > blocked
		return true
	case <-ctx.Done():
		return false
	}
}

// locate asks for the stream and settles where to read on.
func (r *run) locate(ctx context.Context) (*jetstream.StreamInfo, error) {
	if st := r.opts.Conn.Status(); st != nats.CONNECTED {
		if err := r.opts.Conn.LastError(); err != nil {
			return nil, fmt.Errorf("not connected to %s: %w", brokernats.Addresses(r.opts.Conn), err)
		}
		return nil, fmt.Errorf("not connected to %s", brokernats.Addresses(r.opts.Conn))
	}
	info, err := r.info(ctx)
	if err != nil {
		return nil, err
	}
	if p := info.Config.Retention; p != jetstream.LimitsPolicy {
		return nil, &fatalError{fmt.Sprintf("stream %s has %v retention: it deletes what its consumers have taken, and a monitor must only look on", r.opts.Stream, p)}
	}
	if t := r.opts.Since; !t.IsZero() && r.at.next == 0 && r.at.identity == "" {
		stream, err := r.js.Stream(ctx, r.opts.Stream)
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", r.opts.Stream, err)
		}
		if r.at, err = r.since(ctx, stream, info.State, t); err != nil {
			return nil, err
		}
	}
	was := r.at
	r.at = resume(ingest.Cursor{Next: int64(was.next), Identity: was.identity}, incarnation{
		created: info.Created, first: info.State.FirstSeq, last: info.State.LastSeq,
	})
	r.at.gaps = append(was.gaps, r.at.gaps...)
	if r.at.next == was.next && r.at.identity == was.identity && r.isRewritten(ctx) {
		r.at = rewritten(r.at)
	}
	return info, nil
}

// isRewritten asks whether the message read last is still the same one. After a
// power cut a server may come back without its newest messages, and be given
// new ones under the same sequences before anyone looks.
func (r *run) isRewritten(ctx context.Context) bool {
	if r.lastSeq == 0 || r.lastSeq != r.at.next-1 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	stream, err := r.js.Stream(ctx, r.opts.Stream)
	if err != nil {
		return false
	}
	m, err := stream.GetMsg(ctx, r.lastSeq)
	return err == nil && m.Time.UnixNano() != r.lastTime
}

func (r *run) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	stream, err := r.js.Stream(ctx, r.opts.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", r.opts.Stream, err)
	}
	return stream.CachedInfo(), nil
}
