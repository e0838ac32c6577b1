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
