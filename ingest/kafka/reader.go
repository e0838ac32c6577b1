package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/isowatch/isowatch/ingest"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

const (
	// idleInterval is the least time between two chunks without messages.
	idleInterval = 500 * time.Millisecond
	// firstWait bounds the wait of a fetch before the end is known.
	firstWait = 10 * time.Millisecond
	// heldPatience is how long an open transaction may hold back the records
	// before that is told. Kafka ends one after 60 s by default.
	heldPatience = 10 * time.Second
)

// reader delivers one partition. It is one goroutine.
type reader struct {
	log      *partitionLog
	name     string // "kafka:TOPIC/PARTITION"
	out      chan<- ingest.Chunk
	logger   *slog.Logger
	maxBytes int32

	begin begin // where to start without a cursor

	placed   bool  // next is known
	next     int64 // first offset not yet delivered
	last     identity
	verify   bool  // compare last before going on
	holes    bool  // the topic is compacted, or may be
	beyond   bool  // the broker said once that next lies beyond its end
	caughtUp bool  // what the last chunk said
	end      int64 // of the partition, when it was read last
	sent     time.Time
	hint     size

	heldSince time.Time // an open transaction holds back the records; zero: none

	trouble trouble
}

// begin is where a partition without a cursor starts.
type begin struct {
	at   Start
	time time.Time // of FromTime
}

// unknownNext is the Next of a cursor that says nothing: a partition that was
// not placed yet has trouble to tell. It resumes as if there were no cursor.
const unknownNext = -1

// resume places r behind cursor.
func (r *reader) resume(c ingest.Cursor) {
	r.placed, r.next, r.last = true, c.Next, parseIdentity(c.Identity)
	r.verify = r.last.known()
}

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			r.recovered(ctx)
			continue
		}
		if retriable(err) {
			r.log.cluster.Reconnect(time.Now())
		}
		// Behind an error may stand a topic that was deleted and made again.
		r.verify = r.placed && r.last.known()
		r.failed(ctx, r.cause(ctx, err))
	}
}

// cause asks the cluster what stands behind an error that may mean anything.
func (r *reader) cause(ctx context.Context, err error) error {
	if lacksTopic(err) {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if probe := r.log.cluster.Probe(ctx); probe != nil {
			return probe
		}
		return fmt.Errorf("kafka: the cluster knows no leader of topic %s, partition %d", r.log.topic, r.log.id)
	}
	return r.log.cluster.Explain(err)
}

// step fetches once and delivers what came.
func (r *reader) step(ctx context.Context) error {
	if err := r.place(ctx); err != nil {
		return err
	}
	res, err := r.log.fetch(ctx, fetchSpec{
		from: r.next, maxBytes: r.maxBytes, isolation: kafkago.ReadCommitted, maxWait: r.wait(),
	})
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		return r.outOfRange(ctx)
	}
	if err != nil {
		return err
	}
	r.beyond = false
	return r.deliver(ctx, res)
}

// wait is how long the broker may hold the fetch. A reader that has not stood
// at the end yet asks for an answer at once, to learn whether it does.
func (r *reader) wait() time.Duration {
	if r.caughtUp || !r.heldSince.IsZero() {
		return r.log.maxWait
	}
	return min(r.log.maxWait, firstWait)
}

// place finds the first position, or checks the resumed one.
func (r *reader) place(ctx context.Context) error {
	if !r.placed {
		next, err := r.beginning(ctx)
		if err != nil {
			return err
		}
		r.placed, r.next, r.last = true, next, none()
		if err := r.cut(ctx); err != nil {
			r.placed = false
			return err
		}
	}
	if !r.verify {
		return nil
	}
	same, known, err := r.log.same(ctx, r.last)
	if err != nil {
		return err
	}
	r.verify = false
	if same || !known {
		return nil
	}
	return r.restart(ctx, fmt.Sprintf("offset %d holds another record than the one delivered: the topic was recreated", r.last.offset))
}

func (r *reader) beginning(ctx context.Context) (int64, error) {
	if r.begin.at == FromTime {
		return r.log.since(ctx, r.begin.time)
	}
	first, end, err := r.log.bounds(ctx)
	if r.begin.at == FromEnd {
		return end, err
	}
	return first, err
}

// cut tells that records which were asked for by time may be missing. The first one that is
// left is as young as that time, and older ones were removed.
func (r *reader) cut(ctx context.Context) error {
	if r.begin.at != FromTime {
		return nil
	}
	first, _, err := r.log.bounds(ctx)
	if err != nil || first == 0 || r.next > first {
		return err
	}
	return r.lost(ctx, ingest.Gap{From: 0, To: first, Reason: "expired or deleted on the broker, and may have belonged to the range"})
}

// restart reports everything after the position as lost, as far as one knows,
// and goes on at the first offset.
func (r *reader) restart(ctx context.Context, reason string) error {
	first, _, err := r.log.bounds(ctx)
	if err != nil {
		return err
	}
	gap := ingest.Gap{From: r.next, To: r.next, Reason: reason}
	r.next, r.last, r.verify, r.beyond = first, none(), false, false
	return r.lost(ctx, gap)
}

