package incremental

import (
	"slices"

	"github.com/isowatch/isowatch/internal/flat"
)

// visit is a node that a forward search reached, and how.
type visit struct {
	node   uint32
	parent int32  // index into Graph.fwd, -1 at the start
	edge   EdgeID // 0 for the arc B->C of one vertex
}

// Refusal says in which views an edge could not be placed.
type Refusal struct {
	Cycle  Views // these orders refuse the edge, which closes a cycle: it is set aside
	Behind Views // rule (d): its head is retired
	// Past is as Cycle, in real time, at a vertex that was freed: the edge is not
	// stored.
	Past Views
}

// AddVertex makes v known and ranks its nodes in every view near p. Where there is a gap, they
// come between the neighbours that the arcs give v. They are never below the frontier. The arcs
// are not added. O(len(arcs)) and the queue's O(log n).
func (g *Graph) AddVertex(v Vertex, p Place, arcs []Arc) {
	g.enter(v, p)
	for i := range g.orders {
		g.place(&g.orders[i], v, p, arcs)
	}
	if g.timed {
		g.timeVertex(v, &p)
	}
}

// enter makes v known, without a rank.
func (g *Graph) enter(v Vertex, p Place) {
	g.room(v)
	if g.serial++; g.serial == 0 {
		g.serial = 1
	}
	x := g.vertex(v)
	x.out, x.in, x.settle = 0, 0, p.Settle
	x.serial, x.live, x.goneOut = g.serial, g.nodes, false
	g.seq++
	g.numLive++
}

// bounds are the nearest known neighbours of a node that is being placed.
type bounds struct {
	lo, hi       rank
	hasLo, hasHi bool
}

func (b *bounds) above(r rank) {
	if !b.hasLo || less(b.lo, r) {
		b.lo, b.hasLo = r, true
	}
}

func (b *bounds) below(r rank) {
	if !b.hasHi || less(r, b.hi) {
		b.hi, b.hasHi = r, true
	}
}

func (g *Graph) place(o *order, v Vertex, p Place, arcs []Arc) {
	if !o.Split {
		g.placeOne(o, v, p, arcs)
		return
	}
	var b, c bounds // of the first and of the last node
	first, last := o.first(v), o.last(v)
	for i := range arcs {
		a := &arcs[i]
		from, to, ok := o.join(a.From, a.To, a.Labels)
		if !ok || a.From == a.To {
			continue
		}
		switch {
		case a.To == v && int(a.From) < g.numVertices: // of one that was freed the final rank is left
			if to == last {
				c.above(*o.rank(from))
			} else {
				b.above(*o.rank(from))
			}
		case a.From == v && int(a.To) < g.numVertices && !o.retired(to):
			if from == last {
				c.below(*o.rank(to))
			} else {
				b.below(*o.rank(to))
			}
		}
	}
	if c.hasHi {
		b.below(c.hi)
	}
	r := g.choose(o, p.Begin, &b)
	o.push(first, r)
	c.above(r)
	o.push(last, g.choose(o, p.Commit, &c))
}

// placeOne is place in a view that is not split.
func (g *Graph) placeOne(o *order, v Vertex, p Place, arcs []Arc) {
	lo, hi := &o.frontier, (*rank)(nil)
	for i := range arcs {
		a := &arcs[i]
		switch {
		case a.Labels&(o.Dep|o.Anti) == 0 || a.From == a.To:
		case a.To == v && int(a.From) < g.numVertices: // of one that was freed the final rank is left
			if r := o.rank(uint32(a.From)); less(*lo, *r) {
				lo = r
			}
		case a.From == v && int(a.To) < g.numVertices:
			if r := o.rank(uint32(a.To)); less(o.frontier, *r) && (hi == nil || less(*r, *hi)) {
				hi = r
			}
		}
	}
	o.push(uint32(v), g.between(lo, p.Commit, hi))
}

