package solve

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// formula is a random one of 3-SAT: a literal is 2*variable, or that plus 1 for not.
func formula(rng *rand.Rand, vars, clauses int) [][3]int {
	f := make([][3]int, clauses)
	for c := range f {
		vs := rng.Perm(vars)
		for i := range f[c] {
			f[c][i] = 2*vs[i] + rng.IntN(2)
		}
	}
	return f
}

// satisfiable decides a formula by trying values, with unit propagation (Davis,
// Logemann and Loveland, 1962). It knows nothing of orders.
func satisfiable(f [][3]int, value []int8) bool {
	value = append([]int8(nil), value...) // 0 open, 1 true, 2 false
	is := func(lit int) int8 {
		if v := value[lit/2]; v == 0 || lit&1 == 0 {
			return v
		}
		return 3 - value[lit/2]
	}
	branch := -1
	for again := true; again; {
		again, branch = false, -1
		for _, c := range f {
			open, last := 0, 0
			holds := false
			for _, lit := range c {
				switch is(lit) {
				case 1:
					holds = true
				case 0:
					open, last = open+1, lit
				}
			}
			switch {
			case holds:
			case open == 0:
				return false
			case open == 1:
				value[last/2], again = int8(1+last&1), true
			default:
				branch = last / 2
			}
		}
	}
	if branch < 0 {
		return true
	}
	for v := int8(1); v <= 2; v++ {
		value[branch] = v
		if satisfiable(f, value) {
			return true
		}
	}
	return false
}

// reduction is a problem that can be ordered if and only if the formula can be
// satisfied. Each place of a variable in a clause is a key of two units, true if the
// first comes first. Of a clause the three sides that falsify its literals close a
// cycle: each leads from a reader of the unit that comes first to the one that comes
// second, which comes before the reader of the next place. Four more readers keep two
// places of one variable alike. Every cycle is within one clause or one such pair:
// who comes first has no predecessor, and from who comes second a way goes on only to
// readers of its own clause or pair.
func reduction(f [][3]int) *Problem {
	p := &Problem{}
	node := func() Node { p.Nodes++; return Node(p.Nodes - 1) }
	in := func(u int) Node { return p.Units[u].In }
	reader := func(u int) Node {
		r := node()
		p.Units[u].Readers = append(p.Units[u].Readers, r)
		p.Edges = append(p.Edges, Edge{in(u), r})
		return r
	}
	earlier := map[int]int{} // by variable: the first unit of its latest place
	for _, c := range f {
		var first, second [3]int // units, where the literal is false
		for i, lit := range c {
			u := len(p.Units)
			p.Keys = append(p.Keys, int32(u))
			for range 2 {
				n := node()
				p.Units = append(p.Units, Unit{In: n, InAnti: n, Out: n})
			}
			first[i], second[i] = u+1-lit&1, u+lit&1
			if e, ok := earlier[lit/2]; ok {
				for side := range 2 { // e+side before its twin and this one's the other way round
					r, s := reader(e+side), reader(u+1-side)
					p.Edges = append(p.Edges, Edge{in(e + 1 - side), s}, Edge{in(u + side), r})
				}
			}
			earlier[lit/2] = u
		}
		for i := range c {
			p.Edges = append(p.Edges, Edge{in(second[(i+2)%3]), reader(first[i])})
		}
	}
	return p
}

// TestReduction: what is decided of a formula's reduction is what a search for values
// says of the formula; what is not decided is given up within the budget.
func TestReduction(t *testing.T) {
	const budget = 3_000_000
	counts := map[string]int{}
	for i := range 72 {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		vars := 4 + 2*(i%16)
		f := formula(rng, vars, vars*[]int{40, 43, 47}[i%3]/10)
		p := reduction(f)
		p.Budget = budget
		r := Solve(p)
		want := Unsatisfiable
		if satisfiable(f, make([]int8, vars)) {
			want = Satisfiable
		}
		counts[fmt.Sprint(r.Verdict)]++
		if r.Verdict != Unknown && r.Verdict != want {
			t.Fatalf("seed %d, %d variables: %v, the formula is %v", i, vars, r.Verdict, want)
		}
		if r.Stats.Conflicts > 0 {
			counts["with conflicts"]++
		}
		withinBudget(t, i, p, &r)
	}
	t.Log(counts)
	for _, want := range []string{"satisfiable", "unsatisfiable", "with conflicts"} {
		if counts[want] < 20 {
			t.Errorf("only %d are %s", counts[want], want)
		}
	}
}

