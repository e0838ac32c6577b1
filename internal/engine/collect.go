package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// tickEvery is how often a step is made without input, so that idle partitions
// time out and the watermark moves.
const tickEvery = time.Second

// patience is how long a start waits for the partitions that it knows and that
// no reader speaks of. It does not run while an input has trouble.
const patience = time.Minute

// partition is what the collecting goroutine knows of one.
type partition struct {
	heard   int64  // tick of the latest chunk without trouble, or of the start
	awaited bool   // not heard of in this life
	problem string // why it cannot be read; "": it can
	left    bool   // nobody reads it any more
}

// silence is after how long without a chunk the watermark is said to wait for a
// partition, ns: six times what readers take between two.
const silence = int64(3 * time.Second)

// collect decodes chunks into steps. A step is handed on when it is full, when
// its first event has waited long enough, or when there is no more input and
// the next stage is free.
func (e *Engine) collect(ctx context.Context, in <-chan ingest.Chunk, finish bool, out chan<- *work, free <-chan *work) {
	w := e.fresh(<-free)
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	var due <-chan time.Time
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	flush := func() {
		w.step.tick = e.opt.Now() // not before any of it was received
		e.expect(w)
		w.step.batch.Pack()
		w.waiting = e.waiting(w.step.tick)
		out <- w
		w = e.fresh(<-free)
		due = nil
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
				flush() // what was lost acts on what came behind it only
			}
			for e.take(w, &c) {
				flush()
			}
			if !w.empty() && due == nil {
				timer.Reset(e.opt.Gather)
				due = timer.C
			}
			if w.full(e.opt.StepBytes) {
				flush()
			}
		case <-due:
			flush()
		case <-ticker.C:
			if w.empty() && e.opt.Now() != 0 {
				flush()
			}
		}
	}
}

func (e *Engine) fresh(w *work) *work {
	w.step.batch.Reset()
	w.step.gaps, w.step.bad, w.step.end = w.step.gaps[:0], 0, false
	w.step.stands, w.announced = w.step.stands[:0], false
	w.cursors = map[string]ingest.Cursor{}
	w.dead, w.effects = w.dead[:0], w.effects[:0]
	w.snapshot, w.status, w.ended = nil, nil, nil
	return w
}

func (w *work) empty() bool {
	return len(w.step.batch.Txns) == 0 && len(w.step.batch.Parts) == 0 && len(w.step.gaps) == 0 &&
		len(w.step.stands) == 0 && len(w.cursors) == 0 && len(w.dead) == 0
}

func (w *work) full(limit int) bool { return len(w.step.batch.Data) >= limit }

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
	for i := range c.Messages {
		if w.full(e.opt.StepBytes) {
			c.Messages = c.Messages[i:]
			w.cursors[c.Partition] = ingest.Cursor{Next: c.Messages[0].Offset, Identity: c.Cursor.Identity}
			w.stand(part, window.Behind)
			return true
		}
		m := &c.Messages[i]
		e.bytes.Add(int64(len(m.Value)))
		e.decoder.DecodeMessage(&w.step.batch, event.Position{Partition: part, Offset: m.Offset}, m.Value)
	}
	c.Messages = nil
	w.cursors[c.Partition] = c.Cursor
	return false
}

// hear takes note of what c says of its partition's reader.
func (e *Engine) hear(w *work, c *ingest.Chunk) window.Standing {
	p := e.partitions[c.Partition]
	if p == nil {
		p = &partition{awaited: true}
		e.partitions[c.Partition] = p
	}
	first := p.awaited
	p.awaited = false
	w.announced = w.announced || first && len(c.Messages) == 0
	if c.Problem != "" {
		p.problem = c.Problem
		return window.Behind
	}
	p.heard = e.opt.Now()
	p.left = c.EOF
	switch {
	case c.EOF:
		p.problem = ""
		return window.Left
	case c.CaughtUp:
		p.problem = ""
		return window.AtEnd
	case len(c.Messages) > 0:
		p.problem = ""
		return window.Behind
	case first:
		return window.Behind
	}
	return window.NoNews
}

// expect holds the watermark for the partitions that were not heard of since the
// start: records that came while nobody listened are no silence. It is given up
// for those that do not come within patience: they may be gone.
func (e *Engine) expect(w *work) {
	if len(e.awaited) == 0 {
		return
	}
	news := window.Behind
	switch {
	case e.troubled():
		e.opened = w.step.tick
	case w.step.tick-e.opened > int64(patience):
		news = window.Left
	}
	e.awaited = slices.DeleteFunc(e.awaited, func(name string) bool { return !e.partitions[name].awaited })
	for _, name := range e.awaited {
		w.stand(w.partition(name), news)
		if news == window.Left {
			e.partitions[name].awaited, e.partitions[name].left = false, true
		}
	}
}

func (e *Engine) troubled() bool {
	for _, p := range e.partitions {
		if p.problem != "" {
			return true
		}
	}
	return false
}

// waiting lists the partitions that the watermark waits for since nothing is
// heard of them. It is made anew once a second.
func (e *Engine) waiting(tick int64) []Waiting {
	if tick-e.looked < int64(time.Second) {
		return e.missed
	}
	e.looked, e.missed = tick, nil
	for name, p := range e.partitions {
		if !p.left && (p.problem != "" || tick-p.heard > silence) {
			e.missed = append(e.missed, Waiting{name, p.heard, p.problem})
		}
	}
	slices.SortFunc(e.missed, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Partition, b.Partition))
	})
	return e.missed
}

func (w *work) stand(part uint32, news window.Standing) {
	for int(part) >= len(w.step.stands) {
		w.step.stands = append(w.step.stands, window.NoNews)
	}
	if news != window.NoNews {
		w.step.stands[part] = news
	}
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
