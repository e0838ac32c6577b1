package incremental

import "testing"

// TestYield: an edge that a view refused is taken when another one of the cycle gives way, or it
// is refused by a second cycle. Another view, which has no such cycle, goes on with all edges.
func TestYield(t *testing.T) {
	for _, two := range []bool{false, true} {
		g := New(View{Dep: dep, Anti: anti}, View{Dep: anti})
		for v := Vertex(1); v <= 3; v++ {
			g.AddVertex(v, Place{Begin: int64(v), Commit: int64(v)}, nil)
		}
		by, _ := g.AddEdge(Edge{From: 1, To: 2, Labels: anti})
		if two {
			g.AddEdge(Edge{From: 1, To: 3, Labels: dep})
		}
		g.AddEdge(Edge{From: 2, To: 3, Labels: dep})
		id, ref := g.AddEdge(Edge{From: 3, To: 1, Labels: dep})
		if ref.Cycle != 1 {
			t.Fatalf("refused by %b", ref.Cycle)
		}
		again := Yield(g, 0, by, id)
		if refused := again.Cycle == 1; refused != two {
			t.Errorf("two cycles: %v, refused again: %v", two, refused)
		}
		if x := g.Edge(by); x.In != 1<<1 || x.SetAside != 1 {
			t.Errorf("what gave way is in %b and set aside in %b", x.In, x.SetAside)
		}
		if x := g.Edge(id); (x.In == 1) == two || (x.SetAside == 1) != two {
			t.Errorf("what was refused is in %b and set aside in %b", x.In, x.SetAside)
		}
		if err := g.Check(); err != nil {
			t.Error(err)
		}
	}
}