// withinBudget: a component is given up soon after its budget is spent.
func withinBudget(t *testing.T, seed int, p *Problem, r *Result) {
	t.Helper()
	if most := int64(max(1, r.Stats.Components)) * p.Budget * 5 / 4; r.Stats.Steps > most {
		t.Errorf("seed %d: %d steps in %d components, of %d each", seed, r.Stats.Steps, r.Stats.Components, p.Budget)
	}
	if r.Verdict == Unknown && len(r.Component) == 0 {
		t.Errorf("seed %d: given up, and nothing is named", seed)
	}
}

// crowd are n transactions of which each writes most of a few keys and reads next to
// nothing, at one time: two versions in three have no reader. Executed one after the
// other they make sense; crossed, three further ones do not: two write the same two keys,
// and the third saw one of each (DESIGN's hard case 18).
func crowd(rng *rand.Rand, n, keys int, reads float64, crossed bool) *Problem {
	p := &Problem{Nodes: n}
	units := make([][]Unit, keys)
	for t := range n {
		for k := range units {
			if rng.Float64() < reads && len(units[k]) > 0 {
				u := &units[k][len(units[k])-1]
				u.Readers = append(u.Readers, Node(t))
				p.Edges = append(p.Edges, Edge{u.Out, Node(t)})
			} else if rng.IntN(4) > 0 {
				units[k] = append(units[k], Unit{In: Node(t), InAnti: Node(t), Out: Node(t)})
			}
		}
	}
	if crossed {
		for w := range 2 {
			for k := range 2 {
				u := Unit{In: Node(n + w), InAnti: Node(n + w), Out: Node(n + w)}
				if k == w {
					u.Readers = []Node{Node(n + 2)}
					p.Edges = append(p.Edges, Edge{u.Out, Node(n + 2)})
				}
				units[k] = append(units[k], u)
			}
		}
		p.Nodes += 3
	}
	for _, us := range units {
		p.Keys = append(p.Keys, int32(len(p.Units)))
		p.Units = append(p.Units, us...)
	}
	shuffle(rng, p)
	return p
}

// TestCrowd: hundreds of versions of few keys with hardly a read, by transactions
// without sessions, are decided as they were made or given up, in bounded memory.
func TestCrowd(t *testing.T) {
	counts := map[string]int{}
	for i := range 48 {
		rng := rand.New(rand.NewPCG(uint64(i), 6))
		crossed := i%2 == 1
		p := crowd(rng, 50*(1+i%8), 2+i%3, []float64{0.02, 0.1, 0.3}[i%3], crossed)
		p.Budget = 3_000_000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := Solve(p)
		runtime.ReadMemStats(&after)
		want := Satisfiable
		if crossed {
			want = Unsatisfiable
		}
		counts[fmt.Sprint(r.Verdict)]++
		if r.Verdict != Unknown && r.Verdict != want {
			t.Errorf("seed %d: %v, made to be %v", i, r.Verdict, want)
		}
		withinBudget(t, i, p, &r)
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
			t.Errorf("seed %d: %d MiB in all", i, used>>20)
		}
	}
	t.Log(counts)
}

// TestCapped: what has too many tracks for the clocks, or leaves too many pairs, is given
// up before the search, without the memory that it would take.
func TestCapped(t *testing.T) {
	alone := func(n, readers int) *Problem { // versions of one key, nothing known of any
		p := &Problem{Keys: []int32{0}}
		for range n {
			u := Unit{In: Node(p.Nodes), InAnti: Node(p.Nodes), Out: Node(p.Nodes)}
			p.Nodes++
			for range readers {
				u.Readers = append(u.Readers, Node(p.Nodes))
				p.Edges = append(p.Edges, Edge{u.Out, Node(p.Nodes)})
				p.Nodes++
			}
			p.Units = append(p.Units, u)
		}
		return p
	}
	for _, c := range []struct {
		name    string
		p       *Problem
		most    uint64 // bytes
		verdict Verdict
	}{
		{"tracks", alone(11_000, 0), 16 << 20, Unknown},
		{"pairs", alone(4200, 1), 512 << 20, Unknown},
		{"neither, and nobody read a version", alone(2000, 0), 64 << 20, Satisfiable},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := Solve(c.p)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; r.Verdict != c.verdict || r.Stats.Steps > 0 || used > c.most {
			t.Errorf("%s: %v after %d steps, %d MiB in all", c.name, r.Verdict, r.Stats.Steps, used>>20)
		}
	}
}
