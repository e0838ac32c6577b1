package whole

import (
	"errors"
	"sync"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/registers"
)

// smallHistory is how many bytes a file has whose records are kept from the first reading on. The machines
// take them from there. A command may check such files by the hundred, so their memory is used again too.
const smallHistory = 1 << 20

// reading is a whole recording as it was read: the steps, and what comes last. Nil is none.
type reading struct {
	steps   []*event.Batch
	last    *event.Batch
	decoder event.Decoder
}

var batches = sync.Pool{New: func() any { return &event.Batch{} }}

func batchOf(partition string) *event.Batch {
	b := batches.Get().(*event.Batch)
	b.Partitions = append(b.Partitions, partition)
	return b
}

// attemptSmall is attempt for a small recording. All that was read is kept, unless the format says something
// of the capture.
func (w *Whole) attemptSmall(in *Recording, name string) (*registers.History, []isolation.Level, *reading, error) {
	h := &registers.History{Drift: int64(w.Watch.Contract.ClockDrift)}
	r := &reading{last: batchOf(w.partition(name))}
	err := in.Read(&r.decoder, r.last, func(contract string) error {
		if contract != "" {
			return errOdd
		}
		// The reader goes on with the same batch.
		step := batchOf(w.partition(name))
		*step, *r.last = *r.last, *step
		r.steps = append(r.steps, step)
		return nil
	})
	again := in.rewind()
	if again == nil && errors.Is(err, errOdd) {
		r.giveBack()
		return h, nil, nil, nil
	}
	if err = errors.Join(err, again); err != nil {
		r.giveBack()
		return nil, nil, nil, err
	}
	for _, b := range append(r.steps, r.last) {
		h.Add(b)
	}
	if h.Odd() != "" {
		return h, nil, r, nil
	}
	return h, w.decide(h, name), r, nil
}

// replay gives h what was read, step by step. It leaves the rest in the batch.
func (r *reading) replay(h *Checking) {
	h.Decoder = r.decoder
	for i := range r.steps {
		h.Batch, *r.steps[i] = *r.steps[i], h.Batch
		h.Step()
	}
	h.Batch, *r.last = *r.last, h.Batch
}

// giveBack lets others use the memory.
func (r *reading) giveBack() {
	if r == nil {
		return
	}
	for _, b := range append(r.steps, r.last) {
		b.Reset()
		batches.Put(b)
	}
}
