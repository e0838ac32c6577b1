package incremental

import (
	"cmp"
	"math"
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
)

// Views that follow. If a view implies others, each order of it is an order of those as well.
// So until an edge is refused, one order stands for all of them. It is the order of the leading
// view, with the edges of all the others. Where both views are split, or neither, their nodes
// are the same. A node of a view that is not split stands for B and C, one directly behind the
// other. C of a split view stands for the node of one that is not split. The dependencies of
// that node lead from C to C there, if not to B.
//
// The order may refuse an edge, by a cycle or by rule (d). Then it is divided before any view
// has taken or refused the edge. The view that leads goes on with a copy of the order as it
// was. The others share another copy, or several, and the edge is offered to each. Stored edges
// know for which views they hold. So a divided order goes on with the edges of its views. A
// division is never undone: a retired vertex has one rank in each order, and rules (c) and (d)
// judge by it.

// part are views that share an order, and the one of them that implies the others.
type part struct {
	lead  int
	views Views
}

// parts are the orders that these views need: one for each that no other one implies.
func (g *Graph) parts(of Views) (ps []part) {
	for rest := of; rest != 0; {
		for i := range g.watched {
			if rest&(1<<i) != 0 && g.leads(i, of) {
				p := part{i, Views(1) << i}
				if g.implied != nil {
					p.views |= g.implied[i] & rest
				}
				ps, rest = append(ps, p), rest&^p.views
			}
		}
	}
	return ps
}

// leads says whether no other one of these views implies the i-th; of equal ones the
// first leads.
func (g *Graph) leads(i int, of Views) bool {
	for j := range g.implied {
		if j != i && of&(1<<j) != 0 && g.implied[j]&(1<<i) != 0 && (j < i || g.implied[i]&(1<<j) == 0) {
			return false
		}
	}
	return true
}

// shape is the view of an order that stands for these views: the one that leads, with
// the labels of all.
func (g *Graph) shape(p part) View {
	w := g.watched[p.lead]
	all := Labels(0)
	for i := range g.watched {
		if p.views&(1<<i) != 0 {
			all |= g.watched[i].Follows()
		}
	}
	if all &^= w.Follows(); w.Split {
		w.Chain |= all
	} else {
		w.Dep |= all
	}
	return w
}

// of is the order of the i-th view. Other views may share it.
func (g *Graph) of(i int) *order { return &g.orders[g.at[i]] }

// own is the order of the i-th view, which must share it with none: see [Graph.Alone].
func (g *Graph) own(i int) *order {
	o := g.of(i)
	if o.bit != 1<<i {
		panic("incremental: the view shares its order with others")
	}
	return o
}

// shared says whether several views share the order.
func (o *order) shared() bool { return o.bit&(o.bit-1) != 0 }

// Orders is how many orders are kept for the views.
func (g *Graph) Orders() int { return len(g.orders) }

// Serial says whether the order of the i-th view is one of whole vertices that a view
// leads which follows anti-dependencies.
func (g *Graph) Serial(i int) bool {
	o := g.of(i)
	return !o.Split && o.Anti != 0
}

// Guarded says whether the order of the i-th view is led by a view that follows
// anti-dependencies.
func (g *Graph) Guarded(i int) bool { return g.of(i).Anti != 0 }

// Alone gives each of these views an order of its own.
func (g *Graph) Alone(views Views) {
	for k := 0; k < len(g.orders); k++ {
		if o := &g.orders[k]; o.shared() && o.bit&views != 0 {
			g.divide(k, views)
			k = -1
		}
	}
}

// refusing are the views of o that will refuse e by the cycle that o has just found. They are
// given orders of their own in one go. One view too many costs its order, and one too few
// another go.
func (g *Graph) refusing(o *order, e *Edge, how outcome) Views {
	if how != cycle {
		return 0
	}
	all, inTime, at := o.bit, false, e.To
	for _, id := range o.path {
		x := &g.edges[id]
		all &= x.In
		inTime = inTime || x.From != at
		at = x.To
	}
	inTime = inTime || at != e.From // somewhere real time leads on
	for i := range g.watched {
		if v := &g.watched[i]; inTime && v.Time == NoTime || !inTime && v.Split && !g.closes(v, e, o.path) {
			all &^= 1 << i
		}
	}
	return all
}

// closes says whether e and the path behind it are a cycle of the nodes of v, which is split.
// There an anti-dependency begins at the end of a dependency.
func (g *Graph) closes(v *View, e *Edge, path []EdgeID) bool {
	begin := e.Labels&v.Dep != 0
	for _, id := range path {
		x := &g.edges[id]
		if x.Labels&(v.Dep|v.Chain) == 0 && !begin {
			return false
		}
		begin = x.Labels&v.Dep != 0
	}
	return begin || e.Labels&(v.Dep|v.Chain) != 0
}

