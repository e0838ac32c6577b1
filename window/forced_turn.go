package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/isolation"
)

// canTurn says why the levels cannot take the place of those that are watched.
func (m *Machine) canTurn(levels []isolation.Level) error {
	_, next := views(levels)
	if slices.Equal(next, m.views) {
		return nil
	}
	if m.cfg.Unbounded {
		return errors.New("a whole history is checked at the levels that it began with")
	}
	if len(next) == 0 || len(m.views) == 0 {
		return errors.New("an order of transactions is needed to go on: watch a level that has one (serializable has), before and after the change")
	}
	kept := slices.ContainsFunc(next, func(l isolation.Level) bool { return isForced(l) && m.watches(l) })
	if asked := (forcing{}); kept && asked.share(next) && !m.forced.clocked {
		return fmt.Errorf("of the levels %v some need pasts with session order, which were not kept for those watched so far, %v: take monotonic-atomic-view, read-atomic and causal away first, and add them together",
			isolation.LevelNames(next), isolation.LevelNames(m.views))
	}
	return nil
}

// turnForced gives the forced orders to the views that are about them now. The state of
// levels that stay stays; where there are none, it begins with what is live.
func (m *Machine) turnForced() {
	f := &m.forced
	was := f.on
	kept := slices.ContainsFunc(m.turns[len(m.turns)-1].before, func(l isolation.Level) bool { return isForced(l) && m.watches(l) })
	f.share(m.views)
	switch {
	case !f.on:
		f.reset()
	case was && kept:
		if f.unclosed == 0 {
			f.plain = nil
		}
		f.timed = f.timed.anew()
	default:
		f.reset()
		f.init(m.views, m.cfg.Unbounded)
		m.forcedFrom = len(m.turns)
		m.wakeForced()
	}
}

// takeForcedAnew derives the orders that live transactions force which were taken in
// before, for views that have begun: those that have them take no second one.
func (m *Machine) takeForcedAnew() {
	f := &m.forced
	if !f.on {
		return
	}
	fresh := f.unclosed != 0 && f.plain == nil
	if fresh {
		f.initPlain(m.cfg.Unbounded)
	}
	x, begun := &m.turns[len(m.turns)-1], fresh || f.timed.views != 0
	for i, from := range x.from {
		begun = begun || from.Start != incremental.Kept && isForced(x.after[i])
	}
	if !begun {
		return
	}
	var taken []dueTxn
	for n := range f.taken {
		if t := uint32(n); m.infer.Counts(t) && f.isTaken(t, m.infer.Generation(t)) {
			_, end, _ := m.infer.Span(t)
			taken = append(taken, dueTxn{end, t, m.infer.Generation(t)})
		}
	}
	slices.SortFunc(taken, func(a, b dueTxn) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.gen, b.gen)) })
	lost := f.lost
	for _, d := range taken {
		t := m.describe(d.n)
		f.sessions.Renew(&t)
		m.takeForced(d.n, f.sessions.Out, &f.by)
		if f.timed.views != 0 { // begun anew
			f.writes = m.infer.WrittenKeys(f.writes[:0], d.n)
			m.forceInTime(d.n, t, false)
			if d.end < m.watermark {
				m.passInTime(d.n, d.gen)
			}
			m.renewBehind(d.n)
		}
		if fresh && !f.plain.TooWide {
			f.writes = m.infer.WrittenKeys(f.writes[:0], d.n)
			t.Session, t.After, t.Preds = 0, 0, nil
			f.plain.Add(&t, f.writes)
			m.takeForced(d.n, f.plain.Out, &f.byReads)
			m.renewBehind(d.n) // one that ended later than who read from it
		}
	}
	m.forceLate()
	f.lost = lost
}
