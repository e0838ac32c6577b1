package oracle

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// limits says whether the level forbids a cycle only where it has at most one anti-dependency
// of some readers: consistent view is PL-2 and no G-single (Adya).
//
// Update serializable is PL-2 and no G-update: only those count that write nothing.
func (l Level) limits() bool {
	return l.base() == "consistent-view" || l.base() == "update-serializable"
}

// limited says whether an anti-dependency from transaction i is one of these.
func (g *Graph) limited(l Level, i int) bool {
	return l.base() == "consistent-view" || writesNothing(&g.History[i])
}

// holdsLimited is holds for such a level. The other edges have no cycle, and none of these
// anti-dependencies leads to a transaction from which the others lead back.
func (g *Graph) holdsLimited(l Level) bool {
	n := len(g.History)
	var edges, lone [][2]int
	for _, e := range g.Edges {
		if arcs := g.arcsOf(l, e); e.Type == RW && g.limited(l, e.From) {
			lone = append(lone, arcs...)
		} else {
			edges = append(edges, arcs...)
		}
	}
	if l.realTime() {
		node := func(i int) int { return i }
		n, edges = g.clock(n, edges, node, node)
	}
	if !acyclic(n, edges) {
		return false
	}
	out := make([][]int, n)
	for _, e := range edges {
		out[e[0]] = append(out[e[0]], e[1])
	}
	var all []Edge
	for _, e := range append(slices.Clone(edges), lone...) {
		all = append(all, Edge{From: e[0], To: e[1]})
	}
	component := components(n, all) // a cycle lies within one
	for _, e := range lone {
		if component[e[0]] != component[e[1]] {
			continue
		}
		seen := map[int]bool{e[1]: true}
		for queue := []int{e[1]}; len(queue) > 0; queue = queue[1:] {
			if queue[0] == e[0] {
				return false
			}
			for _, v := range out[queue[0]] {
				if !seen[v] {
					seen[v] = true
					queue = append(queue, v)
				}
			}
		}
	}
	return true
}

// extendVisible is extend for consistent view, which with session order is parallel snapshot
// isolation as an abstract execution (Cerone, Bernardi, Gotsman, A Framework for Transactional
// Consistency Models with Atomic Visibility, CONCUR 2015). A transaction sees some of those before
// it, with all that these saw (TransVis), and all that wrote what it writes (NoConflict). It
// reads what they left. At update serializable those that write come one behind the other, and see
// all before. Each of the others sees a part of them, with all that these depend on.
func (e *execution) extendVisible() bool {
	p := len(e.writes)
	if p == len(e.txns) {
		return e.ascending() && e.visits.fit(e.txns, e.place)
	}
	for i, t := range e.txns {
		must, ready := e.mustSee(i)
		if e.place[i] >= 0 || !ready {
			continue
		}
		serial := e.level.base() == "update-serializable" && !writesNothing(t)
		if serial {
			must = e.closure(must | e.dependsOn(t))
		}
		for sees := range 1 << p {
			if sees&must != must || !e.closed(sees) || serial && sees != must {
				continue
			}
			seen := e.states[p]
			if !serial {
				seen = e.left(sees)
			}
			result, ok := replay(t, e.shown(i, seen))
			if !ok {
				continue
			}
			e.sees = append(e.sees[:p], sees)
			if e.place[i] = p; e.with(i, result, e.extendVisible) {
				return true
			}
			e.place[i] = -1
		}
	}
	return false
}

// mustSee are the places of those that transaction i sees in any case, as bits. ready: they are all placed.
func (e *execution) mustSee(i int) (must int, ready bool) {
	t := e.txns[i]
	for j, at := range e.place {
		before := e.level.realTime() && ended(e.txns[j], t, 0) || e.level.sessions() && precedes(e.txns[j], t)
		if before && at < 0 {
			return 0, false
		}
		if at >= 0 && (before || e.conflicts(t, at)) {
			must |= 1 << at
		}
	}
	return must, true
}

// closed says whether all that these saw is among them.
func (e *execution) closed(sees int) bool {
	for at := range e.writes {
		if sees>>at&1 == 1 && e.sees[at]&^sees != 0 {
			return false
		}
	}
	return true
}

// left returns what these have left.
func (e *execution) left(sees int) state {
	s := state{}
	for at := range e.writes {
		for cell := range e.writes[at] {
			if sees>>at&1 == 1 {
				s[cell] = e.states[at+1][cell]
			}
		}
	}
	return s
}

// closure adds all that these saw.
func (e *execution) closure(sees int) int {
	for at := len(e.writes) - 1; at >= 0; at-- {
		if sees>>at&1 == 1 {
			sees |= e.sees[at]
		}
	}
	return sees
}

// dependsOn are those that write in the order so far, as bits, if they and t are about one key that one of them
// writes.
func (e *execution) dependsOn(t *workload.Txn) (on int) {
	for j, at := range e.place {
		if at < 0 || writesNothing(e.txns[j]) {
			continue
		}
		both := func(a, b *workload.Txn) bool {
			return slices.ContainsFunc(a.Ops, func(o workload.Op) bool {
				return changes(&o) && slices.ContainsFunc(b.Ops, func(x workload.Op) bool {
					return x.Key == o.Key && !(b.Status == event.Unknown && x.Nothing() && x.Kind == event.Read)
				})
			})
		}
		if both(t, e.txns[j]) || both(e.txns[j], t) {
			on |= 1 << at
		}
	}
	return on
}

// writesNothing says whether the transaction leaves nothing behind.
func writesNothing(t *workload.Txn) bool {
	for at := range t.Ops {
		if o := &t.Ops[at]; o.Kind != event.Read && o.Kind != event.Range && changes(o) {
			return false
		}
	}
	return true
}
