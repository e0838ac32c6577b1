package incremental

import (
	"slices"
	"testing"
)

// TestReorderLooksAtWhatIsLeft: of a vertex whose B has retired the edges out of its
// C still count.
func TestReorderLooksAtWhatIsLeft(t *testing.T) {
	g := New(View{Split: true, Dep: dep, Anti: anti})
	g.AddVertex(1, Place{Begin: 0, Commit: 20, Settle: 20}, nil)
	g.AddVertex(2, Place{Begin: 30, Commit: 40, Settle: 40}, nil)
	g.AddVertex(3, Place{Begin: 10, Commit: 50, Settle: 50}, nil) // holds back what is behind its B
	g.AddEdge(Edge{From: 1, To: 2, Labels: dep})
	g.Retire(25) // B of 1
	nodes := g.Order(0)
	if want := []uint32{6, 3, 4, 5, 7}; !slices.Equal(nodes, want) {
		t.Fatalf("live are %v, want %v", nodes, want)
	}
	if g.Reorder(0, []uint32{6, 4, 3, 5, 7}) {
		t.Error("B of 2 was put before C of 1, which it depends on")
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}
