package incremental

// Order lists the live nodes of the i-th view in its order: vertices, or where the
// view is split 2*v for B and 2*v+1 for C.
func (g *Graph) Order(i int) []uint32 {
	o := &g.views[i]
	nodes := make([]uint32, 0, o.queue.n)
	o.queue.each(func(r rank) {
		if n := o.slots[r.slot]; n != 0 {
			nodes = append(nodes, n)
		}
	})
	return nodes
}

// Arcs calls fn with every edge that constrains the i-th view or was set aside there
// and joins live nodes, and those nodes, vertex by vertex in the order of their
// numbers. The arcs B->C are left out.
func (g *Graph) Arcs(i int, fn func(id EdgeID, from, to uint32)) {
	o := &g.views[i]
	for v := range g.numVertices {
		for id := g.FirstOut(Vertex(v)); id != 0; id = g.NextOut(id) {
			e := &g.edges[id]
			if (e.In|e.Aside)&o.bit == 0 {
				continue
			}
			if from, to, ok := o.ends(e); ok && !o.retired(from) && !o.retired(to) {
				fn(id, from, to)
			}
		}
	}
}

// Ends are the nodes that an edge with these labels joins in the i-th view; ok is
// false where the view does not follow them.
func (g *Graph) Ends(i int, from, to Vertex, labels Labels) (x, y uint32, ok bool) {
	return g.views[i].ends(&Edge{From: from, To: to, Labels: labels})
}

// Split says whether a vertex is two nodes in the i-th view.
func (g *Graph) Split(i int) bool { return g.views[i].Split }
