package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

func edgeText(g *Graph, e Edge) string {
	label := e.Type.String()
	if e.Key != "" {
		label += "(" + e.Key + ")"
	}
	return fmt.Sprintf("%s -%s-> %s", g.History[e.From].ID, label, g.History[e.To].ID)
}

func TestDependencies(t *testing.T) {
	for _, s := range readBlocks(t, "edges.txt", "\nbecause ") {
		t.Run(s.name, func(t *testing.T) {
			h, err := workload.Parse(s.text)
			if err != nil {
				t.Fatal(err)
			}
			g := Dependencies(h)
			var got []string
			for _, e := range g.Edges {
				got = append(got, edgeText(g, e))
			}
			want := strings.Split(s.want, "\n")[1:]
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestAcyclicAgreesWithComponents compares the depth-first search and the
// components on random graphs: acyclic means that every component is one node.
func TestAcyclicAgreesWithComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	cyclic := 0
	for range testrun.Count(5000) {
		n := 1 + rng.IntN(8)
		var edges []Edge
		var pairs [][2]int
		for range rng.IntN(10) {
			a, b := rng.IntN(n), rng.IntN(n)
			if a != b {
				edges = append(edges, Edge{From: a, To: b})
				pairs = append(pairs, [2]int{a, b})
			}
		}
		c := components(n, edges)
		single := len(slices.Compact(slices.Sorted(slices.Values(c)))) == n
		if acyclic(n, pairs) != single {
			t.Fatalf("acyclic is %v on %v, components are %v", !single, pairs, c)
		}
		if !single {
			cyclic++
		}
	}
	if cyclic < testrun.Count(1000) || cyclic > testrun.Count(4000) {
		t.Errorf("%d of 5000 graphs have a cycle", cyclic)
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct{ types, want string }{
		{"ww ww", "G0"},
		{"ww wr", "G1c"},
		{"wr wr", "G1c"},
		{"rw", "G-single-item"},
		{"rw wr ww", "G-single-item"},
		{"rw wr rw wr", "G-nonadjacent-item"},
		{"rw rw", "G2-item"},
		{"rw wr rw", "G2-item"}, // the last and the first are adjacent
		{"ww process", "G0-process"},
		{"wr process ww", "G1c-process"},
		{"rw process", "G-single-item-process"},
		{"rw process rw wr", "G-nonadjacent-item-process"},
		{"process rw rw", "G2-item-process"},
	} {
		types := map[string]EdgeType{"ww": WW, "wr": WR, "rw": RW, "process": SO}
		var cycle []Edge
		for _, name := range strings.Fields(c.types) {
			cycle = append(cycle, Edge{Type: types[name]})
		}
		if got := classify(cycle); got != c.want {
			t.Errorf("%s is %s, want %s", c.types, got, c.want)
		}
	}
}

// TestCyclesAreCycles checks on random histories that what is reported as a
// cycle is one, of known edges, and that its name is implied by the verdicts.
func TestCyclesAreCycles(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	checked := 0
	for range testrun.Count(5000) {
		v := Check(Random(rng, Wide()))
		cyclic := false
		for _, a := range v.Anomalies {
			for n, e := range a.Cycle {
				cyclic, checked = true, checked+1
				next := a.Cycle[(n+1)%len(a.Cycle)]
				if e.To != next.From || !v.Graph.known[e] || a.Txns[n] != v.Graph.History[e.From].ID {
					t.Fatalf("%v: %s is not an edge of the cycle in\n%s", a, edgeText(v.Graph, e), v.Graph.History.Text())
				}
			}
		}
		if cyclic == v.Graph.holds(SessionSerializable) {
			t.Fatalf("cycle reported %v, acyclic %v in\n%s", cyclic, !cyclic, v.Graph.History.Text())
		}
	}
	if checked < testrun.Least(2000) {
		t.Errorf("only %d edges of cycles were checked", checked)
	}
}
