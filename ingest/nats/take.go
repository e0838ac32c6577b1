package nats

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/isowatch/isowatch/ingest"
)

// take adds a message to the chunk.
func (r *reader) take(ctx context.Context, m *nats.Msg) error {
	d, err := parseReply(m.Reply)
	if err != nil {
		return err
	}
	if d.consumer != r.seen+1 || d.stream < r.at.next {
		return gone("some of what it sent is lost, or came twice")
	}
	r.seen = d.consumer
	r.pulls.took(m)
	if err := r.watch(ctx, d, false); err != nil {
		return err
	}
	if err := r.jump(ctx, d.stream); err != nil {
		return err
	}
	if r.floorIn > 0 {
		r.floorIn--
	}
	if r.chunk.Messages == nil {
		r.chunk.Messages = make([]ingest.Message, 0, min(max(2*r.hint, 4), chunkMessages))
	}
	// The payload is the client library's own copy, made for this message.
	r.chunk.Messages = append(r.chunk.Messages, ingest.Message{Offset: int64(d.stream), Time: d.time, Value: m.Data})
	r.bytes += len(m.Data)
	r.at.next = d.stream + 1
	r.lastSeq, r.lastTime = d.stream, d.time
	r.pending, r.idle = d.pending, d.pending == 0
	if r.bytes >= min(chunkBytes, r.opts.MaxBytes) || len(r.chunk.Messages) >= min(chunkMessages, r.opts.MaxMessages) {
		return r.sendChunk(ctx)
	}
	return nil
}

// jump tells what is lost between the cursor and seq, behind what was read before.
func (r *reader) jump(ctx context.Context, seq uint64) error {
	if seq <= r.at.next {
		return nil
	}
	gaps := r.missing(seq)
	if len(gaps) == 0 {
		return nil
	}
	if err := r.sendChunk(ctx); err != nil {
		return err
	}
	r.chunk.Gaps = append(r.chunk.Gaps, gaps...)
	return nil
}

// missing judges a jump to seq. Without a filter every sequence is delivered
// unless its message was removed. With one, what lies below a first sequence of
// the stream is known to be removed, and what a look has found.
func (r *reader) missing(seq uint64) (gaps []ingest.Gap) {
	if !r.filtered {
		return []ingest.Gap{{
			From: int64(r.at.next), To: int64(seq),
			Reason: "messages were removed from the stream before they were read",
		}}
	}
	next := r.at.next
	if r.floorIn == 0 && r.floor > next {
		gaps = append(gaps, ingest.Gap{
			From: int64(next), To: int64(min(seq, r.floor)),
			Reason: "the stream's beginning was removed before it was read; some of it may have had other subjects",
		})
		next = min(seq, r.floor)
	}
	if gap, lost := r.gone.passed(next, seq); lost {
		gaps = append(gaps, gap)
	}
	return gaps
}

// sendChunk sends the gathered messages, if there are any.
func (r *reader) sendChunk(ctx context.Context) error {
	if !r.flush(ctx) {
		return ctx.Err()
	}
	return r.checkTrim(ctx)
}

func (r *reader) flush(ctx context.Context) bool {
	if len(r.chunk.Messages) == 0 && len(r.chunk.Gaps) == 0 {
		return true
	}
	c := r.chunk
	c.CaughtUp = r.idle
	r.hint, r.bytes, r.chunk = len(c.Messages), 0, ingest.Chunk{}
	return r.deliver(ctx, c)
}

// checkTrim looks, at most once in trimCheck, whether the stream's beginning
// has been removed under a filtered reader that lags behind. Messages received
// and not yet taken were sent before the look.
func (r *reader) checkTrim(ctx context.Context) error {
	if !r.filtered || r.idle || time.Since(r.trimCheck) < trimCheck {
		return nil
	}
	r.trimCheck = time.Now()
	info, err := r.info(ctx)
	if err != nil {
		return err
	}
	r.raiseFloor(info.State.FirstSeq, len(r.messages))
	return nil
}

// raiseFloor notes the stream's first sequence; it counts after so many more messages.
func (r *reader) raiseFloor(first uint64, after int) {
	if first > r.at.next && first > r.floor {
		r.floor, r.floorIn = first, after
	}
}
