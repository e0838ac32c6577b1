package incremental

import "testing"

// TestExpect: where room was made, no array moves.
func TestExpect(t *testing.T) {
	const n = 1000
	g := New(View{Dep: 1})
	g.Expect(n, n)
	edges, cells := cap(g.edges), cap(g.cells)
	for v := Vertex(1); v < n; v++ {
		g.room(v)
		g.growEdges()
	}
	if cap(g.edges) != edges || cap(g.cells) != cells {
		t.Errorf("%d edges and %d cells have room, and %d and %d had", cap(g.edges), cap(g.cells), edges, cells)
	}
}
