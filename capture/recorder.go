package capture

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/isowatch/isowatch/event/record"
)

// Recorder records the transactions of one database. Its methods may be called by
// several goroutines.
type Recorder struct {
	opt      Options
	hashKey  []byte // nil: nothing is hashed
	instance string // tells the ids of this recorder from the ids of all others
	free     sync.Pool

	txns, sessions atomic.Int64 // made so far
	stats          counters
	queue          queue
	marks          int64 // see gap; under the queue's lock
	sender         *sender
}

// New starts a recorder of the source that hands its records to sink. It owns the
// sink and closes it. Values are hashed, for which it needs [WithKey], or
// [WithPlainValues]. Close it at the end of the process.
func New(sink Sink, source string, opts ...Option) (*Recorder, error) {
	o := Options{Source: source}
	for _, option := range opts {
		option(&o)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Source, o.Epoch = validText(o.Source), validText(o.Epoch)
	r := &Recorder{opt: o, instance: strings.ToLower(rand.Text()[:13])} // 65 bits
	if !o.PlainValues || o.HashedKeys {
		r.hashKey = hashKey(o.Key, o.Source)
	}
	r.queue.init(o.Queue, r.gap)
	r.sender = startSender(r, sink)
	return r, nil
}

// end hands over the record of t, which has ended.
func (r *Recorder) end(t *Txn) {
	r.stats.open.Add(-1)
	switch {
	case t.left && t.ops == 0:
		r.stats.unsampled.Add(1)
	case t.session != nil:
		t.head.Session, t.head.Seq = t.session.name, t.session.seq.Add(1)
		t.head.Flags |= record.HasSeq
		fallthrough
	default:
		r.record(t)
	}
	if t.session != nil {
		t.session.busy.Store(false)
	}
	t.scratch.reset()
	r.free.Put(t.scratch)
}

// record encodes t and queues it, or drops it.
func (r *Recorder) record(t *Txn) {
	switch t.broken {
	case tooLong:
		r.drop(&r.stats.tooLong)
		return
	case noJSON:
		r.drop(&r.stats.noJSON)
		return
	}
	s := t.scratch
	s.text = t.appendID(s.text[:0])
	t.head.ID = t.keep(s.text)
	s.line = record.AppendJSONWith(s.line[:0], &t.head, s.ops)
	switch {
	case len(s.line) > r.opt.MaxRecord:
		r.drop(&r.stats.tooLong)
	case !r.queue.put(s.line):
		r.stats.full.Add(1) // the queue has it told
	default:
		r.stats.recorded.Add(1)
	}
}

// drop counts a transaction that has no record, and has the monitor told.
func (r *Recorder) drop(why *atomic.Int64) {
	why.Add(1)
	r.queue.lose(1)
}

// Close hands what is queued to the sink, and closes it. Transactions that end later
// are dropped. When ctx ends first, it gives up, and the error says how many records
// were not delivered; nobody tells the monitor of these. On a nil recorder, and the
// second time, it does nothing.
func (r *Recorder) Close(ctx context.Context) error {
	if r == nil || !r.queue.close() {
		return nil
	}
	select {
	case <-r.sender.done:
	case <-ctx.Done():
		r.sender.cancel()
		if n := r.queue.held(); n > 0 {
			return fmt.Errorf("capture: records that were not delivered: %d: %w", n, r.sender.why(ctx))
		}
	}
	return r.sender.closed(ctx)
}
