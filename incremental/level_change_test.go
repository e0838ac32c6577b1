package incremental

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTurn changes the views of random graphs. What was written out before comes back with
// the ranks that it has in memory; a view that stays has its order; a copied one, offered
// the edges among what lives, agrees with them.
func TestTurn(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		at := map[Vertex]Place{}
		place := func(v Vertex) Place {
			if p, ok := at[v]; ok {
				return p
			}
			return Place{NotBefore: math.MinInt64, NotAfter: math.MaxInt64}
		}
		some := func() (vs []View) {
			for _, i := range r.Perm(len(views))[:1+r.IntN(4)] {
				vs = append(vs, views[i])
			}
			return vs
		}
		now := some()
		g := New(now...)
		if seed%2 == 0 {
			g = NewFollowing(impliedAmong(now), now...)
		}
		out := map[Vertex][]byte{}
		next := Vertex(1)
		for range 4 {
			for range 60 {
				switch k := r.IntN(10); {
				case k < 4:
					begin := int64(next)*10 + r.Int64N(60)
					commit := begin + r.Int64N(40)
					at[next] = Place{begin, commit, commit, begin, commit + 5}
					g.AddVertex(next, at[next], nil)
					next++
				case k < 9 && next > 2:
					e := Edge{From: 1 + Vertex(r.IntN(int(next-1))), To: 1 + Vertex(r.IntN(int(next-1))), Labels: 1 + Labels(r.IntN(2))}
					if e.From != e.To && g.Known(e.From) && g.Known(e.To) {
						g.AddEdge(e)
					}
				case k == 9:
					for _, v := range slices.Clone(g.Retire(int64(next)*10 - 60)) {
						g.Free(v)
						out[v] = g.AppendRanks(nil, v)
					}
				}
			}
			g.Alone(^Views(0))
			x := LevelChange{Before: now, After: some()}
			orders := make([][]uint32, len(x.After))
			for i, v := range x.After {
				k := slices.Index(now, v)
				from := Origin{View: k}
				if k < 0 {
					from = Origin{r.IntN(len(now)), Frozen}
					if w := now[from.View]; v.Time == NoTime && w.Time == NoTime && v.Follows()&^w.Follows() == 0 {
						from.Start = Copied
					}
				} else {
					orders[i] = g.Order(k)
				}
				x.From = append(x.From, from)
			}
			for _, v := range slices.Clone(g.ChangeLevels(&x, math.MinInt64, place)) {
				g.Free(v)
				out[v] = g.AppendRanks(nil, v)
			}
			now = x.After
			for i, from := range x.From {
				if from.Start == Kept && !slices.Equal(orders[i], g.Order(i)) {
					t.Fatalf("seed %d: view %d stays, in another order", seed, i)
				}
				for v := Vertex(1); v < next && from.Start == Copied; v++ {
					if !g.Known(v) {
						continue
					}
					for id := g.FirstOut(v); id != 0; id = g.NextOut(id) {
						g.Offer(id, i)
					}
				}
			}
			if err := g.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for v := range next {
				o, ok := out[v]
				if !ok {
					continue
				}
				before := g.AppendRanks(nil, v)
				if !g.PutRanks(v, o, at[v].NotBefore, at[v].NotAfter) {
					t.Fatalf("seed %d: %d is not taken back", seed, v)
				}
				if after := g.AppendRanks(nil, v); !slices.Equal(before, after) {
					t.Fatalf("seed %d: %d comes back as\n%x, was\n%x", seed, v, after, before)
				}
			}
		}
	}
}

// TestLevelBeginsWithoutTheRemoved: a vertex that was freed while it lived leaves its place in the order until that is passed.
// A view that begins as a copy does not take it over.
func TestLevelBeginsWithoutTheRemoved(t *testing.T) {
	g := New(views[0])
	at := func(v Vertex) Place { return Place{Begin: int64(v) * 10, Commit: int64(v)*10 + 5, Settle: 100} }
	for v := Vertex(1); v <= 3; v++ {
		g.AddVertex(v, at(v), nil)
	}
	g.Free(2)
	g.ChangeLevels(&LevelChange{Before: views[:1], After: views[:2], From: []Origin{{View: 0}, {View: 0, Start: Copied}}}, math.MinInt64, at)
	if nodes, want := g.Order(1), []uint32{2, 3, 6, 7}; !slices.Equal(nodes, want) {
		t.Errorf("the new view has %v, want %v", nodes, want)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}
