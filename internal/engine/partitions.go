package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// patience is how long a start waits for the partitions that it knows and that
// no reader speaks of. It does not run while an input has trouble.
const patience = time.Minute

// partition holds the collecting goroutine's knowledge of one partition.
type partition struct {
	heard   int64  // tick of the latest chunk without trouble, or of the start
	awaited bool   // not heard of in this life
	problem string // why it cannot be read; "": it can
	left    bool   // nobody reads it any more
	// atEnd is the tick of the latest step that was told that the partition is read to its end; 0:
	// messages came after that.
	atEnd int64
}

// confirmAfter is when a partition that stays at its end makes a step again, ns. Readers say it
// twice a second, and a machine wants it every three seconds. In between a step that is made anyway
// tells it, unless it is older than confirmFresh.
const (
	confirmAfter = int64(900 * time.Millisecond)
	confirmFresh = int64(25 * time.Millisecond)
)

// confirmEvery is confirmAfter, and twice as long when no record has come for a minute.
func (e *Engine) confirmEvery(now int64) int64 {
	if e.calm(now) {
		return int64(calmEvery) - confirmAfter/9 // readers are not exact
	}
	return confirmAfter
}

// confirm tells of the partitions that were at their ends just now, and made no step for that. The end of one may lie
// behind records that do not fit the step any more.
func (e *Engine) confirm(w *work) {
	for _, name := range w.confirmed {
		p, part := e.partitions[name], w.partition(name)
		if int(part) < len(w.step.stands) && w.step.stands[part] == window.Behind {
			continue
		}
		if p.atEnd != 0 && w.step.tick-p.heard <= confirmFresh {
			w.stand(part, window.AtEnd)
			p.atEnd = p.heard
		}
	}
}

// silence is after how long without a chunk the watermark is said to wait for a
// partition, ns: six times what readers take between two.
const silence = int64(3 * time.Second)

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
	before := p.atEnd
	p.atEnd = 0
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
		if p.atEnd = p.heard; len(c.Messages) == 0 && len(c.Gaps) == 0 && before != 0 && p.heard >= before && p.heard-before < e.confirmEvery(p.heard) {
			p.atEnd = before
			w.confirmed = append(w.confirmed, c.Partition)
			return window.NoNews
		}
		return window.AtEnd
	case len(c.Messages) > 0:
		p.problem = ""
		return window.Behind
	case first:
		return window.Behind
	}
	return window.NoNews
}

// expect holds the watermark for the partitions that were not heard of since the start: records may
// have come while nobody listened. It gives up partitions that do not come within patience: they may
// be gone.
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

// waiting lists the partitions that the watermark waits for since nothing is heard of them. It makes
// the list again once a second.
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
	if news == window.NoNews {
		return
	}
	for int(part) >= len(w.step.stands) {
		w.step.stands = append(w.step.stands, window.NoNews)
	}
	w.step.stands[part] = news
}
