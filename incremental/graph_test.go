package incremental

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/testrun"
)

const (
	dep  Labels = 1
	anti Labels = 2
)

var views = []View{
	{Dep: dep, Anti: anti},
	{Split: true, Dep: dep, Anti: anti},
	{Dep: dep},
	{Split: true, Chain: dep, Anti: anti},
	{Dep: dep, Anti: anti, Time: FromBegin},
	{Split: true, Dep: dep, Anti: anti, Time: FromBegin},
	{Split: true, Dep: dep, Anti: anti, Time: FromCommit},
}

// impliedAmong says of each of these views which of them hold where it does.
func impliedAmong(vs []View) []Views {
	byView := map[View]Views{
		views[0]: 1<<0 | 1<<1 | 1<<2 | 1<<3,
		views[1]: 1<<1 | 1<<2 | 1<<3,
		views[2]: 1 << 2,
		views[3]: 1<<2 | 1<<3,
		views[4]: 1<<7 - 1,
		views[5]: 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6,
		views[6]: 1<<1 | 1<<2 | 1<<3 | 1<<6,
	}
	implied := make([]Views, len(vs))
	for i, v := range vs {
		for j, w := range vs {
			if byView[v]&(1<<slices.Index(views, w)) != 0 {
				implied[i] |= 1 << j
			}
		}
	}
	return implied
}

// naive is the oracle: the accepted edges of one view as a map, searched anew
// for every question.
type naive struct {
	View
	next  map[string]map[string]bool
	spans map[string]span // by vertex
}

func newNaive(v View) *naive { return &naive{v, map[string]map[string]bool{}, map[string]span{}} }

func (n *naive) nodes(e Edge) (from, to string, ok bool) {
	switch {
	case e.Labels&n.Follows() == 0:
		return "", "", false
	case !n.Split:
		return fmt.Sprint(e.From), fmt.Sprint(e.To), true
	case e.Labels&n.Dep != 0:
		return fmt.Sprint("C", e.From), fmt.Sprint("B", e.To), true
	case e.Labels&n.Chain != 0:
		return fmt.Sprint("C", e.From), fmt.Sprint("C", e.To), true
	}
	return fmt.Sprint("B", e.From), fmt.Sprint("C", e.To), true
}

func (n *naive) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	if n.Split && from[0] == 'B' && n.reaches("C"+from[1:], to, seen) {
		return true
	}
	for m := range n.next[from] {
		if n.reaches(m, to, seen) {
			return true
		}
	}
	if n.Time == NoTime || n.Split && from[0] == 'B' {
		return false
	}
	for v, s := range n.spans { // what began when from was over
		if n.spans[strings.TrimPrefix(from, "C")].until < s.from && n.reaches(n.behind(v), to, seen) {
			return true
		}
	}
	return false
}

// behind is the node of v to which steps in time lead.
func (n *naive) behind(v string) string {
	switch {
	case !n.Split:
		return v
	case n.Time == FromCommit:
		return "C" + v
	}
	return "B" + v
}

func (n *naive) add(from, to string) {
	if n.next[from] == nil {
		n.next[from] = map[string]bool{}
	}
	n.next[from][to] = true
}

// closes says whether the edges of path, with arcs from B to C and at most one
// step in time, lead from the head of e back to its tail.
func (n *naive) closes(g *Graph, e Edge, path []EdgeID) error {
	from, at, _ := n.nodes(e)
	jumps := 0
	move := func(to string) error {
		if at == to || n.Split && at[0] == 'B' && to == "C"+at[1:] {
			return nil
		}
		until := n.spans[strings.TrimLeft(at, "BC")].until
		if n.Time == NoTime || n.Split && to[0] == 'B' && n.Time == FromCommit || until >= n.spans[strings.TrimLeft(to, "BC")].from {
			return fmt.Errorf("path %v cannot go from %s to %s", path, at, to)
		}
		jumps++
		return nil
	}
	for _, id := range path {
		x, y, _ := n.nodes(*g.Edge(id))
		if err := move(x); err != nil {
			return err
		}
		at = y
	}
	if err := move(from); err != nil {
		return err
	}
	if jumps > 1 {
		return fmt.Errorf("path %v goes %d steps in time", path, jumps)
	}
	return nil
}

