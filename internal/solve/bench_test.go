package solve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// zipf picks keys with a chance of 1/rank^s.
func zipf(rng *rand.Rand, keys int, s float64) func() int {
	if s == 0 {
		return func() int { return rng.IntN(keys) }
	}
	sum := make([]float64, keys)
	total := 0.0
	for i := range sum {
		total += math.Pow(float64(i+1), -s)
		sum[i] = total
	}
	return func() int { return sort.SearchFloat64s(sum, rng.Float64()*total) }
}

// blindHistory is a serial execution of n transactions of 8 operations each, half
// of them reads, all writes blind, by sessions in random turn. Without places the
// problem does not know the order of execution.
func blindHistory(n, sessions, keys int, skew float64, split, places bool) *Problem {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	p := &Problem{Nodes: n}
	begin, commit := func(t int) Node { return Node(t) }, func(t int) Node { return Node(t) }
	if split {
		p.Nodes = 2 * n
		begin, commit = func(t int) Node { return Node(2 * t) }, func(t int) Node { return Node(2*t + 1) }
	}
	pick := zipf(rng, keys, skew)
	last := make([]int, sessions)
	var lines, edges []Edge
	units := make([][]Unit, keys)
	for t := range n {
		s := rng.IntN(sessions)
		if last[s] > 0 {
			lines = append(lines, Edge{commit(last[s] - 1), begin(t)})
		}
		last[s] = t + 1
		if split {
			lines = append(lines, Edge{begin(t), commit(t)})
		}
		seen, wrote := map[int]bool{}, map[int]bool{}
		for range 8 {
			k := pick()
			if rng.IntN(2) == 0 {
				wrote[k] = true
				continue
			}
			if seen[k] || wrote[k] {
				continue
			}
			seen[k] = true
			us := units[k]
			if len(us) == 0 {
				continue // the initial version
			}
			u := &us[len(us)-1]
			u.Readers = append(u.Readers, begin(t))
			edges = append(edges, Edge{u.Out, begin(t)})
		}
		for k := range wrote {
			if seen[k] && len(units[k]) > 0 { // a read-modify-write continues the chain
				u := &units[k][len(units[k])-1]
				u.Out, u.Readers = commit(t), nil
			} else {
				units[k] = append(units[k], Unit{In: begin(t), InAnti: commit(t), Out: commit(t)})
			}
		}
	}
	p.Lines = len(lines)
	p.Edges = append(lines, edges...)
	for _, us := range units {
		p.Keys = append(p.Keys, int32(len(p.Units)))
		p.Units = append(p.Units, us...)
	}
	p.Place = make([]int64, p.Nodes)
	if places {
		for v := range p.Place {
			p.Place[v] = int64(v)
		}
	} else {
		shuffle(rng, p)
	}
	return p
}

// shuffle gives the nodes other numbers, which say nothing of the order.
func shuffle(rng *rand.Rand, p *Problem) {
	to := make([]Node, p.Nodes)
	for i, v := range rng.Perm(p.Nodes) {
		to[i] = Node(v)
	}
	for i := range p.Edges {
		p.Edges[i] = Edge{to[p.Edges[i].From], to[p.Edges[i].To]}
	}
	for i := range p.Units {
		u := &p.Units[i]
		u.In, u.InAnti, u.Out = to[u.In], to[u.InAnti], to[u.Out]
		for j := range u.Readers {
			u.Readers[j] = to[u.Readers[j]]
		}
	}
}

// BenchmarkBlind is the growth with the size of the history. Figures: pairs left by
// saturation, conflicts.
func BenchmarkBlind(b *testing.B) {
	for _, c := range []struct {
		n    int
		skew float64
	}{{10_000, 0}, {30_000, 0}, {100_000, 0}, {300_000, 0}, {1_000_000, 0}, {3_000, 0.99}, {100_000, 0.99}} {
		for _, split := range []bool{false, true} {
			for _, places := range []bool{false, true} {
				p := blindHistory(c.n, 25, 10_000, c.skew, split, places)
				b.Run(fmt.Sprintf("txns=%d/skew=%v/split=%v/times=%v", c.n, c.skew, split, places), func(b *testing.B) {
					var r Result
					for range b.N {
						r = Solve(p)
					}
					if r.Verdict != Satisfiable {
						b.Fatal(r.Verdict, r.Stats)
					}
					b.ReportMetric(float64(r.Stats.Open), "open")
					b.ReportMetric(float64(r.Stats.Conflicts), "conflicts")
					b.ReportMetric(float64(r.Stats.Rounds), "rounds")
					b.ReportMetric(float64(r.Stats.Tracks), "tracks")
					b.ReportMetric(float64(r.Stats.Derived), "derived")
					b.ReportMetric(float64(r.Stats.Components), "components")
				})
			}
		}
	}
}
