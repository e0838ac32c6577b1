package incremental

import "math"

// The search for a cycle looks at all that y reaches below x. Where y stands far below x, that may be
// most of the graph. In a history with one wrong read in sixty, a search looked at 20,000 edges, and searches
// took 70% of the time. So when y has reached some nodes, the search goes on from both ends, a
// level of steps at a time. Then it looks at 400. It finds the path that the search from y alone
// finds.
//
// That path is the first one in the order of edges among the shortest. A search
// reaches nodes that are as far from y in the order of their paths.

// alone is how many nodes the search from y reaches before one from x begins.
var alone = 32

// maxBack bounds the levels of the search from x. Each has a stamp of its own.
const maxBack = 63

// meeting is a search from x back to what y reaches. The nodes that are k steps from x have the
// stamp base+1+k, and those that y reaches have base.
type meeting struct {
	o      *order
	x      uint32
	limit  rank // y's
	base   uint32
	levels uint32 // that are complete, the one of x included
	first  int    // index into g.bwd: of the last of them
}

// meet begins the search from x.
func meet(g *Graph, o *order, y, x uint32) (m meeting, ok bool) {
	if g.stamp > math.MaxUint32-maxBack-1 {
		return m, false
	}
	m = meeting{o: o, x: x, limit: *o.rank(y), base: g.stamp, levels: 1}
	g.stamp += maxBack + 1
	g.bwd = append(g.bwd[:0], x)
	g.seen[x] = m.base + 1
	return m, true
}

// smaller says whether the search from x has fewer nodes to go on from than that from y, which has so many.
func (m *meeting) smaller(g *Graph, than int) bool {
	n := len(g.bwd) - m.first
	return n > 0 && n < than && m.levels < maxBack
}

// level is how many steps n is from x. ok is false where the search from x has not reached it.
func (m *meeting) level(g *Graph, n uint32) (level uint32, ok bool) {
	level = g.seen[n] - m.base - 1
	return level, level < m.levels
}

// back takes the next level. It returns the index in g.fwd of the first node that both searches
// have reached, -1 if there is none. The last level of the search from y begins at last.
func (m *meeting) back(g *Graph, last int) int {
	o, end, met, stamp := m.o, len(g.bwd), false, m.base+1+m.levels
	add := func(n uint32) {
		switch at := g.seen[n]; {
		case at == m.base:
			g.seen[n], met = stamp, true
		case at-m.base-1 <= m.levels: // it was there before
		case less(m.limit, *o.rank(n)):
			g.seen[n] = stamp
			g.bwd = append(g.bwd, n)
		}
	}
	for i := m.first; i < end; i++ {
		n := g.bwd[i]
		if o.Split && n&1 == 1 {
			add(n - 1)
		}
		for id := g.vertex(o.vertexOf(n)).in; id != 0; id = g.edges[id].nextIn {
			e := &g.edges[id]
			if e.In&o.bit == 0 || e.Labels&(o.Dep|o.Anti|o.Chain) == 0 || g.gone(e) {
				continue
			}
			if _, to, _ := o.ends(e); to != n {
				continue
			}
			if !o.Split {
				add(uint32(e.From))
				continue
			}
			if e.Labels&o.Anti != 0 {
				add(2 * uint32(e.From))
			}
			if e.Labels&(o.Dep|o.Chain) != 0 {
				add(2*uint32(e.From) + 1)
			}
		}
	}
	m.first, m.levels = end, m.levels+1
	if met {
		for i := last; i < len(g.fwd); i++ {
			if g.seen[g.fwd[i].node] == stamp {
				return i
			}
		}
	}
	return -1
}

// walk appends to o.path the way from n to x: at each step the first edge that comes a step closer.
func (m *meeting) walk(g *Graph, n uint32) {
	o := m.o
	for n != m.x {
		at, _ := m.level(g, n)
		var next uint32
		var by EdgeID
		eachOut(g, o, n, func(to uint32, id EdgeID) bool {
			next, by = to, id
			level, ok := m.level(g, to)
			return !ok || level+1 != at
		})
		if n = next; by != 0 {
			o.path = append(o.path, by)
		}
	}
}
