package solve

import "slices"

// refuted is the answer that the arcs and pairs cannot be ordered: derived arcs are
// replaced by what they were derived from, until known edges and pairs are left.
func (s *solver) refuted(arcs []int32, pairs []Pair) Result {
	core := Core{Pairs: slices.Clone(pairs)}
	done := map[int32]bool{}
	derived := map[int32]bool{}
	stack := slices.Clone(arcs)
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if done[id] {
			continue
		}
		done[id] = true
		a := &s.g.arcs[id]
		if a.why < 0 {
			core.Edges = append(core.Edges, Edge{a.from, a.to})
			continue
		}
		if derived[a.why] {
			continue
		}
		derived[a.why] = true
		d := &s.whys[a.why]
		core.Pairs = append(core.Pairs, pairOf(d.before, d.after))
		stack = append(stack, s.path(d.head, d.source, d.arcs)...)
	}
	core.Shrink(s.p)
	return Result{Verdict: Unsatisfiable, Core: core, Stats: s.stats}
}

func pairOf(a, b int32) Pair { return Pair{min(a, b), max(a, b)} }

func (c *Core) sort() {
	slices.SortFunc(c.Pairs, func(x, y Pair) int {
		if x.A != y.A {
			return int(x.A - y.A)
		}
		return int(x.B - y.B)
	})
	c.Pairs = slices.Compact(c.Pairs)
	slices.SortFunc(c.Edges, func(x, y Edge) int {
		if x.From != y.From {
			return int(x.From - y.From)
		}
		return int(x.To - y.To)
	})
	c.Edges = slices.Compact(c.Edges)
}

// path is a shortest way from u to v by the first arcs, those that need no
// derivation preferred: 0-1 breadth-first search.
func (s *solver) path(u, v Node, arcs int32) []int32 {
	if u == v {
		return nil
	}
	dist, via := map[Node]int32{u: 0}, map[Node]int32{}
	buckets := [][]Node{{u}}
	for d := 0; d < len(buckets); d++ {
		for i := 0; i < len(buckets[d]); i++ {
			x := buckets[d][i]
			if dist[x] != int32(d) {
				continue
			}
			if x == v {
				var way []int32
				for x != u {
					way = append(way, via[x])
					x = s.g.arcs[via[x]].from
				}
				return way
			}
			for id := s.g.out[x]; id >= 0; id = s.g.arcs[id].nextOut {
				a := &s.g.arcs[id]
				if id >= arcs || !s.c.reaches(a.to, v) {
					continue
				}
				cost := int32(d) + 1
				if a.why >= 0 {
					cost += 15
				}
				if old, ok := dist[a.to]; ok && old <= cost {
					continue
				}
				dist[a.to], via[a.to] = cost, id
				for len(buckets) <= int(cost) {
					buckets = append(buckets, nil)
				}
				buckets[cost] = append(buckets[cost], a.to)
			}
		}
	}
	panic("solve: a derivation without its path")
}

// maxShrink bounds the cores that are shrunk: each attempt solves what is left.
const maxShrink = 400

// Shrink leaves out pairs, then edges, as long as what is left cannot be ordered. The
// edges need not be those of p.
func (c *Core) Shrink(p *Problem) {
	c.sort()
	if len(c.Pairs)+len(c.Edges) > maxShrink*4 {
		return
	}
	for again := true; again; { // what a proof used is often less than what it was given
		pairs, edges, ok := p.refute(c.Edges, c.Pairs)
		if !ok {
			return
		}
		again = len(pairs) < len(c.Pairs) || len(edges) < len(c.Edges)
		c.Pairs, c.Edges = pairs, edges
	}
	if len(c.Pairs)+len(c.Edges) > maxShrink {
		return
	}
	for i := len(c.Pairs) - 1; i >= 0; i-- {
		if i >= len(c.Pairs) {
			continue
		}
		if pairs, edges, ok := p.refute(c.Edges, slices.Delete(slices.Clone(c.Pairs), i, i+1)); ok {
			c.Pairs, c.Edges = pairs, edges
		}
	}
	for i := len(c.Edges) - 1; i >= 0; i-- {
		if i >= len(c.Edges) {
			continue
		}
		if pairs, edges, ok := p.refute(slices.Delete(slices.Clone(c.Edges), i, i+1), c.Pairs); ok {
			c.Pairs, c.Edges = pairs, edges
		}
	}
	c.Minimal = true
}

// refute says whether these edges and pairs alone cannot be ordered, and which of
// them the refutation rests on.
func (p *Problem) refute(edges []Edge, pairs []Pair) (usedPairs []Pair, usedEdges []Edge, ok bool) {
	local, n := numbering(p, edges, pairs)
	g := newGraph(&Problem{Nodes: n})
	for _, e := range edges {
		g.add(local[e.From], local[e.To], -1)
	}
	edgesOf := func(arcs []int32) (es []Edge) {
		for _, id := range arcs {
			es = append(es, edges[id])
		}
		return es
	}
	if !g.sort(make([]int64, n)) {
		return nil, edgesOf(g.cycle()), true
	}
	ord := newOrder(g.pos)
	for i, e := range edges {
		ord.add(local[e.From], local[e.To], -1, int32(i))
	}
	units := make([]Unit, 0, 2*len(pairs))
	at := map[int32]int32{}
	place := func(u int32) int32 {
		if i, ok := at[u]; ok {
			return i
		}
		x := p.Units[u]
		y := Unit{In: local[x.In], InAnti: local[x.InAnti], Out: local[x.Out]}
		for _, r := range x.Readers {
			y.Readers = append(y.Readers, local[r])
		}
		at[u] = int32(len(units))
		units = append(units, y)
		return at[u]
	}
	ps := make([]Pair, len(pairs))
	for i, x := range pairs {
		ps[i] = Pair{place(x.A), place(x.B)}
	}
	same := make([]int32, n)
	for i := range same {
		same[i] = int32(i)
	}
	t := newSearch(units, ps, same, ord, 1_000_000)
	if t.run() != Unsatisfiable {
		return nil, nil, false
	}
	used, arcs := t.proof()
	for _, i := range used {
		usedPairs = append(usedPairs, pairs[i])
	}
	return usedPairs, edgesOf(arcs), true
}

// numbering gives the nodes that edges and pairs name numbers from 0.
func numbering(p *Problem, edges []Edge, pairs []Pair) (local map[Node]int32, n int) {
	local = map[Node]int32{}
	name := func(v Node) {
		if _, ok := local[v]; !ok {
			local[v] = int32(len(local))
		}
	}
	for _, e := range edges {
		name(e.From)
		name(e.To)
	}
	for _, x := range pairs {
		for _, u := range []int32{x.A, x.B} {
			name(p.Units[u].In)
			name(p.Units[u].InAnti)
			name(p.Units[u].Out)
			for _, r := range p.Units[u].Readers {
				name(r)
			}
		}
	}
	return local, len(local)
}