// TestAgainstNaive adds random edges and retires random prefixes: a view
// refuses an edge between live nodes exactly when the accepted edges of the
// whole history already lead back, or it refuses by rule (d). In half of the graphs
// views follow others until something is refused.
func TestAgainstNaive(t *testing.T) {
	kept := map[int]int{}
	for seed := uint64(0); seed < uint64(testrun.Size(200, 800)); seed++ {
		r := rand.New(rand.NewPCG(seed/2, 1))
		g := New(views...)
		if seed%2 == 1 {
			g = NewFollowing(impliedAmong(views), views...)
		}
		oracles := make([]*naive, len(views))
		for i, v := range views {
			oracles[i] = newNaive(v)
		}
		var known []Vertex
		now, next := int64(0), Vertex(1)
		for step := 0; step < 120; step++ {
			if len(known) < 3 || r.IntN(4) == 0 {
				at := int64(step*10) + r.Int64N(60)
				begin := at - r.Int64N(30)
				s := span{begin, at + 5}
				switch r.IntN(10) {
				case 0:
					s.until = math.MaxInt64 // its outcome is not known
				case 1:
					s = always
				}
				g.AddVertex(next, Place{begin, at, at, s.from, s.until}, nil)
				for _, o := range oracles {
					o.spans[fmt.Sprint(next)] = s
				}
				known = append(known, next)
				next++
				continue
			}
			if r.IntN(12) == 0 {
				now += r.Int64N(120)
				g.Retire(now)
				if err := g.Check(); err != nil {
					t.Fatalf("seed %d step %d: %v", seed, step, err)
				}
				continue
			}
			e := Edge{From: known[r.IntN(len(known))], To: known[r.IntN(len(known))], Labels: dep}
			if r.IntN(2) == 0 {
				e.Labels = anti
			}
			if e.From == e.To {
				continue
			}
			_, ref := g.AddEdge(e)
			for i, o := range oracles {
				from, to, ok := o.nodes(e)
				if !ok {
					continue
				}
				bit := Views(1) << i
				cycle := o.reaches(to, from, map[string]bool{})
				switch {
				case ref.Cycle&bit != 0 && !cycle:
					t.Fatalf("seed %d step %d view %d: refused %v without a cycle", seed, step, i, e)
				case (ref.Cycle|ref.Behind)&bit == 0 && cycle:
					t.Fatalf("seed %d step %d view %d: accepted %v, which closes a cycle", seed, step, i, e)
				}
				if ref.Cycle&bit != 0 {
					if err := o.closes(g, e, g.CyclePath(i)); err != nil {
						t.Fatalf("seed %d step %d view %d: refused %v: %v", seed, step, i, e, err)
					}
				}
				if (ref.Cycle|ref.Behind)&bit == 0 {
					o.add(from, to)
				}
			}
			if err := g.Check(); err != nil {
				t.Fatalf("seed %d step %d: %v", seed, step, err)
			}
			kept[g.Orders()]++
		}
	}
	if kept[1] == 0 || len(kept) < 5 { // of the first two to imply all but each other, each refuses what the other does
		t.Errorf("numbers of orders, and how often: %v", kept)
	}
}

