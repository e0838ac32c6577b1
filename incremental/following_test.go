package incremental

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestFollowing: views that follow others take and refuse what they would alone, or
// refuse it as behind the frontier, with labels that only some follow, chains, real time,
// and vertices that are freed and whose ranks come back.
func TestFollowing(t *testing.T) {
	const chain, forced Labels = 4, 8
	views := []View{
		{Dep: dep | chain | forced},                                   // as causal
		{Dep: dep | chain},                                            // as read committed
		{Split: true, Dep: dep, Chain: chain, Anti: anti},             // as prefix
		{Split: true, Dep: dep | chain, Anti: anti},                   // as snapshot isolation
		{Dep: dep | chain, Anti: anti},                                // as serializable
		{Split: true, Dep: dep | chain, Anti: anti, Time: FromBegin},  // as strong snapshot isolation
		{Split: true, Dep: dep | chain, Anti: anti, Time: FromCommit}, // as generalized snapshot isolation
		{Dep: dep | chain, Anti: anti, Time: FromBegin},               // as strict serializability
		{Dep: dep | chain, Time: FromBegin},                           // as strong read committed
	}
	implied := []Views{0b11, 0b10, 0b111, 0b1111, 0b11111, 0b101101111, 0b1001111, 0b111111111, 0b100000010}
	orders := map[int]int{}
	for seed := range uint64(testrun.Size(150, 600)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		g := NewFollowing(implied, views...)
		each := make([]*naive, len(views))
		for i, v := range views {
			each[i] = newNaive(v)
		}
		var known []Vertex
		now, next := int64(0), Vertex(1)
		inversions := 2 + rng.IntN(12)
		for step := range 150 {
			switch {
			case len(known) < 3 || rng.IntN(3) == 0:
				at := int64(step*10) + rng.Int64N(60)
				begin := at - rng.Int64N(30)
				s := span{begin, at + 5}
				switch rng.IntN(10) {
				case 0:
					s.until = math.MaxInt64
				case 1:
					s = always
				}
				g.AddVertex(next, Place{begin, at, at, s.from, s.until}, nil)
				for _, o := range each {
					o.spans[fmt.Sprint(next)] = s
				}
				known = append(known, next)
				next++
			case rng.IntN(10) == 0:
				now += rng.Int64N(120)
				for _, v := range slices.Clone(g.Retire(now)) {
					ranks, s := g.AppendRanks(nil, v), each[0].spans[fmt.Sprint(v)]
					g.Free(v)
					if rng.IntN(2) == 0 && !g.PutRanks(v, ranks, s.from, s.until) {
						t.Fatalf("seed %d: the ranks of %d do not come back", seed, v)
					}
					known = slices.DeleteFunc(known, func(k Vertex) bool { return k == v })
				}
			default:
				a, b := rng.IntN(len(known)), rng.IntN(len(known))
				if a > b && rng.IntN(inversions) != 0 {
					a, b = b, a
				}
				e := Edge{From: known[a], To: known[b], Labels: []Labels{dep, anti, chain, forced}[rng.IntN(4)]}
				if e.From == e.To {
					continue
				}
				_, ref := g.AddEdge(e)
				for i, o := range each {
					if o.Follows()&e.Labels != 0 {
						followed(t, seed, i, o, &e, ref)
					}
				}
			}
			if err := g.Check(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			orders[g.Orders()]++
		}
	}
	t.Log("steps by orders:", orders)
	if orders[1] < 1000 || orders[len(views)] < 1000 {
		t.Errorf("steps by orders %v: too few", orders)
	}
}

// followed compares what the i-th view said of e with a plain search.
func followed(t *testing.T, seed uint64, i int, o *naive, e *Edge, ref Refusal) {
	t.Helper()
	name := func(n uint32) string {
		if !o.Split {
			return fmt.Sprint(n)
		}
		return [2]string{"B", "C"}[n&1] + fmt.Sprint(n/2)
	}
	x, y, _ := o.join(e.From, e.To, e.Labels)
	from, to, bit := name(x), name(y), Views(1)<<i
	cycle := o.reaches(to, from, map[string]bool{})
	refused := (ref.Cycle|ref.Behind|ref.Past)&bit != 0
	switch {
	case (ref.Cycle|ref.Past)&bit != 0 && !cycle:
		t.Fatalf("seed %d, view %d refused %v, which closes no cycle", seed, i, e)
	case !refused && cycle:
		t.Fatalf("seed %d, view %d took %v, which closes a cycle", seed, i, e)
	case !refused:
		o.add(from, to)
	}
}
