package isolation

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/incremental"
)

// TestTimedPath: the way with one step in real time is as short as the shortest of all, and leads over edges
// that follow one another.
func TestTimedPath(t *testing.T) {
	labels := []finding.Label{finding.WW, finding.WR, finding.RW, finding.Process}
	r := rand.New(rand.NewPCG(24, 1))
	found, before, after := 0, 0, 0
	for range 2000 {
		g := incremental.New(incremental.View{
			Dep: incremental.Labels(finding.WW | finding.WR), Anti: incremental.Labels(finding.RW), Time: incremental.FromBegin,
		})
		n := 2 + r.IntN(12)
		for v := 1; v <= n; v++ {
			start := r.Int64N(60)
			end := start + r.Int64N(20)
			g.AddVertex(incremental.Vertex(v), incremental.Place{Begin: start, Commit: end, Settle: end, NotBefore: start, NotAfter: end}, nil)
		}
		var ids []incremental.EdgeID
		for range 1 + r.IntN(2*n) {
			e := incremental.Edge{From: incremental.Vertex(1 + r.IntN(n)), To: incremental.Vertex(1 + r.IntN(n)), Labels: incremental.Labels(labels[r.IntN(len(labels))])}
			if e.From != e.To {
				id, _ := g.AddEdge(e)
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		closing := *g.Edge(ids[r.IntN(len(ids))])
		var s Searcher
		for c := classG0; c <= classG2; c++ {
			p := planOf(c, Strong)
			path, spent := s.timedPath(g, &closing, p, DefaultBudget)
			want := shortestInTime(g, &closing, p, ids)
			if spent || (path == nil) != (want < 0) || path != nil && len(path) != want {
				t.Fatalf("class %v: %v, want %d edges", c, path, want)
			}
			if path == nil {
				continue
			}
			at := stepInTime(g, &closing, path)
			if at < 0 {
				t.Fatalf("class %v: %v is no way from %d to %d with one step in time", c, path, closing.To, closing.From)
			}
			found++
			if at > 1 {
				before++
			}
			if len(path)-at > 1 {
				after++
			}
		}
	}
	if found < 1000 || before < 50 || after < 50 {
		t.Errorf("%d ways, %d with several edges before the step in time, %d with several behind it", found, before, after)
	}
}

// stepInTime is how many edges of the path come before its step in time, -1 if it is no such way from
// the head of the closing edge to its tail.
func stepInTime(g *incremental.Graph, closing *incremental.Edge, path []incremental.EdgeID) int {
	leads := func(from, to incremental.Vertex, edges []incremental.EdgeID) bool {
		for _, id := range edges {
			if g.Edge(id).From != from {
				return false
			}
			from = g.Edge(id).To
		}
		return from == to
	}
	for at := range len(path) + 1 {
		end, begin := closing.To, closing.From
		if at > 0 {
			end = g.Edge(path[at-1]).To
		}
		if at < len(path) {
			begin = g.Edge(path[at]).From
		}
		_, over := g.Span(end)
		started, _ := g.Span(begin)
		if over < started && leads(closing.To, end, path[:at]) && leads(begin, closing.From, path[at:]) {
			return at
		}
	}
	return -1
}

// shortestInTime is the number of edges of the shortest way with one step in time, -1 if there is none.
func shortestInTime(g *incremental.Graph, closing *incremental.Edge, p plan, ids []incremental.EdgeID) int {
	label := finding.Label(closing.Labels)
	if label&p.labels == 0 {
		return -1
	}
	rw := label&finding.RW != 0
	type place struct {
		v     incremental.Vertex
		state uint8
	}
	distances := func(v incremental.Vertex, back bool) map[place]int {
		state, _ := p.next(0, rw)
		far := map[place]int{{v, state}: 0}
		for changed := true; changed; {
			changed = false
			for at, d := range far {
				for _, id := range ids {
					e := g.Edge(id)
					from, to := e.From, e.To
					if back {
						from, to = to, from
					}
					l := finding.Label(e.Labels) & p.labels
					next, ok := p.next(at.state, l&finding.RW != 0)
					if from != at.v || l == 0 || !ok {
						continue
					}
					if old, known := far[place{to, next}]; !known || d+1 < old {
						far[place{to, next}], changed = d+1, true
					}
				}
			}
		}
		return far
	}
	best := -1
	for f, d := range distances(closing.To, false) {
		for b, e := range distances(closing.From, true) {
			_, over := g.Span(f.v)
			started, _ := g.Span(b.v)
			if over < started && p.meet(f.state, b.state, rw) && (best < 0 || d+e < best) {
				best = d + e
			}
		}
	}
	return best
}
