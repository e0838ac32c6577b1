package isolation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// fromHead is path by a search from the head alone, without a budget.
func fromHead(s *Searcher, g *incremental.Graph, closing *incremental.Edge, p plan, within func(incremental.Vertex) bool) []incremental.EdgeID {
	label := finding.Label(closing.Labels)
	if label&p.labels == 0 {
		return nil
	}
	state, _ := p.next(0, s.counts(p, closing, label))
	s.begin(closing.To, state)
	for i := 0; i < len(s.queue); i++ {
		for id := g.FirstOut(s.queue[i].v); id != 0; id = g.NextOut(id) {
			e := g.Edge(id)
			l := finding.Label(e.Labels) & p.labels
			to, ok := p.next(s.queue[i].state, s.counts(p, e, l))
			switch {
			case l == 0 || !ok || s.promisesLess(e, p.floor) || within != nil && !within(e.To):
			case e.To != closing.From:
				s.push(e.To, int32(i), id, to)
			case p.class != classNonadjacent || l&label&finding.RW == 0:
				return s.trace(int32(i), id)
			}
		}
	}
	return nil
}

// TestPath: the search from both ends finds the way that one from the head finds, of each class. With a
// small budget it finds that way, or none.
func TestPath(t *testing.T) {
	labels := []finding.Label{finding.WW, finding.WR, finding.RW, finding.WW | finding.WR, finding.Process}
	r := rand.New(rand.NewPCG(25, 1))
	found, long, cut := 0, 0, 0
	for range 3000 {
		n := 2 + r.IntN(40)
		g := incremental.New(incremental.View{Dep: incremental.Labels(finding.WW | finding.WR), Anti: incremental.Labels(finding.RW)})
		for v := 1; v <= n; v++ {
			g.AddVertex(incremental.Vertex(v), incremental.Place{NotBefore: math.MinInt64, NotAfter: math.MaxInt64}, nil)
		}
		var ids []incremental.EdgeID
		for range r.IntN(3 * n) {
			from, to := 1+r.IntN(n), 1+r.IntN(n)
			if from == to {
				continue
			}
			id, _ := g.AddEdge(incremental.Edge{
				From: incremental.Vertex(from), To: incremental.Vertex(to), Labels: incremental.Labels(labels[r.IntN(len(labels))]),
			})
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			continue
		}
		var s, alone Searcher
		var bounds Bounds
		if r.IntN(2) == 0 {
			out := incremental.Vertex(1 + r.IntN(n))
			bounds.Within = func(v incremental.Vertex) bool { return v != out }
		}
		closing := g.Edge(ids[r.IntN(len(ids))])
		for _, f := range []Family{Plain, StrongSession} {
			for c := classG0; c <= classG2; c++ {
				p := planOf(c, f)
				want := fromHead(&alone, g, closing, p, bounds.Within)
				bounds.Budget = 1 << 20
				if got, spent := s.path(g, closing, p, bounds); spent || !slices.Equal(got, want) {
					t.Fatalf("%v %v: the way is %v, want %v", c, f, got, want)
				}
				if want != nil {
					found++
				}
				if len(want) > 4 {
					long++
				}
				bounds.Budget = 1 + r.IntN(30)
				got, spent := s.path(g, closing, p, bounds)
				if !spent && !slices.Equal(got, want) || spent && got != nil {
					t.Fatalf("%v %v, on a budget of %d: the way is %v, want %v", c, f, bounds.Budget, got, want)
				}
				if spent {
					cut++
				}
			}
		}
	}
	if found < 1000 || long < 100 || cut < 1000 {
		t.Errorf("%d ways, %d of them long, and %d searches beyond their budget", found, long, cut)
	}
}
