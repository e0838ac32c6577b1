package incremental

import "github.com/isowatch/isowatch/internal/flat"

// Expect makes room for so many vertices and edges that are to come, so that arrays do not grow by copying.
func (g *Graph) Expect(vertices, edges int) {
	g.edges = flat.Room(g.edges, len(g.edges)+edges)
	g.cells = flat.Room(g.cells, len(g.cells)+vertices*int(g.stride))
	g.shareVertices()
	for i := range g.orders {
		o := &g.orders[i]
		o.slots = flat.Room(o.slots, len(o.slots)+vertices<<o.split)
	}
}
