package window

import (
	"github.com/isowatch/isowatch/incremental"
)

// Let the levels with forced orders follow a level about anti-dependencies, and let the order of
// versions be known for every key. Then nothing has to be derived. Let T3 read x from T1, and T2 write
// x and be in T3's past. If T2's version comes first, the write dependencies lead from T2 to T1
// already. If not, T3 has an anti-dependency, and from there write dependencies lead to T2, which leads
// to T3. That is a cycle. The order refuses it, and is divided. From then on, all live transactions and
// all new ones are taken in. The same holds when anything else happens by which the order of a key may
// not be known (docs/proofs.md, section 8, Forced orders).

// mayIdle says whether forced orders need not be looked at from the beginning on.
func (f *saturated) mayIdle() bool {
	c := &f.cfg.Contract
	return f.on && f.guarded() && !c.ByVersion && !c.NumericVersions && !c.TrustCommitTS && !c.SequentialKeys && !c.LinearizableKeys
}

// guarded says whether the weak levels follow some that are about anti-dependencies.
func (f *saturated) guarded() bool {
	views := f.views | f.timed.views
	for i := range f.core.views {
		if views&(1<<i) != 0 && !f.graph.Guarded(i) {
			return false
		}
	}
	return true
}

// addsNothing says whether forced orders still need not be looked at; if that is over
// now, what lives waits to be taken in.
func (f *saturated) addsNothing() bool {
	if !f.idle {
		return false
	}
	x := f.infer.Counters
	strange := x.Unordered | x.Ambiguous | x.Repeating | x.OfRows | x.Versioned | x.Repeated | x.Uncheckable | x.Ignored | x.Unattributed | x.Overlapping | x.Contradictory
	if !f.odd && strange == 0 && len(f.asking.asked) == 0 && f.guarded() {
		return true
	}
	f.wake()
	return false
}

// wake lets what lives wait to be taken in.
func (f *saturated) wake() {
	f.idle, f.woken = false, true
	f.taken = make([]takenTxn, f.infer.Slots())
	for v := range f.infer.Slots() {
		if f.graph.Live(incremental.Vertex(v)) {
			_, end, _ := f.infer.Span(v)
			f.wait(v, f.infer.Generation(v), end)
		}
	}
}