// choose picks a free rank near at, above b.lo and the frontier, and below b.hi
// if there is room.
func (g *Graph) choose(o *order, at int64, b *bounds) rank {
	lo, hi := &o.frontier, (*rank)(nil)
	if b.hasLo && less(*lo, b.lo) {
		lo = &b.lo
	}
	if b.hasHi {
		hi = &b.hi
	}
	return g.between(lo, at, hi)
}

// between picks a free rank near at, above lo, and below hi, when there is one and
// room.
func (g *Graph) between(lo *rank, at int64, hi *rank) rank {
	r := rank{at: at, seq: g.seq}
	if hi != nil && !less(r, *hi) {
		r.at = hi.at - 1
	}
	if !less(*lo, r) {
		r.at = lo.at
		if lo.seq >= r.seq { // the counter has wrapped around, or both are nodes of one vertex
			r.at++
		}
	}
	return r
}

// push gives node n the rank r and queues it for retirement.
func (o *order) push(n uint32, r rank) {
	if k := len(o.free); k > 0 {
		r.slot = o.free[k-1]
		o.free = o.free[:k-1]
	} else {
		r.slot = uint32(len(o.slots))
		o.slots = flat.Push(o.slots, 0)
	}
	o.slots[r.slot] = n
	*o.rank(n) = r
	o.live++
	o.queue.push(r)
}

// AddEdge stores e and inserts it into every view that follows its labels, by
// rules (a) to (d). Both ends must be known and differ. The edge is stored if
// some view took it or set it aside; otherwise the id is 0.
//
// When a view refuses because of a cycle, [Graph.CyclePath] gives the edges that
// it found from e.To back to e.From.
func (g *Graph) AddEdge(e Edge) (EdgeID, Refusal) { return g.AddEdgeIn(&e, ^Views(0)) }

// AddEdgeIn is AddEdge for the given views only. It reads From, To, Labels and
// Note of e.
func (g *Graph) AddEdgeIn(e *Edge, only Views) (EdgeID, Refusal) {
	if o := g.plain; o != nil && only&1 != 0 && e.Labels&(o.Dep|o.Anti) != 0 {
		if x, y := o.rank(uint32(e.From)), o.rank(uint32(e.To)); less(*x, *y) && less(o.frontier, *x) {
			return g.newEdge(e, 1, 0), Refusal{}
		}
	}
	return g.addEdgeIn(e, only)
}

func (g *Graph) addEdgeIn(e *Edge, only Views) (EdgeID, Refusal) {
	var ref Refusal
	in := Views(0)
	only &= g.follow[e.Labels]
	for i := 0; i < len(g.orders); i++ {
		o := &g.orders[i]
		bit := o.bit & only
		if bit == 0 {
			continue
		}
		switch how := g.offerOne(o, e); {
		case how == taken:
			in |= bit
		case how == nothing:
		case how == behind && g.behindAll(o, e):
			ref.Behind |= bit
		case o.shared():
			g.divide(i, g.refusing(o, e, how)|1<<o.lead)
			i = -1 // to those that have not been offered it
			continue
		default:
			ref.add(how, bit)
		}
		only &^= bit
	}
	if in|ref.Cycle == 0 {
		return 0, ref
	}
	return g.newEdge(e, in, ref.Cycle), ref
}

// behindAll says whether rule (d) refuses e in every order that o would be divided into. Where
// a vertex is one node, a retired one has the same rank in each.
func (g *Graph) behindAll(o *order, e *Edge) bool {
	if o.Split {
		return false
	}
	x, y := o.rank(uint32(e.From)), o.rank(uint32(e.To))
	return !less(o.frontier, *y) && (less(o.frontier, *x) || less(*y, *x))
}

