package incremental

// Warm reads what [Graph.Free] of these vertices will need. The loads do not depend on each
// other across vertices. So the processor waits for several of them at a time, which is the
// only purpose of Warm.
func (g *Graph) Warm(vs []Vertex) {
	walk := g.walk[:0]
	for _, v := range vs {
		walk = append(walk, g.vertex(v).in)
	}
	for range warmEdges {
		k := 0
		for _, id := range walk {
			next, more := g.edges[id].nextIn, 0
			if walk[k] = next; next != 0 { // no branch: it would wait for the load
				more = 1
			}
			k += more
		}
		walk = walk[:k]
	}
	g.walk = walk
}

// warmEdges is how many edges into a vertex are looked at.
const warmEdges = 16

// WarmEnds reads what [Graph.AddEdge] at these vertices will need.
func (g *Graph) WarmEnds(vs []uint32) {
	sum := uint32(0)
	if g.plain != nil {
		all := g.lone()
		for _, v := range vs {
			if int(v) < len(all) {
				sum += all[v].serial
			}
		}
		g.warmed = sum
		return
	}
	for _, v := range vs {
		if int(v) >= g.numVertices {
			continue
		}
		for at := v * g.stride; at < (v+1)*g.stride; at += lineCells {
			sum += g.cells[at].slot
		}
	}
	g.warmed = sum
}