// TestCyclePath: the path that comes with a refusal leads from the head to the
// tail of the refused edge.
func TestCyclePath(t *testing.T) {
	g := New(View{Dep: dep, Anti: anti})
	for v := Vertex(1); v <= 5; v++ {
		g.AddVertex(v, Place{Begin: int64(v) * 10, Commit: int64(v) * 10}, nil)
	}
	for v := Vertex(1); v < 5; v++ {
		if _, ref := g.AddEdge(Edge{From: v, To: v + 1, Labels: dep}); ref != (Refusal{}) {
			t.Fatalf("%d -> %d refused: %+v", v, v+1, ref)
		}
	}
	id, ref := g.AddEdge(Edge{From: 5, To: 2, Labels: anti})
	if ref.Cycle != 1 || id == 0 {
		t.Fatalf("5 -> 2: id %d, %+v; want a cycle", id, ref)
	}
	var got []Vertex
	for _, p := range g.CyclePath(0) {
		got = append(got, g.Edge(p).From)
	}
	if fmt.Sprint(got) != "[2 3 4]" {
		t.Errorf("path from %v, want [2 3 4]", got)
	}
	g.RemoveEdge(g.FirstOut(3))
	if ref := g.Retry(id); ref != (Refusal{}) {
		t.Errorf("after 3 -> 4 was removed the edge is still refused: %+v", ref)
	}
}

func TestRules(t *testing.T) {
	g := New(View{Dep: dep})
	add := func(v Vertex, at, settle int64) { g.AddVertex(v, Place{Begin: at, Commit: at, Settle: settle}, nil) }
	add(1, 10, 10)
	add(2, 20, 20)
	add(3, 30, 100)
	if got := g.Retire(50); len(got) != 2 {
		t.Fatalf("retired %v, want 1 and 2", got)
	}
	for _, c := range []struct {
		from, to Vertex
		want     Refusal
		rule     string
	}{
		{1, 3, Refusal{}, "b"},
		{1, 2, Refusal{}, "c"},
		{2, 1, Refusal{Behind: 1}, "d"},
		{3, 1, Refusal{Behind: 1}, "d"},
	} {
		if id, got := g.AddEdge(Edge{From: c.from, To: c.to, Labels: dep}); got != c.want || id != 0 {
			t.Errorf("rule (%s): %d -> %d gave %d %+v, want %+v", c.rule, c.from, c.to, id, got, c.want)
		}
	}
	add(4, 5, 5) // a late one stands behind the frontier all the same
	if _, ref := g.AddEdge(Edge{From: 2, To: 4, Labels: dep}); ref != (Refusal{}) {
		t.Errorf("2 -> 4 refused: %+v", ref)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

// TestState: a graph that was written and read again goes on like the first.
func TestState(t *testing.T) {
	for _, edges := range []int{0, 3, 60} {
		for _, implied := range [][]Views{nil, impliedAmong(views)} {
			testState(t, implied, edges)
		}
	}
}

func testState(t *testing.T, implied []Views, edges int) {
	r := rand.New(rand.NewPCG(7, 7))
	a := NewFollowing(implied, views...)
	for v := Vertex(1); v <= 40; v++ {
		at := r.Int64N(400)
		a.AddVertex(v, Place{at, at + 5, at, at, at + 50}, nil)
	}
	edge := func(r *rand.Rand) Edge {
		from := Vertex(1 + r.IntN(40))
		return Edge{From: from, To: 1 + (from+Vertex(r.IntN(38)))%40, Labels: Labels(1 + r.IntN(2))}
	}
	for range edges {
		a.AddEdge(edge(r))
	}
	b := NewFollowing(implied, views...)
	rd := &flat.Reader{Bytes: a.AppendState(flat.NewWriter(nil)).Bytes()}
	b.ReadState(rd)
	if rd.Err != nil || len(rd.Bytes) != 0 {
		t.Fatalf("read: %v, %d bytes left", rd.Err, len(rd.Bytes))
	}
	r1, r2 := rand.New(rand.NewPCG(8, 8)), rand.New(rand.NewPCG(8, 8))
	for i := range 200 {
		ida, refa := a.AddEdge(edge(r1))
		idb, refb := b.AddEdge(edge(r2))
		if ida != idb || refa != refb {
			t.Fatalf("edge %d: %d %+v, read back %d %+v", i, ida, refa, idb, refb)
		}
	}
	if fmt.Sprint(a.Retire(300)) != fmt.Sprint(b.Retire(300)) {
		t.Error("retired differently")
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}
