package incremental

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestMeet: a search from both ends gives the answers and the paths that the search from one
// end gives.
func TestMeet(t *testing.T) {
	before := alone
	defer func() { alone = before }()
	met, longest := 0, 0
	for seed := uint64(0); seed < 200; seed++ {
		r := rand.New(rand.NewPCG(seed, 2))
		one, both := New(views...), New(views...)
		vertices, edges := Vertex(4+r.IntN(40)), []EdgeID(nil)
		for v := Vertex(1); v <= vertices; v++ {
			at := r.Int64N(400)
			p := Place{at, at + r.Int64N(9), at, at, at + 50}
			one.AddVertex(v, p, nil)
			both.AddVertex(v, p, nil)
		}
		if seed%50 == 0 {
			both.stamp = math.MaxUint32 - uint32(r.IntN(300)) // the stamps run out
		}
		for range (1 + r.IntN(8)) * int(vertices) {
			e := Edge{From: 1 + Vertex(r.IntN(int(vertices))), To: 1 + Vertex(r.IntN(int(vertices))), Labels: Labels(1 + r.IntN(2))}
			if e.From == e.To {
				continue
			}
			if len(edges) > 0 && r.IntN(9) == 0 {
				k := r.IntN(len(edges))
				one.RemoveEdge(edges[k])
				both.RemoveEdge(edges[k])
				edges[k] = edges[len(edges)-1]
				edges = edges[:len(edges)-1]
			}
			from := r.IntN(5)
			alone = math.MaxInt
			a, refA := one.AddEdge(e)
			alone = from
			b, refB := both.AddEdge(e)
			if a != b || refA != refB {
				t.Fatalf("seed %d: %v gave %d %+v, from one end %d %+v", seed, e, b, refB, a, refA)
			}
			if a != 0 {
				edges = append(edges, a)
			}
			for i := range views {
				if refA.Cycle&(1<<i) == 0 {
					continue
				}
				if one, both := fmt.Sprint(one.CyclePath(i)), fmt.Sprint(both.CyclePath(i)); one != both {
					t.Fatalf("seed %d view %d: path %s, from one end %s", seed, i, both, one)
				}
				met++
				longest = max(longest, len(both.CyclePath(i)))
			}
		}
		if err := both.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if met < 10_000 || longest < 12 {
		t.Errorf("%d paths, of up to %d edges: too few for a test", met, longest)
	}
}

// TestMeetIsCheap: between two ends that are far apart in a dense graph, few nodes are looked at.
func TestMeetIsCheap(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(1, 1))
	g := New(View{Dep: dep, Anti: anti})
	for v := Vertex(1); v <= n; v++ {
		g.AddVertex(v, Place{Begin: int64(v), Commit: int64(v)}, nil)
		for range 10 {
			if from := Vertex(1 + r.IntN(n)); from < v {
				g.AddEdge(Edge{From: from, To: v, Labels: dep})
			}
		}
	}
	for range 100 {
		if _, ref := g.AddEdge(Edge{From: n - Vertex(r.IntN(9)), To: 1 + Vertex(r.IntN(9)), Labels: anti}); ref.Cycle == 0 {
			continue // from a vertex that had no edge yet
		}
		if looked := len(g.fwd) + len(g.bwd); looked > n/4 {
			t.Errorf("%d of %d nodes looked at", looked, n)
		}
	}
}