// offerOne offers an edge whose labels the order follows to it, by rules (a) to (d).
func (g *Graph) offerOne(o *order, e *Edge) outcome {
	from, to, _ := o.ends(e)
	if o.Time != NoTime {
		return g.offerTimed(o, from, to)
	}
	x, y := o.rank(from), o.rank(to)
	switch {
	case less(*x, *y) && less(o.frontier, *x): // both live and in order: nearly always
		return taken
	case !less(o.frontier, *y):
		if less(o.frontier, *x) || less(*y, *x) {
			return behind
		}
		return nothing
	case !less(o.frontier, *x):
		return nothing
	case g.insert(o, from, to):
		return taken
	}
	return cycle
}

// add notes why these views do not take an edge.
func (r *Refusal) add(how outcome, views Views) {
	switch how {
	case cycle:
		r.Cycle |= views
	case behind:
		r.Behind |= views
	case past:
		r.Past |= views
	}
}

// Retry offers a stored edge again to the views that set it aside, after an edge of the cycle
// was removed. It goes by rules (a) to (d), as [Graph.AddEdge] does.
func (g *Graph) Retry(id EdgeID) Refusal {
	var ref Refusal
	for i := range g.orders {
		if o := &g.orders[i]; g.edges[id].SetAside&o.bit != 0 {
			g.offer(o, id, &ref)
		}
	}
	g.edges[id].SetAside = ref.Cycle
	return ref
}

// offer offers a stored edge, whose labels the view follows, to its order.
func (g *Graph) offer(o *order, id EdgeID, ref *Refusal) {
	if how := g.offerOne(o, &g.edges[id]); how == taken {
		g.edges[id].In |= o.bit
	} else {
		ref.add(how, o.bit)
	}
}

// insert makes rank(x) < rank(y) hold, or returns false when y reaches x.
func (g *Graph) insert(o *order, x, y uint32) bool {
	if less(*o.rank(x), *o.rank(y)) {
		return true
	}
	if !g.forward(o, y, x) {
		return false
	}
	g.backward(o, x, y)
	g.reorder(o)
	return true
}

func (g *Graph) nextStamp() {
	g.stamp++
	if g.stamp == 0 {
		clear(g.seen)
		g.stamp = 1
	}
}

// forward collects in g.fwd the nodes that y reaches at ranks up to x's. It returns false when
// x is among them, with the way to it in o.path.
func (g *Graph) forward(o *order, y, x uint32) bool {
	g.nextStamp()
	limit, stamp := *o.rank(x), g.stamp
	g.fwd = append(g.fwd[:0], visit{y, -1, 0})
	g.seen[y] = stamp
	var m meeting
	both := false
	for i, end := 0, 1; i < len(g.fwd); i++ {
		if i == end { // all nodes at this distance from y are done
			if end = len(g.fwd); !both && end >= alone {
				m, both = meet(g, o, y, x)
			}
			for both && m.smaller(g, end-i) {
				if at := m.back(g, i); at >= 0 {
					g.trace(o, int32(at), 0)
					m.walk(g, g.fwd[at].node)
					return false
				}
			}
		}
		met := uint32(0)
		stopped := eachOut(g, o, g.fwd[i].node, func(n uint32, id EdgeID) bool {
			if n == x {
				g.trace(o, int32(i), id)
				return false
			}
			if g.seen[n] == stamp || !less(*o.rank(n), limit) {
				return true
			}
			if both {
				if _, ok := m.level(g, n); ok {
					g.trace(o, int32(i), id)
					met = n
					return false
				}
			}
			g.seen[n] = stamp
			g.fwd = append(g.fwd, visit{n, int32(i), id})
			return true
		})
		if !stopped {
			continue
		}
		if met != 0 {
			m.walk(g, met)
		}
		return false
	}
	return true
}

// eachOut calls f for the arcs that lead from node n, until it returns false. It says whether
// f did.
func eachOut(g *Graph, o *order, n uint32, f func(to uint32, by EdgeID) bool) (stopped bool) {
	follow := o.Dep | o.Anti
	if o.Split {
		if follow = o.Dep | o.Chain; n&1 == 0 {
			if !f(n+1, 0) {
				return true
			}
			follow = o.Anti
		}
	}
	for id := g.vertex(o.vertexOf(n)).out; id != 0; id = g.edges[id].nextOut {
		e := &g.edges[id]
		if e.In&o.bit == 0 || e.Labels&follow == 0 {
			continue
		}
		if _, to, _ := o.ends(e); !f(to, id) {
			return true
		}
	}
	return false
}

