package solve

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// crossing is a history of blind writes by many sessions.
type crossing struct {
	txns, sessions, keys int
	reads                float64 // share of the operations
	lag                  int     // how many commits a snapshot may miss; 0 is a serial execution
}

// crossingHistory is an execution under strong session snapshot isolation of transactions with
// 8 operations each on different keys. It is by construction: a snapshot is as old as lag
// says, but no older than the client's last transaction and the last write of what the
// transaction writes. Nodes have numbers that say nothing of the order.
func crossingHistory(c crossing, split bool, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 11))
	n := c.txns
	p := &Problem{Nodes: n}
	begin, commit := func(t int) Node { return Node(t) }, func(t int) Node { return Node(t) }
	if split {
		p.Nodes = 2 * n
		begin, commit = func(t int) Node { return Node(2 * t) }, func(t int) Node { return Node(2*t + 1) }
	}
	type installed struct{ txn, unit int }
	versions, units := make([][]installed, c.keys), make([][]Unit, c.keys)
	initial := make([][]Node, c.keys)
	last := make([]int, c.sessions)
	var rest []Edge
	for t := range n {
		s := rng.IntN(c.sessions)
		if split {
			p.Edges = append(p.Edges, Edge{begin(t), commit(t)})
		}
		if last[s] > 0 {
			p.Edges = append(p.Edges, Edge{commit(last[s] - 1), begin(t)})
		}
		from := max(last[s], t-rng.IntN(c.lag+1))
		last[s] = t + 1
		var read, wrote []int
		for _, k := range rng.Perm(c.keys)[:8] {
			if rng.Float64() < c.reads {
				read = append(read, k)
				continue
			}
			wrote = append(wrote, k)
			if vs := versions[k]; len(vs) > 0 {
				from = max(from, vs[len(vs)-1].txn+1)
			}
		}
		for _, k := range read {
			i := len(versions[k]) - 1
			for i >= 0 && versions[k][i].txn >= from {
				i--
			}
			if i < 0 {
				initial[k] = append(initial[k], begin(t))
				continue
			}
			u := &units[k][i]
			u.Readers = append(u.Readers, begin(t))
			rest = append(rest, Edge{u.Out, begin(t)})
		}
		for _, k := range wrote {
			versions[k] = append(versions[k], installed{t, len(units[k])})
			units[k] = append(units[k], Unit{In: begin(t), InAnti: commit(t), Out: commit(t)})
		}
	}
	p.Lines = len(p.Edges)
	p.Edges = append(p.Edges, rest...)
	for k, us := range units {
		for _, r := range initial[k] {
			for i := range us {
				p.Edges = append(p.Edges, Edge{r, us[i].InAnti})
			}
		}
		p.Keys = append(p.Keys, int32(len(p.Units)))
		p.Units = append(p.Units, us...)
	}
	shuffle(rng, p)
	return p
}

// cross makes it a history without an order: two more transactions both write two keys, and a
// third one sees one write of each. Their sessions have others before and behind them.
func cross(p *Problem, split bool) {
	in, out := make([]Node, 3), make([]Node, 3)
	for i := range in {
		in[i] = Node(p.Nodes)
		p.Nodes++
		if out[i] = in[i]; split {
			out[i] = Node(p.Nodes)
			p.Nodes++
			p.Edges = append(p.Edges, Edge{in[i], out[i]})
		}
		p.Edges = append(p.Edges, Edge{p.Units[3+i].Out, in[i]})
	}
	more := &Problem{}
	for k := range p.Keys {
		from, to := p.unitsOf(k)
		more.Keys = append(more.Keys, int32(len(more.Units)))
		more.Units = append(more.Units, p.Units[from:to]...)
		for w := range 2 {
			if k > 1 {
				continue
			}
			u := Unit{In: in[w], InAnti: out[w], Out: out[w]}
			if k == w {
				u.Readers = []Node{in[2]}
				p.Edges = append(p.Edges, Edge{u.Out, in[2]})
			}
			more.Units = append(more.Units, u)
		}
	}
	p.Keys, p.Units = more.Keys, more.Units
}

// TestManySessions: histories of blind writes by hundreds of sessions are decided as they were
// made, whether the search looks ahead from the beginning or when it is stuck.
func TestManySessions(t *testing.T) {
	ahead := 0
	for i := range 64 {
		rng := rand.New(rand.NewPCG(uint64(i), 12))
		n := 200 + 100*rng.IntN(5)
		c := crossing{txns: n, sessions: n / (1 + rng.IntN(3)), keys: n / (1 + rng.IntN(2)), reads: []float64{0.05, 0.1, 0.15, 0.2, 0.5}[rng.IntN(5)]}
		split, crossed := i%2 == 1, i%4 > 1
		if split && i%8 > 4 {
			c.lag = 1 + rng.IntN(n/4)
		}
		p := crossingHistory(c, split, uint64(i))
		want := Satisfiable
		if crossed {
			cross(p, split)
			want = Unsatisfiable
		}
		p.early = i%3 == 0
		r := Solve(p)
		if r.Verdict != want {
			t.Errorf("seed %d: %v, made to be %v: %+v split=%v %+v", i, r.Verdict, want, c, split, r.Stats)
		}
		if r.Stats.Ahead > 0 {
			ahead++
		}
	}
	if ahead < 10 {
		t.Errorf("only %d searches looked ahead", ahead)
	}
}

// BenchmarkManySessions is the cost of the histories that need foresight.
func BenchmarkManySessions(b *testing.B) {
	for _, c := range []crossing{
		{1000, 500, 1000, 0.2, 0}, {1000, 500, 1000, 0.2, 100}, {2000, 1000, 2000, 0.15, 0}, {2000, 2000, 2000, 0.15, 0},
		{5000, 2500, 5000, 0.1, 0}, {10_000, 5000, 10_000, 0.5, 0}, {10_000, 1000, 10_000, 0.05, 0},
	} {
		for _, split := range []bool{false, true} {
			if split && c.txns > 2000 || !split && c.lag > 0 {
				continue
			}
			p := crossingHistory(c, split, 1)
			b.Run(fmt.Sprintf("txns=%d/sessions=%d/keys=%d/reads=%v/lag=%d/split=%v", c.txns, c.sessions, c.keys, c.reads, c.lag, split), func(b *testing.B) {
				var r Result
				for range b.N {
					r = Solve(p)
				}
				if r.Verdict != Satisfiable {
					b.Fatal(r.Verdict, r.Stats)
				}
				b.ReportMetric(float64(r.Stats.Open), "open")
				b.ReportMetric(float64(r.Stats.Conflicts), "conflicts")
				b.ReportMetric(float64(r.Stats.Steps), "steps")
			})
		}
	}
}
