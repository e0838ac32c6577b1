package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

// reader is one consumer and what has come of it.
type reader struct {
	*run
	pulls    pulls
	messages chan *nats.Msg
	timer    *time.Timer

	filtered bool
	seen     uint64    // deliveries of this consumer
	idle     bool      // the server had nothing more
	told     time.Time // when an idle CaughtUp chunk was sent last

	// floor is a first sequence of the stream as seen while reading with a
	// filter; it counts after floorIn more messages, which were sent before.
	floor     uint64
	floorIn   int
	trimCheck time.Time
}

// session reads with one consumer until that fails or ctx ends.
func (r *run) session(ctx context.Context) error {
	for len(r.status) > 0 {
		<-r.status
	}
	info, err := r.locate(ctx)
	if err != nil {
		return err
	}
	rd := &reader{run: r, filtered: filters(info, r.opts.Subjects), timer: time.NewTimer(r.silence), trimCheck: time.Now()}
	closeConsumer, err := rd.open(ctx)
	if err != nil {
		return err
	}
	defer closeConsumer()
	// The consumer belongs to a stream made at or before the time of this look.
	again, err := r.info(ctx)
	if err != nil {
		return err
	}
	if !again.Created.Equal(info.Created) {
		return gone("the stream was made again meanwhile")
	}
	if err := rd.begin(ctx, info); err != nil {
		return err
	}
	if !r.say(ctx, "") {
		return nil
	}
	if len(r.at.gaps) > 0 || rd.idle {
		if !r.deliver(ctx, ingest.Chunk{CaughtUp: rd.idle}) {
			return nil
		}
		rd.told = time.Now()
	}
	err = rd.read(ctx)
	if !rd.flush(ctx) {
		return nil
	}
	return err
}

// filters reports whether the subjects may leave out messages of the stream.
func filters(info *jetstream.StreamInfo, subjects []string) bool {
	return len(subjects) > 0 && !slices.Contains(subjects, ">") && !slices.Equal(info.Config.Subjects, subjects)
}

// open makes the consumer and its subscription.
func (r *reader) open(ctx context.Context) (func(), error) {
	cfg := jetstream.ConsumerConfig{
		Name:              "isowatch-" + rand.Text(),
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.at.next,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: inactive,
	}
	if r.filtered {
		switch len(r.opts.Subjects) {
		case 1:
			cfg.FilterSubject = r.opts.Subjects[0]
		default:
			cfg.FilterSubjects = r.opts.Subjects
		}
	}
	// Beside the read-ahead, room for heartbeats and ends of requests that pile
	// up while a full channel blocks the reader: both cease after requestLife.
	r.messages = make(chan *nats.Msg, r.opts.MaxMessages+4*int(requestLife/heartbeat))
	inbox := r.opts.Conn.NewInbox()
	sub, err := r.opts.Conn.ChanSubscribe(inbox, r.messages)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	consumer, err := r.js.CreateConsumer(ctx, r.opts.Stream, cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("consumer of stream %s: %w", r.opts.Stream, err), sub.Unsubscribe())
	}
	r.pending = consumer.CachedInfo().NumPending
	r.idle = r.pending == 0
	r.pulls = pulls{
		conn: r.opts.Conn, came: time.Now(), inbox: inbox, messages: r.opts.MaxMessages, bytes: r.opts.MaxBytes,
		subject: "$JS.API.CONSUMER.MSG.NEXT." + r.opts.Stream + "." + cfg.Name,
	}
	return func() {
		_ = sub.Unsubscribe()
		if r.opts.Conn.Status() != nats.CONNECTED {
			return
		}
		// Best effort: the server removes it by itself after inactive.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = r.js.DeleteConsumer(ctx, r.opts.Stream, cfg.Name)
	}, nil
}

// read takes messages until the consumer fails.
func (r *reader) read(ctx context.Context) error {
	for {
		pause, err := r.pulls.refill(r.pending)
		if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		m, err := r.receive(ctx, pause)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		r.silence = silenceFirst
		if m.Subject == r.pulls.inbox {
			err = r.control(ctx, m)
		} else {
			err = r.take(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// receive returns the next message, or nil after it sent the chunk on for want
// of one. A pause above 0 is the time until the next request, without one being open.
func (r *reader) receive(ctx context.Context, pause time.Duration) (*nats.Msg, error) {
	select {
	case m := <-r.messages:
		return m, nil
	default:
	}
	wait := r.silence
	if len(r.chunk.Messages) > 0 {
		if r.pending == 0 {
			return nil, r.sendChunk(ctx)
		}
		wait, pause = gather, 0
	} else if pause > 0 {
		wait = pause
	}
	r.timer.Reset(wait)
	select {
	case m := <-r.messages:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.status: // a lost connection is told if it does not come back soon
		return nil, gone("the connection has changed")
	case <-r.timer.C:
		if len(r.chunk.Messages) > 0 {
			return nil, r.sendChunk(ctx)
		}
		if pause > 0 {
			return nil, nil
		}
		r.silence = min(2*r.silence, silenceMost)
		return nil, gone(fmt.Sprintf("nothing came in %v, no heartbeat either", wait))
	}
}

// control handles messages that are not the stream's.
func (r *reader) control(ctx context.Context, m *nats.Msg) error {
	status, reason := readStatus(m)
	switch status {
	case statusHeartbeat:
		return r.heartbeat(ctx, m)
	case statusEnded, statusTooLarge:
		r.pulls.ended(m, status)
		return nil
	}
	return gone(reason)
}

// heartbeat is sent only when the consumer has nothing deliverable.
func (r *reader) heartbeat(ctx context.Context, m *nats.Msg) error {
	if last, ok := parseUint(m.Header.Get("Nats-Last-Consumer")); ok && last != r.seen {
		return gone("the end of what it sent is lost")
	}
	r.pending, r.idle = 0, true
	if last, ok := parseUint(m.Header.Get("Nats-Last-Stream")); ok && r.filtered && last >= r.at.next {
		if err := r.watch(ctx, delivery{stream: last + 1, consumer: r.seen}, true); err != nil {
			return err
		}
		if err := r.jump(ctx, last+1); err != nil {
			return err
		}
		r.at.next = last + 1
	}
	if err := r.sendChunk(ctx); err != nil {
		return err
	}
	if time.Since(r.told) < heartbeat {
		return nil // each of several open requests has its heartbeat
	}
	r.told = time.Now()
	if !r.deliver(ctx, ingest.Chunk{CaughtUp: true}) {
		return ctx.Err()
	}
	return nil
}
