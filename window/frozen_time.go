package window

import (
	"math"

	"github.com/isowatch/isowatch/incremental"
)

// The ranks of a timed view need not agree with real time where no edge asks for it. A
// transaction that was over may be ranked behind one that began later. So for an unordered key
// the frozen order says more than its edges do. A transaction that read or wrote the key comes
// before the writers that are ranked behind. These edges are not stored. But when a writer
// freezes, the bounds in time are raised along them, as they would be along edges. Where a
// bound would pass its limit, the frozen order contradicts real time: a misfit.

// met are the bounds in time of those that have met a key in the frozen order.
type met struct {
	key    uint64 // infer.KeyHash of the key that the number stands for; 0: nobody has
	all    int64  // greatest bound of the transactions that read or wrote it
	writer int64  // of those that wrote it
}

// inTime says whether node n of t can come behind those before it in its keys.
func (r *frozenRun) inTime(n, t uint32) bool {
	g, x := r.m.graph, r.m.infer
	begins, ends := !r.split || n&1 == 0, !r.split || n&1 == 1
	low := int64(math.MinInt64)
	if l, ok := r.lows[n]; ok {
		low = l
	}
	if begins {
		x.EachBlindRead(t, func(k, v uint32) { low = max(low, r.metBefore(k).writer) })
		if !r.prefix { // a commit to the key comes before the begin of its next writer
			x.EachBlindWrite(t, func(k, v uint32) { low = max(low, r.metBefore(k).writer) })
		}
	}
	if ends {
		x.EachBlindWrite(t, func(k, v uint32) { low = max(low, r.metBefore(k).all) })
	}
	now := g.Low(r.view, n)
	fits := low <= now || r.raise(n, low)
	if fits {
		now = max(now, low)
	}
	if begins {
		x.EachBlindRead(t, func(k, v uint32) { r.meet(k, now, false) })
	}
	if ends {
		x.EachBlindWrite(t, func(k, v uint32) { r.meet(k, now, true) })
	}
	return fits
}

// raise raises the bound of node n, and of what it leads to as far as that is asked for
// in the run.
func (r *frozenRun) raise(n uint32, low int64) bool {
	g := r.m.graph
	if r.freezes {
		return g.Raise(r.view, n, low)
	}
	if low > g.Limit(r.view, n) {
		return false
	}
	lift := func(n uint32) {
		if l, ok := r.lows[n]; !ok || l < low {
			r.lows[n] = low
		}
	}
	if r.split && n&1 == 0 {
		lift(n + 1)
	}
	g.ArcsOf(r.view, g.VertexOf(r.view, n), func(id incremental.EdgeID, from, to uint32) {
		if from == n && g.Edge(id).In&(1<<r.view) != 0 {
			lift(to)
		}
	})
	return true
}

// metBefore has the bounds of the transactions that have met the key so far.
func (r *frozenRun) metBefore(k uint32) met {
	if x := r.last(k).met; x.key != 0 {
		return x
	}
	return met{all: math.MinInt64, writer: math.MinInt64}
}

// meet notes that a transaction has read or written the key. low is that transaction's bound in time.
func (r *frozenRun) meet(k uint32, low int64, wrote bool) {
	x, m := r.last(k), r.metBefore(k)
	m.key, m.all = r.m.infer.KeyHash(k), max(m.all, low)
	if wrote {
		m.writer = max(m.writer, low)
	}
	x.met = m
	r.news[k] = x
}
