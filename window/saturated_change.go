package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/isolation"
)

// canChangeLevels says why the levels cannot take the place of those that are watched.
func (f *saturated) canChangeLevels(levels []isolation.Level) error {
	_, next := views(levels)
	if slices.Equal(next, f.core.views) {
		return nil
	}
	if f.cfg.Unbounded {
		return errors.New("a whole history is checked at the levels that it began with")
	}
	if len(next) == 0 || len(f.core.views) == 0 {
		return errors.New("an order of transactions is needed to go on: watch a level that has one (serializable has), before and after the change")
	}
	kept := slices.ContainsFunc(next, func(l isolation.Level) bool { return bySaturation(l) && f.watches(l) })
	if asked := (saturated{}); kept && asked.share(next) && !f.clocked {
		return fmt.Errorf(
			"some of the levels %v need pasts with session order, which were not kept for the levels watched so far, %v. First take monotonic-atomic-view, read-atomic and causal away, then add them together",
			isolation.LevelNames(next),
			isolation.LevelNames(f.core.views),
		)
	}
	return nil
}

// changeLevels gives the forced orders to the views that are about them now. Levels that stay keep
// their state. If no level stays, the state begins with the live transactions.
func (f *saturated) changeLevels() {
	was := f.on
	kept := slices.ContainsFunc(f.levelChanges.changes[len(f.levelChanges.changes)-1].before, func(l isolation.Level) bool { return bySaturation(l) && f.watches(l) })
	f.share(f.core.views)
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
		f.init(f.core.views, f.cfg.Unbounded)
		f.levelChanges.saturatedFrom = len(f.levelChanges.changes)
		f.wake()
	}
}

// retakeSaturated is for views that have begun. It derives the orders that live transactions force
// which were taken in before. Views that have these orders already take no second one.
func (h *finder) retakeSaturated() {
	f := h.saturated
	if !f.on {
		return
	}
	fresh := f.unclosed != 0 && f.plain == nil
	if fresh {
		f.initPlain(h.cfg.Unbounded)
	}
	x, begun := &h.levelChanges.changes[len(h.levelChanges.changes)-1], fresh || f.timed.views != 0
	for i, from := range x.from {
		begun = begun || from.Start != incremental.Kept && bySaturation(x.after[i])
	}
	if !begun {
		return
	}
	var taken []dueTxn
	for n := range f.taken {
		if t := uint32(n); h.infer.Counts(t) && f.isTaken(t, h.infer.Generation(t)) {
			_, end, _ := h.infer.Span(t)
			taken = append(taken, dueTxn{end, t, h.infer.Generation(t)})
		}
	}
	slices.SortFunc(taken, func(a, b dueTxn) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.gen, b.gen)) })
	lost := f.lost
	for _, d := range taken {
		t := h.saturated.describe(d.n)
		f.sessions.Renew(&t)
		h.takeSaturated(d.n, f.sessions.Out, &f.by)
		if f.timed.views != 0 { // begun again
			f.writes = h.infer.WrittenKeys(f.writes[:0], d.n)
			h.saturateInTime(d.n, t, false)
			if d.end < h.clock.watermark {
				h.saturated.passInTime(d.n, d.gen)
			}
			h.saturated.renewBehind(d.n)
		}
		if fresh && !f.plain.TooWide {
			f.writes = h.infer.WrittenKeys(f.writes[:0], d.n)
			t.Session, t.After, t.Preds = 0, 0, nil
			f.plain.Add(&t, f.writes)
			h.takeSaturated(d.n, f.plain.Out, &f.byReads)
			h.saturated.renewBehind(d.n) // the writer may have ended later than its reader
		}
	}
	h.saturateLate()
	f.lost = lost
}
