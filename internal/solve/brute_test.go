package solve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// random makes a problem with one node a transaction, or with two (split), in
// which units name nodes as versions of a history would; with reads of values that
// several wrote, if repeats.
func random(rng *rand.Rand, split, repeats bool) *Problem {
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
	keys := 1 + rng.IntN(3)
	if repeats {
		keys = min(keys, 2)
	}
	for range keys {
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
		// Units that end with a value which several wrote have no readers that are known.
		shared := make([]bool, len(p.Units)-first)
		for i := range shared {
			shared[i] = repeats && rng.IntN(3) > 0
		}
		for _, t := range ts {
			if u := first + rng.IntN(len(p.Units)-first); rng.IntN(2) == 0 && !shared[u-first] {
				p.Units[u].Readers = append(p.Units[u].Readers, begin(t))
				p.Edges = append(p.Edges, Edge{p.Units[u].Out, begin(t)})
			} else if repeats && rng.IntN(3) > 0 {
				p.read(shared, first, begin(t), -1)
			}
		}
		for own := first; repeats && own < len(shared)+first; own++ { // who begins a unit may have read before
			if p.Units[own].In == p.Units[own].InAnti || split {
				if rng.IntN(3) == 0 {
					p.read(shared, first, p.Units[own].In, int32(own))
				}
			}
		}
	}
	return p
}

// read adds a read of the node by one of the shared units but its own.
func (p *Problem) read(shared []bool, first int, node Node, own int32) {
	r := Read{Node: node, Own: own}
	for i := range shared {
		if shared[i] && int32(first+i) != own {
			r.Candidates = append(r.Candidates, int32(first+i))
		}
	}
	if len(r.Candidates) > 0 && len(p.Reads) < 4 { // all ways are tried
		p.Reads = append(p.Reads, r)
	}
}

