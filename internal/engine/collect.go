package engine

import (
	"context"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// tickEvery is how often a step is made without input, so that idle partitions
// time out and the watermark moves.
const tickEvery = time.Second

// Without a record for calmAfter, steps are rarer: each costs the same, and nobody waits for them.
const (
	calmAfter  = time.Minute
	calmEvery  = 2 * time.Second // less than a machine waits for news of a partition that is at its end
	calmIsLate = calmEvery + 500*time.Millisecond
)

// paceBelow is how many records a step should have, so that what a step costs by itself, some
// 0.3 ms, is a small part of it.
const paceBelow = 256

// collect decodes chunks into steps. A step is handed on when it is full, when its first event
// has waited long enough, or at the end of the input. A step with few records waits until
// [Options.Pace] has passed since the one before.
func (e *Engine) collect(ctx context.Context, in <-chan ingest.Chunk, finish bool, out chan<- *work, free <-chan *work) {
	w := e.fresh(<-free)
	tick := time.NewTimer(tickEvery)
	defer tick.Stop()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	var last time.Time           // when a step was handed on
	var spare []*work            // that came back while this goroutine waited for others
	settle := func(most int64) { // steps before take no more than that, or are none
		for e.inFlight.Load() > most {
			spare = append(spare, <-free)
		}
	}
	flush := func() {
		timer.Stop()
		w.step.tick = e.opt.Now() // no earlier than the receipt of its messages
		if e.busy == 0 || !w.bare() {
			e.busy = w.step.tick
		}
		e.expect(w)
		e.confirm(w)
		w.step.batch.Pack()
		w.waiting = e.waiting(w.step.tick)
		tick.Reset(e.tickAfter(w.step.tick))
		if last = time.Now(); w.urgent {
			w.note(&e.stages, StageGather, w.first)
		}
		w.bytes = w.memory()
		e.inFlight.Add(w.bytes)
		out <- w
		if e.opt.StepsBytes > 0 {
			settle(e.opt.StepsBytes)
		}
		if n := len(spare); n > 0 {
			w, spare = spare[n-1], spare[:n-1]
		} else {
			w = <-free
		}
		w = e.fresh(w)
	}
	wait := func() { // for more, or for the time to hand on what there is
		now := time.Now()
		if !w.urgent {
			w.urgent, w.first = true, now
			timer.Reset(max(e.opt.Gather, e.opt.Pace-now.Sub(last)))
		}
		if len(w.step.batch.Txns) < paceBelow {
			return
		}
		if left := e.opt.Gather - now.Sub(w.first); left > 0 {
			timer.Reset(left)
		} else {
			flush()
		}
	}
	for {
		select {
		case <-ctx.Done():
			if !w.empty() {
				flush()
			}
			return
		case c, ok := <-in:
			if !ok {
				if finish {
					w.step.end = true
				}
				if finish || !w.empty() {
					flush()
				}
				if finish {
					clear(e.partitions)
					e.awaited, e.missed = nil, nil
				}
				return
			}
			if w.announced && len(c.Messages) > 0 {
				flush() // the machines know all partitions before the first record
			}
			if len(c.Gaps) > 0 && !w.empty() {
				flush() // a gap acts only on the messages behind it
			}
			if large := 4 * c.Bytes(); large > e.opt.StepsBytes/4 && e.opt.StepsBytes > 0 {
				if !w.empty() {
					flush()
				}
				settle(max(e.opt.StepsBytes-large, 0))
			}
			for e.take(w, &c) {
				flush()
			}
			switch {
			case w.full(e.opt.StepBytes):
				flush()
			case !w.idle():
				wait()
			}
		case x := <-e.resolving:
			w.resolving = append(w.resolving, x)
			flush()
		case x := <-e.losing:
			w.step.faults = append(w.step.faults, x)
			flush()
		case <-timer.C:
			flush()
		case <-tick.C:
			if now := e.opt.Now(); !w.urgent && now != 0 {
				flush()
			} else {
				tick.Reset(tickEvery)
			}
		}
	}
}

func (e *Engine) fresh(w *work) *work {
	w.step.batch.Reset()
	w.step.gaps, w.step.bad, w.step.end, w.step.pause = w.step.gaps[:0], 0, false, false
	w.step.stands, w.announced, w.urgent = w.step.stands[:0], false, false
	w.cursors, w.confirmed = map[string]ingest.Cursor{}, w.confirmed[:0]
	w.dead, w.effects, w.puts = w.dead[:0], w.effects[:0], w.puts[:0]
	w.snapshot, w.status, w.ended, w.failed, w.last = nil, nil, nil, nil, nil
	w.step.faults = nil
	clear(w.step.owned)
	return w
}

// keptBytes bounds the memory that a step which is done keeps for the next one, by part.
const keptBytes = 4 << 20

// memory is about what the step takes, with the delta that is made of it.
func (w *work) memory() int64 {
	n := w.step.batch.Memory() + cap(w.delta) + cap(w.assembly) + len(w.step.batch.Records)
	return int64(n)
}

// shrink gives back the memory of a large step.
func (w *work) shrink() {
	w.step.batch.Shrink(keptBytes)
	for _, b := range []*[]byte{&w.delta, &w.assembly} {
		if cap(*b) > keptBytes {
			*b = nil
		}
	}
	clear(w.puts)
	clear(w.effects)
	clear(w.dead)
	w.dead, w.effects, w.puts, w.snapshot = w.dead[:0], w.effects[:0], w.puts[:0], nil
	for i := range w.step.answers {
		w.step.answers[i].Reset()
	}
	w.step.answers = w.step.answers[:0]
}

func (w *work) empty() bool { return w.idle() && len(w.cursors) == 0 }

// idle says that nothing is in the step except cursors.
func (w *work) idle() bool { return w.bare() && len(w.step.stands) == 0 }

// bare says that the step has no more than news of readers.
func (w *work) bare() bool {
	return len(w.step.batch.Txns) == 0 && len(w.step.batch.Parts) == 0 && len(w.step.batch.Marks) == 0 && len(w.step.gaps) == 0 &&
		len(w.step.batch.Bad) == 0 && len(w.dead) == 0
}

// tickAfter is when a step without input follows the one at now.
func (e *Engine) tickAfter(now int64) time.Duration {
	if now != 0 && e.calm(now) {
		return calmIsLate
	}
	return tickEvery
}

// calm says whether no record has come for a while.
func (e *Engine) calm(now int64) bool { return e.busy != 0 && now-e.busy > int64(calmAfter) }

// maxCursors are those that one commit holds: with paths of 4 KiB 1.1 MB, less than the half
// of a transaction that is theirs and the head's.
const maxCursors = 250

func (w *work) full(limit int) bool {
	return len(w.step.batch.Data) >= limit || len(w.cursors) >= maxCursors
}

// take decodes messages of c into w until w is full; it returns true when some
// are left in c. The cursor follows what was taken.
func (e *Engine) take(w *work, c *ingest.Chunk) bool {
	part := w.partition(c.Partition)
	w.stand(part, e.hear(w, c))
	if c.Problem != "" && len(c.Messages) == 0 && len(c.Gaps) == 0 {
		return false // its cursor says nothing new
	}
	for _, g := range c.Gaps {
		w.step.gaps = append(w.step.gaps, window.Gap{Partition: c.Partition, From: g.From, To: g.To, Reason: g.Reason})
	}
	c.Gaps = nil
	w.step.owning(part, c)
	e.decoder.Source, e.decoder.Only = c.Source, c.Only
	if n := e.decode(w, part, c.Messages); n < len(c.Messages) {
		c.Messages = c.Messages[n:]
		w.cursors[c.Partition] = ingest.Cursor{Next: c.Messages[0].Offset, Identity: c.Cursor.Identity}
		w.stand(part, window.Behind)
		return true
	}
	c.Messages = nil
	w.cursors[c.Partition] = c.Cursor
	return false
}

func (w *work) partition(name string) uint32 {
	b := &w.step.batch
	for i, p := range b.Partitions {
		if p == name {
			return uint32(i)
		}
	}
	b.Partitions = append(b.Partitions, name)
	return uint32(len(b.Partitions) - 1)
}
