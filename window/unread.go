package window

import (
	"slices"

	"github.com/isowatch/isowatch/incremental"
	"github.com/isowatch/isowatch/infer"
	"github.com/isowatch/isowatch/isolation"
)

// orderUnread decides at the end of the input whether the appends that no read
// has shown can be ordered. Serializability needs nothing: any topological order
// of the known edges orders them. Snapshot isolation forbids two concurrent
// writers of a key: one must commit before the other begins (Viper, section 3.2,
// the write-dependency C -> B). The orders are tried along the commits, which
// finds one unless the transactions depend on each other; where a pair of several
// does not fit it is counted as undecided, and the level is not said to hold.
//
// Of a whole history they are ordered with the blind writes: see orderBlind. With a
// window that comes first, and what is assumed here can move the writers of what was
// read: all that lives is looked at again.
func (m *Machine) orderUnread() {
	if m.cfg.Unbounded {
		return
	}
	for i, level := range m.views {
		if level.Underlying() != isolation.SnapshotIsolation {
			continue
		}
		undecided := m.unreadOut[i]
		var assumed []incremental.EdgeID
		if m.graph.Serial(i) { // the order of what the view follows orders them
			continue
		}
		m.infer.EachUnread(func(writers []uint32) {
			n, ids := m.undecidedPairs(i, writers, assumed)
			undecided, assumed = undecided+n, ids
		})
		if len(assumed) > 0 && !m.fitsStill(i) {
			undecided += int64(len(assumed))
		}
		// What was only assumed must not stand against what a later input shows.
		for _, id := range assumed {
			m.graph.RemoveEdge(id)
		}
		if b := m.begunOf(level); b != nil {
			b.Undecided = undecided
		} else {
			m.Counters.Undecided = max(m.Counters.Undecided, undecided)
		}
	}
}

// undecidedPairs orders the writers of one list along their commits in the i-th
// view, counts the neighbours that do not fit, and appends the edges that it
// assumed to dst.
func (m *Machine) undecidedPairs(i int, writers []uint32, dst []incremental.EdgeID) (n int64, assumed []incremental.EdgeID) {
	slices.SortFunc(writers, func(a, b uint32) int {
		return m.graph.CompareCommits(i, incremental.Vertex(a), incremental.Vertex(b))
	})
	before := uint32(0) // what came before the order began is not for it to decide
	if b := m.begunOf(m.views[i]); b != nil {
		before = b.Latest
	}
	for j := 1; j < len(writers); j++ {
		if m.infer.Generation(writers[j-1]) <= before && m.infer.Generation(writers[j]) <= before {
			continue
		}
		id, ok := m.assume(i, writers[j-1], writers[j])
		if !ok && len(writers) == 2 {
			id, ok = m.assume(i, writers[j], writers[j-1])
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
func (m *Machine) assume(i int, a, b uint32) (incremental.EdgeID, bool) {
	e := incremental.Edge{From: incremental.Vertex(a), To: incremental.Vertex(b), Labels: incremental.Labels(infer.WW)}
	if m.graph.Retired(i, e.From) && m.graph.Retired(i, e.To) {
		return 0, m.graph.FrozenBefore(i, &e)
	}
	id, ref := m.graph.AddEdgeIn(&e, 1<<i)
	if ref == (incremental.Refusal{}) {
		return id, true
	}
	if id != 0 {
		m.graph.RemoveEdge(id)
	}
	return 0, false
}

// fitsStill says whether what lives in the i-th view fits what was said of its blind
// writes now that unread appends are ordered, in the present order or in another one.
// Nothing is said of them, or a serial order has both, if it need not.
func (m *Machine) fitsStill(i int) bool {
	if m.infer.Counters.Unordered == 0 || m.orderings[i] != orderable || m.misfits[i] > 0 || !m.orders(i) || m.serialFits(i) {
		return true
	}
	if m.fitsNow(i) {
		return true
	}
	c := m.live(i, m.graph.Order(i), 0, false, false)
	return c != nil && (m.adoptGuessed(i, c) || m.views[i].Family == isolation.Plain && m.adoptOf(i, c, &c.problem)) && m.fitsNow(i)
}

// fitsNow says whether all that lives in the i-th view would fit if it froze now.
func (m *Machine) fitsNow(i int) bool {
	r := m.newRun(i)
	r.run(m.graph.Order(i))
	return len(r.misfits) == 0
}

// serialFits says whether all that was read fits a serial order that shows that the
// level of the i-th view holds: it orders the appends as well.
func (m *Machine) serialFits(i int) bool {
	for j := range m.views {
		if m.graph.Serial(j) && m.misfits[j] == 0 && m.orders(j) && m.orderings[j] == orderable && m.speaksFor(j, m.views[i]) && m.fitsNow(j) {
			return true
		}
	}
	return false
}
