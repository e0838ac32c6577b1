package incremental

// Arc is an edge as it is offered: 20 bytes, laid out as callers have it, so that
// theirs need not be copied.
type Arc struct {
	From, To Vertex
	Labels   Labels
	Note     [2]uint32
}

// Plain says whether there is one view, and it is not split.
func (g *Graph) Plain() bool { return g.plain != nil }

// AddWith is [Graph.AddVertex] in a plain graph, and then [Graph.AddEdgeIn] of the
// arcs that are followed, up to the first that is not in order and live. It returns
// how many come before that: the others are the caller's.
func (g *Graph) AddWith(v Vertex, p Place, arcs []Arc) int {
	o := g.plain
	g.enter(v, p)
	o.push(uint32(v), g.placeNear(o, v, p.Commit, arcs))
	return g.linkArcs(o, v, arcs)
}

// placeNear is the rank for v, near at and between the neighbours that the arcs give
// it, in a view that is not split.
func (g *Graph) placeNear(o *order, v Vertex, at int64, arcs []Arc) rank {
	lo, hi, hasHi := o.frontier, rank{}, false
	frontier := lo
	cells, stride, follow := g.cells, g.stride, o.Dep|o.Anti
	for i := range arcs {
		a := &arcs[i]
		if a.Labels&follow == 0 {
			continue
		}
		if a.To == v {
			if at := uint(uint32(a.From)*stride + vertexCells); at < uint(len(cells)) {
				if r := &cells[at]; less(lo, *r) { // of one that was freed the final rank is left
					lo = *r
				}
			}
		} else if at := uint(uint32(a.To)*stride + vertexCells); a.From == v && at < uint(len(cells)) {
			if r := &cells[at]; less(frontier, *r) && (!hasHi || less(*r, hi)) {
				hi, hasHi = *r, true
			}
		}
	}
	return g.between(lo, at, hi, hasHi)
}

// linkArcs stores the arcs as edges up to the first that is not in order and live,
// and returns how many come before that. v has just been placed: above all that the
// arcs lead to it from.
func (g *Graph) linkArcs(o *order, v Vertex, arcs []Arc) int {
	frontier := o.frontier
	cells, stride, follow := g.cells, g.stride, o.Dep|o.Anti
	for i := range arcs {
		a := &arcs[i]
		if a.Labels&follow == 0 {
			continue
		}
		from, to := uint32(a.From)*stride, uint32(a.To)*stride
		x := &cells[from+vertexCells]
		if !less(frontier, *x) || a.To != v && !less(*x, cells[to+vertexCells]) {
			return i
		}
		place, ok := g.freeEdge.Take() // as takeEdge, which is not inlined
		if !ok {
			place = g.growEdges()
		}
		id, e := EdgeID(place), &g.edges[place]
		tail, head := vertexIn(&cells[from]), vertexIn(&cells[to])
		e.From, e.To, e.Labels = a.From, a.To, a.Labels
		e.In, e.Aside = 1, 0
		e.Note[0], e.Note[1] = a.Note[0], a.Note[1]
		e.nextOut, e.nextIn = tail.out, head.in
		e.fromSerial, e.toGone = tail.serial, false
		tail.out, head.in = id, id
		g.numEdges++
	}
	return len(arcs)
}
