package solve

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// random makes a problem with one node a transaction, or with two (split), in
// which units name nodes as versions of a history would.
func random(rng *rand.Rand, split bool) *Problem {
	n := 3 + rng.IntN(6)
	p := &Problem{Nodes: n}
	begin := func(t int) Node { return Node(t) }
	commit := begin
	if split {
		p.Nodes = 2 * n
		begin = func(t int) Node { return Node(2 * t) }
		commit = func(t int) Node { return Node(2*t + 1) }
		for t := range n {
			p.Edges = append(p.Edges, Edge{begin(t), commit(t)})
		}
		p.Lines = n
	}
	perm := rng.Perm(n)
	dep := func(i, j int) { p.Edges = append(p.Edges, Edge{commit(i), begin(j)}) }
	for range rng.IntN(n) {
		i, j := rng.IntN(n), rng.IntN(n)
		if i < j || rng.IntN(20) == 0 && i != j {
			dep(perm[i], perm[j])
		}
	}
	for range 1 + rng.IntN(3) {
		p.Keys = append(p.Keys, int32(len(p.Units)))
		ts := rng.Perm(n)
		first := len(p.Units)
		for range 1 + rng.IntN(4) {
			if len(ts) == 0 {
				break
			}
			w := ts[0]
			ts = ts[1:]
			u := Unit{In: begin(w), InAnti: commit(w), Out: commit(w)}
			if rng.IntN(4) == 0 && len(ts) > 0 { // a chain of two
				dep(w, ts[0])
				u.Out = commit(ts[0])
				ts = ts[1:]
			}
			p.Units = append(p.Units, u)
		}
		for _, t := range ts {
			if u := &p.Units[first+rng.IntN(len(p.Units)-first)]; rng.IntN(2) == 0 {
				u.Readers = append(u.Readers, begin(t))
				p.Edges = append(p.Edges, Edge{u.Out, begin(t)})
			}
		}
	}
	return p
}

// brute tries every order of the units of every key.
func brute(p *Problem) bool {
	var edges [][2]Node
	for _, e := range p.Edges {
		edges = append(edges, [2]Node{e.From, e.To})
	}
	var key func(k int) bool
	key = func(k int) bool {
		if k == p.numKeys() {
			return acyclic(p.Nodes, edges)
		}
		from, to := p.unitsOf(k)
		var us []int32
		for u := from; u < to; u++ {
			us = append(us, u)
		}
		return permute(us, 0, func() bool {
			was := len(edges)
			for i := range us {
				for _, later := range us[i+1:] {
					a, b := &p.Units[us[i]], &p.Units[later]
					edges = append(edges, [2]Node{a.Out, b.In})
					for _, r := range a.Readers {
						edges = append(edges, [2]Node{r, b.InAnti})
					}
				}
			}
			found := key(k + 1)
			edges = edges[:was]
			return found
		})
	}
	return key(0)
}

func permute(us []int32, i int, fn func() bool) bool {
	if i == len(us) {
		return fn()
	}
	for j := i; j < len(us); j++ {
		us[i], us[j] = us[j], us[i]
		if permute(us, i+1, fn) {
			return true
		}
		us[i], us[j] = us[j], us[i]
	}
	return false
}

func acyclic(n int, edges [][2]Node) bool {
	missing := make([]int, n)
	for _, e := range edges {
		missing[e[1]]++
	}
	done := make([]bool, n)
	for left := n; left > 0; {
		progress := false
		for v := range n {
			if done[v] || missing[v] > 0 {
				continue
			}
			done[v], progress = true, true
			left--
			for _, e := range edges {
				if e[0] == Node(v) {
					missing[e[1]]--
				}
			}
		}
		if !progress {
			return false
		}
	}
	return true
}

// TestAgainstBruteForce: the verdict is that of trying all orders, an order that is
// given fits, and a core cannot be ordered while nothing of it can be spared.
func TestAgainstBruteForce(t *testing.T) {
	counts := map[string]int{}
	for i := range 40_000 {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		split := i%2 == 1
		p := random(rng, split)
		got := Solve(p)
		want := Satisfiable
		if !brute(p) {
			want = Unsatisfiable
		}
		counts[fmt.Sprint(split, " ", want)]++
		if got.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%+v", i, got.Verdict, want, p)
		}
		if got.Stats.Conflicts > 0 {
			counts["conflicts"]++
		}
		if want == Unsatisfiable {
			checkCore(t, i, p, &got.Core)
		}
	}
	t.Log(counts)
	for _, want := range []string{"false satisfiable", "false unsatisfiable", "true satisfiable", "true unsatisfiable", "conflicts"} {
		if counts[want] < 100 {
			t.Errorf("only %d problems: %s", counts[want], want)
		}
	}
}

// checkCore tries both sides of every pair of the core, with its edges alone.
func checkCore(t *testing.T, seed int, p *Problem, c *Core) {
	t.Helper()
	if orderable(p, c.Edges, c.Pairs) {
		t.Fatalf("seed %d: the core can be ordered: %+v\n%+v", seed, c, p)
	}
	if !c.Minimal {
		t.Fatalf("seed %d: a small core was not shrunk", seed)
	}
	for i := range c.Pairs {
		if !orderable(p, c.Edges, without(c.Pairs, i)) {
			t.Fatalf("seed %d: pair %v can be spared: %+v", seed, c.Pairs[i], c)
		}
	}
	for i := range c.Edges {
		if !orderable(p, without(c.Edges, i), c.Pairs) {
			t.Fatalf("seed %d: edge %v can be spared: %+v", seed, c.Edges[i], c)
		}
	}
}

func without[T any](s []T, i int) []T { return append(append([]T(nil), s[:i]...), s[i+1:]...) }

func orderable(p *Problem, edges []Edge, pairs []Pair) bool {
	for choice := range 1 << len(pairs) {
		var es [][2]Node
		for _, e := range edges {
			es = append(es, [2]Node{e.From, e.To})
		}
		for i, x := range pairs {
			a, b := &p.Units[x.A], &p.Units[x.B]
			if choice>>i&1 == 1 {
				a, b = b, a
			}
			es = append(es, [2]Node{a.Out, b.In})
			for _, r := range a.Readers {
				es = append(es, [2]Node{r, b.InAnti})
			}
		}
		if acyclic(p.Nodes, es) {
			return true
		}
	}
	return false
}

// TestSearchAlone leaves all pairs to the search.
func TestSearchAlone(t *testing.T) {
	refuted := 0
	for i := range 20_000 {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		p := random(rng, i%2 == 1)
		var pairs []Pair
		for k := range p.numKeys() {
			from, to := p.unitsOf(k)
			for a := from; a < to; a++ {
				for b := a + 1; b < to; b++ {
					pairs = append(pairs, Pair{a, b})
				}
			}
		}
		used, edges, ok := p.refute(p.Edges, pairs)
		if ok == brute(p) {
			t.Fatalf("seed %d: refuted is %v\n%+v", i, ok, p)
		}
		if ok {
			refuted++
			if orderable(p, edges, used) {
				t.Fatalf("seed %d: what the refutation rests on can be ordered: %v %v\n%+v", i, edges, used, p)
			}
		}
	}
	if refuted < 5000 {
		t.Errorf("only %d refuted", refuted)
	}
}
