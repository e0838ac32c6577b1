package incremental

import "testing"

// In a split view a vertex can have retired before the commit of one that an
// anti-dependency leads from. The list of that one's edges must not lead through the
// place of an edge that is gone, which others get.
func TestFreeBeforeTheTail(t *testing.T) {
	g := New(View{Split: true, Dep: dep, Anti: anti})
	add := func(v Vertex, begin, commit, settle int64) {
		g.AddVertex(v, Place{Begin: begin, Commit: commit, Settle: settle}, nil)
	}
	add(1, 10, 100, 100)
	add(2, 20, 30, 30)
	add(3, 50, 60, 200)
	if id, ref := g.AddEdge(Edge{From: 1, To: 2, Labels: anti}); id == 0 || ref != (Refusal{}) {
		t.Fatalf("%d %+v", id, ref)
	}
	if got := g.Retire(150); len(got) != 1 || got[0] != 2 || !g.Live(1) {
		t.Fatalf("retired %v; want 2, and 1 to live", got)
	}
	g.Free(2)
	add(4, 110, 120, 200)
	if id, ref := g.AddEdge(Edge{From: 3, To: 4, Labels: dep}); id == 0 || ref != (Refusal{}) {
		t.Fatalf("%d %+v", id, ref)
	}
	if id := g.FirstOut(1); id != 0 {
		t.Errorf("1 has the edge %+v", *g.Edge(id))
	}
	if id, ref := g.AddEdge(Edge{From: 4, To: 1, Labels: anti}); id == 0 || ref != (Refusal{}) {
		t.Errorf("4 -> 1, which closes nothing: %d %+v", id, ref)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

// TestPlacesAreUsedAgain: edges that come and go take no more room than those that
// are there at once.
func TestPlacesAreUsedAgain(t *testing.T) {
	g := New(views[:4]...)
	edges := 0
	for i := range 10_000 {
		for v := Vertex(1); v <= 4; v++ {
			at := int64(i)*10 + int64(v)
			g.AddVertex(v, Place{Begin: at, Commit: at, Settle: at}, nil)
		}
		for v := Vertex(1); v < 4; v++ {
			g.AddEdge(Edge{From: v, To: v + 1, Labels: dep})
		}
		g.RemoveEdge(g.FirstOut(2))
		for v := Vertex(1); v <= 4; v++ {
			g.Free(v)
		}
		if i == 100 {
			edges = len(g.edges)
		}
	}
	if len(g.edges) != edges {
		t.Errorf("there is room for %d edges, and there was for %d", len(g.edges), edges)
	}
}
