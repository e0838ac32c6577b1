package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// closure returns what saturation must come to, by trying everything again until nothing is
// new: whether one node comes before another in every order, nil where a cycle is closed.
func closure(p *Problem) [][]bool {
	reach := make([][]bool, p.Nodes)
	for v := range reach {
		reach[v] = make([]bool, p.Nodes)
		reach[v][v] = true
	}
	add := func(u, v Node) {
		if reach[u][v] {
			return
		}
		for a := range reach {
			for b := range reach {
				if reach[a][u] && reach[v][b] {
					reach[a][b] = true
				}
			}
		}
	}
	for _, e := range p.Edges {
		add(e.From, e.To)
	}
	for again := true; again; {
		again = false
		for k := range p.numKeys() {
			from, to := p.unitsOf(k)
			for a := from; a < to; a++ {
				for b := from; b < to; b++ {
					x, y := &p.Units[a], &p.Units[b]
					forced := reach[x.In][y.Out]
					for _, r := range y.Readers {
						forced = forced || reach[x.InAnti][r]
					}
					if a == b || !forced {
						continue
					}
					link := func(u, v Node) {
						if !reach[u][v] {
							add(u, v)
							again = true
						}
					}
					link(x.Out, y.In)
					for _, r := range x.Readers {
						link(r, y.InAnti)
					}
				}
			}
		}
	}
	for u := range reach {
		for v := range reach {
			if u != v && reach[u][v] && reach[v][u] {
				return nil
			}
		}
	}
	return reach
}

// However far the walks go, and however the clocks follow, saturation comes to the same.
func TestSaturation(t *testing.T) {
	cyclic := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := blindHistory(20+rng.IntN(60), 1+rng.IntN(6), 1+rng.IntN(8), 0.99, seed%2 == 0, seed%3 == 0)
		for range rng.IntN(4) { // what no execution has
			u := rng.IntN(len(p.Units))
			p.Units[u].Readers = append(p.Units[u].Readers, Node(rng.IntN(p.Nodes)))
			p.Edges = append(p.Edges, Edge{p.Units[u].Out, p.Units[u].Readers[len(p.Units[u].Readers)-1]})
		}
		if !newSolver(p).g.sort(make([]int64, p.Nodes)) {
			continue
		}
		want := closure(p)
		for _, walk := range []int32{0, 3, maxWalk, math.MaxInt32} {
			t.Run(fmt.Sprintf("seed=%d/walk=%d", seed, walk), func(t *testing.T) {
				s := newSolver(p)
				s.maxWalk = walk
				if r := s.begin(); r != nil {
					t.Fatal(r.Verdict)
				}
				if ok := s.saturate(); ok != (want != nil) {
					t.Fatalf("saturated: %v, want %v", ok, want != nil)
				}
				if want == nil {
					cyclic++
					return
				}
				for u := range want {
					for v := range want {
						if got := s.c.reaches(Node(u), Node(v)); got != want[u][v] {
							t.Fatalf("%d reaches %d: %v, want %v", u, v, got, want[u][v])
						}
					}
				}
				if !s.g.sort(s.place) {
					t.Fatal("the derived edges close a cycle")
				}
				open := 0
				vars, _ := s.open(maxOpen)
				for k := range p.numKeys() {
					from, to := p.unitsOf(k)
					for a := from; a < to; a++ {
						for b := a + 1; b < to; b++ {
							if !s.free(a, b) && !s.forced(a, b) && !s.forced(b, a) {
								open++
							}
						}
					}
				}
				if len(vars) != open {
					t.Fatalf("%d open pairs, want %d", len(vars), open)
				}
			})
		}
	}
	if cyclic < 100 {
		t.Errorf("%d histories closed a cycle", cyclic)
	}
}
