package incremental

// Arc is an edge as it is offered: 20 bytes.
type Arc struct {
	From, To Vertex
	Labels   Labels
	Note     [2]uint32
}

// Plain says whether the graph has only one view, with one node a vertex.
func (g *Graph) Plain() bool { return g.plain != nil }

// AddWith is [Graph.AddVertex] in a plain graph, and then [Graph.AddEdgeIn] of the
// arcs up to the first that is not followed, in order and live. It returns how many
// come before that: the others are the caller's.
func (g *Graph) AddWith(v Vertex, p Place, arcs []Arc) int {
	g.enter(v, p)
	all := g.lone()
	lo, hi, n := placeAmong(g.plain, all, v, arcs)
	g.plain.push(uint32(v), g.between(lo, p.Commit, hi))
	for n < len(arcs) && inOrder(g.plain, all, &arcs[n]) {
		n++
	}
	g.store(all, arcs[:n], g.takeEdges(n))
	return n
}

// placeAmong are the highest rank of those before v by the arcs, or the frontier,
// and the lowest live one of those behind it, or nil. Each of the first n arcs is
// followed and leads to v from a live vertex: v will stand above it.
func placeAmong(o *order, all []lone, v Vertex, arcs []Arc) (lo, hi *rank, n int) {
	lo = &o.frontier
	follow := o.Dep | o.Anti
	for i := range arcs {
		a := &arcs[i]
		if a.Labels&follow == 0 {
			continue
		}
		if a.To == v {
			r := &all[a.From].rank
			if r.at > lo.at || r.at == lo.at && r.seq > lo.seq {
				lo = r
			}
			if n == i && less(o.frontier, *r) {
				n++
			}
		} else if a.From == v {
			if r := &all[a.To].rank; less(o.frontier, *r) && (hi == nil || less(*r, *hi)) {
				hi = r
			}
		}
	}
	return lo, hi, n
}

// inOrder says whether a is followed, in order and live.
func inOrder(o *order, all []lone, a *Arc) bool {
	x := &all[a.From].rank
	return a.Labels&(o.Dep|o.Anti) != 0 && less(*x, all[a.To].rank) && less(o.frontier, *x)
}

// takeEdges are places for n edges; the slice is reused.
func (g *Graph) takeEdges(n int) []uint32 {
	if cap(g.places) < n {
		g.places = make([]uint32, 2*n)
	}
	places := g.places[:n]
	for k := g.freeEdge.TakeSome(places); k < n; k++ {
		places[k] = g.growEdges()
	}
	return places
}

// store makes the arcs edges of the only view, in these places, as newEdge.
func (g *Graph) store(all []lone, arcs []Arc, places []uint32) {
	edges := g.edges
	for i := range places {
		a, id := &arcs[i], EdgeID(places[i])
		e, tail, head := &edges[id], &all[a.From], &all[a.To]
		e.From, e.To, e.Labels = a.From, a.To, a.Labels
		e.In, e.SetAside = 1, 0
		e.Note[0], e.Note[1] = a.Note[0], a.Note[1]
		e.nextOut, e.nextIn = tail.out, head.in
		e.fromSerial, e.toGone = tail.serial, false
		tail.out, head.in = id, id
	}
}