// trace makes o.path the way to the i-th node of g.fwd, and on by the edge, unless that is 0.
func (g *Graph) trace(o *order, i int32, by EdgeID) {
	o.path = o.path[:0]
	if by != 0 {
		o.path = append(o.path, by)
	}
	for p := i; p >= 0; p = g.fwd[p].parent {
		if g.fwd[p].edge != 0 {
			o.path = append(o.path, g.fwd[p].edge)
		}
	}
	slices.Reverse(o.path)
}

// backward collects in g.bwd the nodes that reach x at ranks above y's.
func (g *Graph) backward(o *order, x, y uint32) {
	g.nextStamp()
	limit := *o.rank(y)
	g.bwd = append(g.bwd[:0], x)
	g.seen[x] = g.stamp
	add := func(n uint32) {
		if g.seen[n] != g.stamp && less(limit, *o.rank(n)) {
			g.seen[n] = g.stamp
			g.bwd = append(g.bwd, n)
		}
	}
	for i := 0; i < len(g.bwd); i++ {
		n := g.bwd[i]
		commit := o.Split && n&1 == 1
		if commit {
			add(n - 1)
		}
		follow := o.Dep | o.Anti
		if o.Split {
			follow = o.Dep
			if commit {
				follow = o.Anti | o.Chain
			}
		}
		for id := g.vertex(o.vertexOf(n)).in; id != 0; id = g.edges[id].nextIn {
			e := &g.edges[id]
			if e.In&o.bit == 0 || e.Labels&follow == 0 {
				continue
			}
			if g.gone(e) {
				continue
			}
			if from, to, _ := o.ends(e); to == n {
				add(from)
			}
		}
	}
}

// reorder hands out the ranks of both search results again. The nodes that reach x come first,
// then those that y reaches, each in its old order.
func (g *Graph) reorder(o *order) {
	byRank := func(a, b uint32) int {
		if less(*o.rank(a), *o.rank(b)) {
			return -1
		}
		return 1
	}
	g.sorted = append(g.sorted[:0], g.bwd...)
	slices.SortFunc(g.sorted, byRank)
	k := len(g.sorted)
	for i := range g.fwd {
		g.sorted = append(g.sorted, g.fwd[i].node)
	}
	slices.SortFunc(g.sorted[k:], byRank)
	g.pool = g.pool[:0]
	for _, n := range g.sorted {
		g.pool = append(g.pool, *o.rank(n))
	}
	slices.SortFunc(g.pool, func(a, b rank) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
	for i, n := range g.sorted {
		*o.rank(n) = g.pool[i]
		o.slots[g.pool[i].slot] = n
	}
}

// CyclePath are the edges from the head to the tail of the edge that the i-th view refused
// last, in order. With that edge they are a cycle of the view. They are valid until the view's
// next refusal.
func (g *Graph) CyclePath(i int) []EdgeID { return g.own(i).path }

// Yield is for an edge that the i-th view refused by a cycle. The edge by, on the cycle's path, is
// set aside in its place, and the refused one is offered again, by rules (a) to (d). A valid order
// stays valid when an edge goes, as in [Graph.RemoveEdge].
func Yield(g *Graph, i int, by, id EdgeID) (ref Refusal) {
	o := g.own(i)
	x, e := &g.edges[by], &g.edges[id]
	x.In, x.SetAside = x.In&^o.bit, x.SetAside|o.bit
	o.stale = o.Time != NoTime
	e.SetAside &^= o.bit
	g.offer(o, id, &ref)
	e.SetAside |= ref.Cycle
	return ref
}
