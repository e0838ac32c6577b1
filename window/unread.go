package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
)

// orderUnread decides at the end of the input whether the appends that no read has shown can be
// ordered. Serializability needs nothing: any topological order of the known edges orders them.
// Snapshot isolation forbids two concurrent writers of a key: one must commit before the other begins
// (Viper, section 3.2, the write-dependency C -> B). The orders are tried along the commits. That finds
// an order unless the transactions depend on each other. If a pair does not fit, it is counted as
// undecided, and the level is not said to hold.
//
// In a whole history they are ordered with the blind writes: see orderBlind. With a window the
// blind writes come first. The assumptions here can move the writers of values that were read,
// so all live transactions are looked at again.
func (o *choices) orderUnread() {
	if o.cfg.Unbounded {
		return
	}
	for i, level := range o.views {
		if level.Underlying() != isolation.SnapshotIsolation {
			continue
		}
		undecided := o.unreadOut[i]
		var assumed []incremental.EdgeID
		if o.graph.Serial(i) { // the order of what the view follows orders them
			continue
		}
		o.infer.EachUnread(func(writers []uint32) {
			n, ids := o.undecidedPairs(i, writers, assumed)
			undecided, assumed = undecided+n, ids
		})
		if len(assumed) > 0 && !o.fitsStill(i) {
			undecided += int64(len(assumed))
		}
		// Assumed edges must not stand against the records of a later input.
		for _, id := range assumed {
			o.graph.RemoveEdge(id)
		}
		if b := o.levelChanges.begunOf(level); b != nil {
			b.Undecided = undecided
		} else {
			o.Counters.Undecided = max(o.Counters.Undecided, undecided)
		}
	}
}

// undecidedPairs orders the writers of one list along their commits in the i-th view. It counts
// the neighbours that do not fit, and appends the edges that it assumed to dst.
func (o *choices) undecidedPairs(i int, writers []uint32, dst []incremental.EdgeID) (n int64, assumed []incremental.EdgeID) {
	slices.SortFunc(writers, func(a, b uint32) int {
		return o.graph.CompareCommits(i, incremental.Vertex(a), incremental.Vertex(b))
	})
	before := uint32(0) // what came before the order began is not for it to decide
	if b := o.levelChanges.begunOf(o.views[i]); b != nil {
		before = b.Latest
	}
	for j := 1; j < len(writers); j++ {
		if o.infer.Generation(writers[j-1]) <= before && o.infer.Generation(writers[j]) <= before {
			continue
		}
		id, ok := o.assume(i, writers[j-1], writers[j])
		if !ok && len(writers) == 2 {
			id, ok = o.assume(i, writers[j], writers[j-1])
		}
		if !ok {
			n++
		} else if id != 0 {
			dst = append(dst, id)
		}
	}
	return n, dst
}

// assume orders a before b in the i-th view, if that closes no cycle. The edge is 0
// where the order holds already, or is refused.
func (o *choices) assume(i int, a, b uint32) (incremental.EdgeID, bool) {
	e := incremental.Edge{From: incremental.Vertex(a), To: incremental.Vertex(b), Labels: incremental.Labels(infer.WW)}
	if o.graph.Retired(i, e.From) && o.graph.Retired(i, e.To) {
		return 0, o.graph.FrozenBefore(i, &e)
	}
	id, ref := o.graph.AddEdgeIn(&e, 1<<i)
	if ref == (incremental.Refusal{}) {
		return id, true
	}
	if id != 0 {
		o.graph.RemoveEdge(id)
	}
	return 0, false
}

// fitsStill is asked once unread appends are ordered. It says whether the live part of the i-th
// view still fits the verdict on its blind writes. The order may be the present one or another.
// It need not if there is no such verdict, or if a serial order has both.
func (o *choices) fitsStill(i int) bool {
	if o.infer.Counters.Unordered == 0 || o.orderings[i] != orderable || o.misfits[i] > 0 || !o.reports.orders(i) || o.serialFits(i) {
		return true
	}
	if o.fitsNow(i) {
		return true
	}
	c := o.live(i, o.graph.Order(i), 0, false, false)
	return c != nil && (o.adoptGuessed(i, c) || o.views[i].Family == isolation.Plain && o.adoptOf(i, c, &c.problem)) && o.fitsNow(i)
}

// fitsNow says whether all that lives in the i-th view would fit if it froze now.
func (o *choices) fitsNow(i int) bool {
	r := o.newRun(i)
	r.run(o.graph.Order(i))
	return len(r.misfits) == 0
}

// serialFits says whether all reads fit a serial order that shows that the level of the i-th
// view holds. Such an order has the appends as well.
func (o *choices) serialFits(i int) bool {
	for j := range o.views {
		if o.graph.Serial(j) && o.misfits[j] == 0 && o.reports.orders(j) && o.orderings[j] == orderable && o.levelChanges.speaksFor(j, o.views[i]) && o.fitsNow(j) {
			return true
		}
	}
	return false
}
