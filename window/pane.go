package window

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// Pane is the record of a stretch of event time: what users see as the verdict
// over time. It is written when its last transaction has retired, and again,
// with a higher revision, when something later changes it.
type Pane struct {
	Source       string            `json:"source"`
	Start        int64             `json:"start"` // ns since the Unix epoch
	End          int64             `json:"end"`
	Revision     int               `json:"revision"`
	Closed       bool              `json:"closed"`
	Transactions int64             `json:"transactions"`
	Operations   int64             `json:"operations"`
	Findings     map[string]int64  `json:"findings,omitempty"` // by anomaly
	Horizon      int64             `json:"horizon,omitempty"`
	Verdicts     map[string]string `json:"verdicts"` // by level: ok, violated, unknown
	// ByContract are the levels that are unknown only for what the contract leaves open, see [Machine.OpenByContract].
	ByContract []string `json:"by_contract,omitempty"`
	Counters   Counters `json:"counters"` // of the source, when the pane was written

	live     int64
	violated map[isolation.Level]int64 // findings that stand and are certain, once a member, by weakest level refuted
	asked    []int64                   // transactions by the level that they asked for
}

// panes are the open panes, and the latest closed ones, which can be amended,
// both in the order of time.
type panes struct {
	length int64
	list   []*Pane
	last   *Pane // the one asked for last
	closed []*Pane
	dirty  int  // closed panes that something changed
	older  Pane // stands for panes that are closed for longer than is kept
}

// maxClosed is how many closed panes are kept: an hour at the default length.
const maxClosed = 360

func (p *panes) index(end int64) int64 {
	i := end / p.length
	if end < 0 && end%p.length != 0 {
		i--
	}
	return i
}

// at finds or makes the pane that event time falls into.
func (p *panes) at(end int64) *Pane {
	if p.last != nil && p.last.Start <= end && end < p.last.End {
		return p.last
	}
	start := p.index(end) * p.length
	if k := len(p.closed); k > 0 && start <= p.closed[k-1].Start {
		if x := p.again(start); x != nil {
			return x
		}
	}
	i := len(p.list)
	for i > 0 && p.list[i-1].Start > start {
		i--
	}
	if i > 0 && p.list[i-1].Start == start {
		p.last = p.list[i-1]
		return p.last
	}
	x := &Pane{Start: start, End: start + p.length}
	p.list = append(p.list, nil)
	copy(p.list[i+1:], p.list[i:])
	p.list[i] = x
	p.last = x
	return x
}

// again is the closed pane that begins at start, to be written once more; nil
// when it never was, since nothing happened in it.
func (p *panes) again(start int64) *Pane {
	for i := len(p.closed) - 1; i >= 0; i-- {
		x := p.closed[i]
		if x.Start == start {
			if x.Closed {
				x.Closed = false
				p.dirty++
			}
			return x
		}
		if x.Start < start {
			return nil
		}
	}
	if len(p.closed) == maxClosed {
		return &p.older
	}
	return nil
}

func (p *panes) count(end int64, t *event.Txn) {
	x := p.at(end)
	x.Transactions++
	x.Operations += int64(t.NumOps)
}

func (p *panes) enter(end int64) { p.at(end).live++ }
func (p *panes) leave(end int64) { p.at(end).live-- }

// found counts f in the panes of its members. With d = -1 it takes f back: it fell, or
// something else is said in its place. An uncertain finding violates no pane.
func (p *panes) found(of *infer.State, f *openFinding, d int64) {
	var last *Pane
	for _, n := range f.members {
		x := p.at(of.Info(n).End)
		if f.Finding.Certain {
			x.refute(f.weakest, d)
		}
		last = x
	}
	if last == nil {
		return
	}
	if last.Findings == nil {
		last.Findings = map[string]int64{}
	}
	if last.Findings[f.Finding.Anomaly] += d; last.Findings[f.Finding.Anomaly] == 0 {
		delete(last.Findings, f.Finding.Anomaly)
	}
}

func (x *Pane) refute(weakest []isolation.Level, d int64) {
	if x.violated == nil {
		x.violated = map[isolation.Level]int64{}
	}
	for _, l := range weakest {
		if x.violated[l] += d; x.violated[l] == 0 {
			delete(x.violated, l)
		}
	}
}

func (p *panes) horizon(end int64) { p.at(end).Horizon++ }

// closeSettled hands out the panes whose last transaction has retired.
func (p *panes) closeSettled(m *Machine) {
	limit := m.clock.watermark - m.window()
	for len(p.list) > 0 && p.list[0].End <= limit && p.list[0].live <= 0 {
		p.close(m)
	}
	p.amend(m)
	// New notes are made where the watermark stands, or later. The groups of panes before that
	// grow no more, also when no record ever comes to those panes.
	if len(m.reports.horizon.order) > 0 && m.clock.watermark != math.MinInt64 {
		m.reports.flushHorizonBefore(p.index(m.clock.watermark))
	}
}

// amend hands out closed panes that something has changed, with a higher
// revision.
func (p *panes) amend(m *Machine) {
	for i := 0; p.dirty > 0 && i < len(p.closed); i++ {
		if x := p.closed[i]; !x.Closed {
			p.dirty--
			p.write(m, x)
		}
	}
}

// closeAll hands out all panes, at the end of the input.
func (p *panes) closeAll(m *Machine) {
	for len(p.list) > 0 {
		p.close(m)
	}
	p.amend(m)
}

func (p *panes) close(m *Machine) {
	x := p.list[0]
	p.list = p.list[1:]
	if p.last == x {
		p.last = nil
	}
	m.reports.flushHorizonBefore(p.index(x.End-1) + 1)
	p.write(m, x)
	at := len(p.closed)
	for at > 0 && p.closed[at-1].Start > x.Start {
		at--
	}
	p.closed = slices.Insert(p.closed, at, x)
	if len(p.closed) > maxClosed {
		p.closed = slices.Delete(p.closed, 0, 1)
	}
}

// PaneTimes is the least Start, ns, of a pane that is a stretch of time: 1971. Panes of sources
// without times count transactions.
const PaneTimes = int64(365 * 24 * time.Hour)

// Timed says whether the pane is a stretch of time.
func (x *Pane) Timed() bool { return x.Start >= PaneTimes }

func (p *panes) write(m *Machine, x *Pane) {
	x.Source = m.cfg.Source
	x.Revision++
	x.Closed = true
	x.Counters = m.Counters
	x.Counters.Counters = m.infer.Counters
	before := x.Verdicts
	x.Verdicts = map[string]string{}
	for _, e := range m.levelChanges.ended { // what was said of a level that is no longer watched stays
		if v := before[e.level.String()]; v != "" {
			x.Verdicts[e.level.String()] = v
		}
	}
	x.ByContract = nil
	for _, l := range m.cfg.Levels {
		v, why := m.verdictOf(l, func(l isolation.Level) bool { return refuted(x.violated, l) }, x)
		if m.asking.asksFor(l, x.asked) && m.openByContract(l, v, &why) {
			x.ByContract = append(x.ByContract, l.String())
		}
		if v, _ = m.asking.withoutLess(l, x.asked, v, why.String()); v != "" {
			x.Verdicts[l.String()] = v
		}
	}
	out := *x
	out.Findings = maps.Clone(x.Findings)
	if m.untimed {
		out.Start, out.End = x.Start/1024, x.End/1024
	}
	m.results.Panes = append(m.results.Panes, out)
}