var errBeyond = errors.New("the position lies beyond the end of the partition")

// outOfRange tells an expired position from one beyond the end: the broker
// answers both alike and gives no offset with it.
func (r *reader) outOfRange(ctx context.Context) error {
	first, end, err := r.log.bounds(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.next < first:
		gap := ingest.Gap{From: r.next, To: first, Reason: "expired or deleted on the broker before it was read"}
		r.next, r.last, r.beyond = first, none(), false
		return r.lost(ctx, gap)
	case r.next <= end:
		return fmt.Errorf("offset %d was refused although the partition holds %d to %d", r.next, first, end)
	case !r.beyond: // a leader just elected may not know its own end yet
		r.beyond = true
		return fmt.Errorf("%w: %d, end %d", errBeyond, r.next, end)
	}
	return r.restart(ctx, fmt.Sprintf("the partition ends at %d, before our position %d: the topic was recreated or truncated", end, r.next))
}

// lost sends the gap at once, with the position behind it.
func (r *reader) lost(ctx context.Context, gap ingest.Gap) error {
	r.logger.Warn("input lost", "partition", r.name, "from", gap.From, "to", gap.To, "reason", gap.Reason)
	return r.send(ctx, ingest.Chunk{Gaps: []ingest.Gap{gap}})
}

// deliver sends the messages of res and moves behind them.
func (r *reader) deliver(ctx context.Context, res *fetch.ResponsePartition) error {
	read := reading{from: r.next, next: r.next, holes: r.holes, hint: r.hint}
	if err := read.read(res.RecordSet, res.AbortedTransactions); err != nil {
		return err
	}
	if read.jump != 0 && read.next == r.next {
		return r.hole(ctx, read.jump)
	}
	if read.next == r.next && r.next < res.LastStableOffset {
		return fmt.Errorf("the broker returned no records at offset %d, though it holds them up to %d", r.next, res.LastStableOffset)
	}
	end := max(res.HighWatermark, 0)
	r.end = end
	for i, run := range read.runs {
		r.next = run.next
		r.last = identify(run.messages[len(run.messages)-1])
		r.hint = size{len(run.messages), sizeOf(run.messages)}
		caughtUp := i == len(read.runs)-1 && r.next >= end
		if err := r.send(ctx, ingest.Chunk{Messages: run.messages, CaughtUp: caughtUp}); err != nil {
			return err
		}
	}
	if len(read.runs) > 0 {
		return nil
	}
	r.next = read.next
	if err := r.idle(ctx, r.next >= end); err != nil {
		return err
	}
	return r.held(res, time.Now())
}

// errHeld is told as a problem; the reader goes on trying.
var errHeld = errors.New("an open transaction holds back the records")

// held tells when an open transaction has kept records from us for longer than
// heldPatience: until it ends, read_committed shows nothing behind it.
func (r *reader) held(res *fetch.ResponsePartition, now time.Time) error {
	if r.next < res.LastStableOffset || res.LastStableOffset >= res.HighWatermark {
		r.heldSince = time.Time{}
		return nil
	}
	if r.heldSince.IsZero() {
		r.heldSince = now
	}
	if now.Sub(r.heldSince) < heldPatience {
		return nil
	}
	return fmt.Errorf("%w from offset %d on, up to %d", errHeld, res.LastStableOffset, res.HighWatermark)
}

func sizeOf(messages []ingest.Message) int {
	n := 0
	for i := range messages {
		n += len(messages[i].Value)
	}
	return n
}

// hole decides on a batch that begins after the offset that was asked for.
func (r *reader) hole(ctx context.Context, begins int64) error {
	dense, err := r.log.dense(ctx)
	if err == nil && dense {
		gap := ingest.Gap{From: r.next, To: begins, Reason: "missing on the broker, and the topic is not compacted"}
		r.next = begins
		return r.lost(ctx, gap)
	}
	r.holes = true
	why := "the topic is compacted"
	if err != nil {
		why = "its cleanup.policy cannot be read: " + err.Error()
	}
	r.logger.Warn("offsets are missing: they are lost or compacted, which cannot be told apart here",
		"partition", r.name, "from", r.next, "to", begins, "why", why)
	return nil
}

// idle says where the reader stands when there is nothing to deliver.
func (r *reader) idle(ctx context.Context, caughtUp bool) error {
	if !caughtUp && !r.sent.IsZero() || r.caughtUp && time.Since(r.sent) < idleInterval {
		return nil
	}
	return r.send(ctx, ingest.Chunk{CaughtUp: caughtUp})
}

// send completes c and blocks until it is taken.
func (r *reader) send(ctx context.Context, c ingest.Chunk) error {
	c.Partition = r.name
	c.Cursor = ingest.Cursor{Next: unknownNext}
	if r.placed {
		c.Cursor = ingest.Cursor{Next: r.next, Identity: r.last.String()}
		c.Behind = max(r.end-r.next, 0)
	}
	select {
	case r.out <- c:
		r.caughtUp, r.sent = c.CaughtUp, time.Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