// brute tries every order of the units of every key, with every writer of each read.
func brute(p *Problem) bool {
	var edges [][2]Node
	for _, e := range p.Edges {
		edges = append(edges, [2]Node{e.From, e.To})
	}
	all := make([]int32, len(p.Reads))
	for i := range all {
		all[i] = int32(i)
	}
	after := make([][]int32, len(p.Units))
	var key func(k int) bool
	key = func(k int) bool {
		if k == p.numKeys() {
			return someWriters(p, all, edges, func(u int32) []int32 { return after[u] })
		}
		from, to := p.unitsOf(k)
		var us []int32
		for u := from; u < to; u++ {
			us = append(us, u)
		}
		return permute(us, 0, func() bool {
			was := len(edges)
			for i := range us {
				after[us[i]] = append([]int32(nil), us[i+1:]...)
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

const brutes = 40_000

// TestAgainstBruteForce: the verdict is that of trying all orders, an order that is
// given fits, and a core cannot be ordered while nothing of it can be spared.
func TestAgainstBruteForce(t *testing.T) {
	counts := map[string]int{}
	for i := range testrun.Count(brutes) {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		split, repeats := i%2 == 1, i%4 > 1
		p := random(rng, split, repeats)
		p.early = i%8 > 3
		got := Solve(p)
		want := Satisfiable
		if !brute(p) {
			want = Unsatisfiable
		}
		counts[fmt.Sprint(split, " ", repeats, " ", want)]++
		if got.Verdict != want {
			t.Fatalf("seed %d: %v, want %v\n%+v", i, got.Verdict, want, p)
		}
		if got.Stats.Conflicts > 0 {
			counts["conflicts"]++
		}
		if got.Stats.OpenReads > 0 {
			counts["open reads"]++
		}
		if len(got.Core.Reads) > 0 {
			counts["cores with reads"]++
		}
		if want == Unsatisfiable {
			checkCore(t, i, p, &got.Core)
		}
	}
	t.Log(counts)
	for _, want := range []string{
		"false false satisfiable", "false false unsatisfiable", "true false satisfiable", "true false unsatisfiable",
		"false true satisfiable", "false true unsatisfiable", "true true satisfiable", "true true unsatisfiable",
		"conflicts", "open reads", "cores with reads",
	} {
		if counts[want] < testrun.Least(100) {
			t.Errorf("only %d problems: %s", counts[want], want)
		}
	}
}

// checkCore tries both sides of every pair of the core, with its edges alone.
func checkCore(t *testing.T, seed int, p *Problem, c *Core) {
	t.Helper()
	if orderable(p, c) {
		t.Fatalf("seed %d: the core can be ordered: %+v\n%+v", seed, c, p)
	}
	if !c.Minimal {
		t.Fatalf("seed %d: a small core was not shrunk", seed)
	}
	for i := range c.Reads {
		if x := (Core{Edges: c.Edges, Pairs: c.Pairs, Reads: without(c.Reads, i)}); !orderable(p, &x) {
			t.Fatalf("seed %d: read %v can be spared: %+v", seed, c.Reads[i], c)
		}
	}
	for i := range c.Pairs {
		if x := (Core{Edges: c.Edges, Pairs: without(c.Pairs, i), Reads: c.Reads}); !orderable(p, &x) {
			t.Fatalf("seed %d: pair %v can be spared: %+v", seed, c.Pairs[i], c)
		}
	}
	for i := range c.Edges {
		if x := (Core{Edges: without(c.Edges, i), Pairs: c.Pairs, Reads: c.Reads}); !orderable(p, &x) {
			t.Fatalf("seed %d: edge %v can be spared: %+v", seed, c.Edges[i], c)
		}
	}
}

func without[T any](s []T, i int) []T { return append(append([]T(nil), s[:i]...), s[i+1:]...) }

// orderable tries all sides of the core's pairs and all candidates of its reads.
func orderable(p *Problem, c *Core) bool {
	for choice := range 1 << len(c.Pairs) {
		var es [][2]Node
		for _, e := range c.Edges {
			es = append(es, [2]Node{e.From, e.To})
		}
		before := func(i int) (first, then int32) {
			if choice>>i&1 == 1 {
				return c.Pairs[i].B, c.Pairs[i].A
			}
			return c.Pairs[i].A, c.Pairs[i].B
		}
		for i := range c.Pairs {
			first, then := before(i)
			a, b := &p.Units[first], &p.Units[then]
			es = append(es, [2]Node{a.Out, b.In})
			for _, r := range a.Readers {
				es = append(es, [2]Node{r, b.InAnti})
			}
		}
		behind := func(u int32) (us []int32) {
			for i := range c.Pairs {
				if first, then := before(i); first == u {
					us = append(us, then)
				}
			}
			return us
		}
		if someWriters(p, c.Reads, es, behind) {
			return true
		}
	}
	return false
}

// someWriters tries all candidates of the reads; behind are the units behind one.
func someWriters(p *Problem, reads []int32, es [][2]Node, behind func(u int32) []int32) bool {
	if len(reads) == 0 {
		return acyclic(p.Nodes, es)
	}
	r := &p.Reads[reads[0]]
	for _, c := range r.Candidates {
		more := append(es[:len(es):len(es)], [2]Node{p.Units[c].Out, r.Node})
		for _, b := range behind(c) {
			if b != r.Own {
				more = append(more, [2]Node{r.Node, p.Units[b].InAnti})
			}
		}
		if someWriters(p, reads[1:], more, behind) {
			return true
		}
	}
	return false
}

// TestSearchAlone leaves all pairs to the search.
func TestSearchAlone(t *testing.T) {
	refuted := 0
	for i := range testrun.Count(brutes / 2) {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		p := random(rng, i%2 == 1, i%4 > 1)
		p.early = i%8 > 3
		var pairs []Pair
		for k := range p.numKeys() {
			from, to := p.unitsOf(k)
			for a := from; a < to; a++ {
				for b := a + 1; b < to; b++ {
					pairs = append(pairs, Pair{a, b})
				}
			}
		}
		reads := make([]int32, len(p.Reads))
		for r := range reads {
			reads[r] = int32(r)
		}
		used, ok := p.refute(&Core{Edges: p.Edges, Pairs: pairs, Reads: reads})
		if ok == brute(p) {
			t.Fatalf("seed %d: refuted is %v\n%+v", i, ok, p)
		}
		if ok {
			refuted++
			if orderable(p, &used) {
				t.Fatalf("seed %d: what the refutation rests on can be ordered: %+v\n%+v", i, used, p)
			}
		}
	}
	if refuted < testrun.Least(5000) {
		t.Errorf("only %d refuted", refuted)
	}
}
