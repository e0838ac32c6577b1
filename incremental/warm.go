package incremental

// Warm reads what [Graph.Free] of these vertices will need. The loads do not
// depend on each other across vertices, so that the processor waits for several
// of them at a time; that is all it is for.
func (g *Graph) Warm(vs []Vertex) {
	sum := uint32(0)
	for _, v := range vs {
		if id := g.vertices[v].in; id != 0 {
			sum += uint32(g.edges[id].From)
		}
	}
	g.warmed = sum
}

// WarmEnds reads what [Graph.AddEdge] at these vertices will need.
func (g *Graph) WarmEnds(vs []uint32) {
	sum := uint32(0)
	for _, v := range vs {
		if int(v) >= len(g.vertices) {
			continue
		}
		sum += g.vertices[v].serial
		for i := range g.views {
			o := &g.views[i]
			sum += o.nodes[o.first(Vertex(v))].seq
		}
	}
	g.warmed = sum
}