// divide makes several orders of the k-th, which is shared: one for each of the views
// alone, and those that the others need. They begin as the one that they come from.
// O(vertices + edges).
func (g *Graph) divide(k int, alone Views) {
	old, stride, from := g.orders, g.stride, g.cells
	ps := g.parts(old[k].bit &^ alone)
	for i := range g.watched {
		if old[k].bit&alone&(1<<i) != 0 {
			ps = append(ps, part{i, Views(1) << i})
		}
	}
	t := LevelChange{}
	g.orders = nil
	for i := range old {
		t.Before = append(t.Before, old[i].View)
		if i != k {
			g.orders = append(g.orders, old[i])
		}
	}
	for _, p := range ps {
		g.orders = append(g.orders, order{
			View: g.shape(p), bit: p.views, lead: p.lead,
			slots: make([]uint32, 1), frontier: old[k].frontier, gone: old[k].gone, stale: old[k].stale,
		})
		g.orders[len(g.orders)-1].frontier.slot = 0
	}
	slices.SortFunc(g.orders, func(a, b order) int { return a.lead - b.lead })
	for i := range g.orders {
		o, x := &g.orders[i], Origin{View: k, Start: Divided}
		if o.bit&old[k].bit == 0 {
			x = Origin{View: slices.IndexFunc(old, func(p order) bool { return p.bit == o.bit })}
		}
		t.After, t.From = append(t.After, o.View), append(t.From, x)
	}
	g.relay(&t, old, from, stride)
	for i := range g.orders {
		if t.From[i].Start == Divided {
			g.copyOrder(&g.orders[i], &old[k])
		}
	}
	g.countNodes()
	g.past = append(g.past, t)
}

// relay lays out the cells again for the present orders. The vertices keep the ranks that they
// have in the orders before.
func (g *Graph) relay(t *LevelChange, old []order, from []rank, stride uint32) {
	n := g.numVertices
	g.cells = nil
	g.layOrders()
	g.cells = flat.Make[rank](n*int(g.stride), n*int(g.stride))
	g.shareVertices()
	for v := range uint32(n) {
		copy(g.cells[v*g.stride:][:vertexCells], from[v*stride:])
		for i := range g.orders {
			copyRanks(&g.orders[i], &old[t.From[i].View], v)
		}
	}
}

// copyOrder puts the live nodes of p into o, in the same order. Ranks need not agree with real
// time where no edge asks for it. So if p is timed, bounds come before ranks, as in
// [Graph.CompareCommits]. The order then agrees with real time as well.
func (g *Graph) copyOrder(o, p *order) {
	var nodes []uint32
	var ranks []rank
	p.queue.each(func(r rank) {
		if n := p.slots[r.slot]; n != 0 {
			nodes, ranks = append(nodes, n), append(ranks, r)
		}
	})
	if p.Time != NoTime {
		slices.SortStableFunc(nodes, func(a, b uint32) int { return cmp.Compare(p.low[a], p.low[b]) })
	}
	highest := o.frontier
	for k, n := range nodes {
		switch r := ranks[k]; {
		case p.Split == o.Split:
			o.push(n, r)
		case p.Split:
			if n&1 == 1 {
				o.push(n/2, r)
			}
		default:
			b := above(highest, r)
			highest = above(b, r)
			o.push(2*n, b)
			o.push(2*n+1, highest)
			g.seq = max(g.seq, b.seq, highest.seq) // what comes next has another one
		}
	}
	if o.Time != NoTime {
		g.copyTime(o, p)
	}
}

// above is r, or the next rank above low if r is not.
func above(low, r rank) rank {
	switch {
	case less(low, r):
		return r
	case low.seq == math.MaxUint32:
		return rank{at: low.at + 1}
	}
	return rank{at: low.at, seq: low.seq + 1}
}

// copyTime gives bounds to the nodes of o, which has the live nodes of p. A retired node keeps
// its bound in p. A live node gets the greatest of three bounds. One is its own, one is the
// greatest of the live nodes that lead to it. Retired nodes can have left the third there. The
// third is the greatest bound of the retired nodes, or the node's bound in p if that is lower.
// So no bound is above the bound in p.
func (g *Graph) copyTime(o, p *order) {
	o.low = make([]int64, g.numVertices<<(o.split&1))
	for n := range uint32(len(o.low)) {
		before := n
		switch {
		case p.Split == o.Split:
		case p.Split:
			before = 2*n + 1
		default:
			before = n / 2
		}
		if o.low[n] = math.MinInt64; int(before) < len(p.low) {
			o.low[n] = p.low[before]
		}
	}
	o.queue.each(func(r rank) {
		n := o.slots[r.slot]
		o.low[n] = max(o.own(g, n), min(o.low[n], p.gone))
	})
	g.carryOn(o)
}

// countNodes counts the live nodes of the vertices that live.
func (g *Graph) countNodes() {
	for v := range Vertex(g.numVertices) {
		if x := g.vertex(v); x.serial != 0 && x.live > 0 {
			x.live = g.liveNodes(v)
		}
	}
}

// liveNodes is how many nodes of v have not retired, over all orders.
func (g *Graph) liveNodes(v Vertex) (live uint16) {
	for i := range g.orders {
		o := &g.orders[i]
		for n := o.first(v); n <= o.last(v); n++ {
			if !o.retired(n) {
				live++
			}
		}
	}
	return live
}
