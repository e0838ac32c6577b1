package solve

import "slices"

// refuted is the answer that the arcs and pairs cannot be ordered. It replaces derived arcs by
// their premises, until known edges, pairs and reads are left.
func (s *solver) refuted(arcs []int32, pairs []Pair, whys []int32, reads ...int32) Result {
	if s.p.Guess {
		return Result{Verdict: Unsatisfiable, Stats: s.stats}
	}
	core := Core{Pairs: slices.Clone(pairs)}
	done := map[int32]bool{}
	rests := map[int32]bool{}
	derived := map[int32]bool{}
	stack := slices.Clone(arcs)
	// Why a read is of one candidate, or of those that the search tried.
	var rest func(read int32)
	rest = func(read int32) {
		if read < 0 || rests[read] {
			return
		}
		rests[read] = true
		core.Reads = append(core.Reads, read)
		for _, d := range s.reads[read].dropped {
			if d.behind >= 0 {
				core.Pairs = append(core.Pairs, pairOf(d.candidate, d.behind))
				stack = append(stack, s.path(s.units[d.behind].InAnti, s.p.Reads[read].Node, d.arcs)...)
				rest(d.via)
			}
			stack = append(stack, s.path(d.head, d.source, d.arcs)...)
		}
	}
	for _, r := range reads {
		rest(r)
	}
	derive := func(why int32) {
		if derived[why] {
			return
		}
		derived[why] = true
		d := &s.whys[why]
		rest(d.via)
		rest(d.read)
		if d.before >= 0 {
			core.Pairs = append(core.Pairs, pairOf(d.before, d.after))
			stack = append(stack, s.path(d.head, d.source, d.arcs)...)
		}
	}
	for _, why := range whys {
		derive(why)
	}
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
		derive(a.why)
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
	slices.Sort(c.Reads)
	c.Reads = slices.Compact(c.Reads)
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

// Shrink leaves out reads, pairs, then edges, while the rest cannot be ordered. The edges need
// not be p's.
func (c *Core) Shrink(p *Problem) {
	c.sort()
	if c.size() > maxShrink*4 {
		return
	}
	take := func(x Core) bool {
		y, ok := p.refute(&x)
		if ok {
			*c = y
		}
		return ok
	}
	for size := -1; size != c.size(); { // what a proof used is often less than what it was given
		size = c.size()
		if !take(*c) {
			return
		}
	}
	if c.size() > maxShrink {
		return
	}
	for i := len(c.Reads) - 1; i >= 0; i-- {
		if x := *c; i < len(c.Reads) {
			x.Reads = slices.Delete(slices.Clone(c.Reads), i, i+1)
			take(x)
		}
	}
	for i := len(c.Pairs) - 1; i >= 0; i-- {
		if x := *c; i < len(c.Pairs) {
			x.Pairs = slices.Delete(slices.Clone(c.Pairs), i, i+1)
			take(x)
		}
	}
	for i := len(c.Edges) - 1; i >= 0; i-- {
		if x := *c; i < len(c.Edges) {
			x.Edges = slices.Delete(slices.Clone(c.Edges), i, i+1)
			take(x)
		}
	}
	c.Minimal = true
}

func (c *Core) size() int { return len(c.Pairs) + len(c.Edges) + len(c.Reads) }

// refute says whether what is in x alone cannot be ordered, and what of it the
// refutation rests on.
func (p *Problem) refute(x *Core) (used Core, ok bool) {
	local, n := numbering(p, x)
	g := newGraph(&Problem{Nodes: n})
	for _, e := range x.Edges {
		g.add(local[e.From], local[e.To], -1)
	}
	edgesOf := func(arcs []int32) (es []Edge) {
		for _, id := range arcs {
			es = append(es, x.Edges[id])
		}
		return es
	}
	if !g.sort(make([]int64, n)) {
		return Core{Edges: edgesOf(g.cycle())}, true
	}
	ord := newOrder(g.pos)
	for i, e := range x.Edges {
		ord.add(local[e.From], local[e.To], -1, -1, int32(i))
	}
	units := make([]Unit, 0, 2*len(x.Pairs))
	at := map[int32]int32{-1: -1}
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
	vars := make([]variable, len(x.Pairs))
	for i, q := range x.Pairs {
		vars[i] = variable{Pair{place(q.A), place(q.B)}}
	}
	reads := make([]Read, len(x.Reads))
	for i, r := range x.Reads {
		reads[i] = Read{Node: local[p.Reads[r].Node], Own: place(p.Reads[r].Own)}
		for _, c := range p.Reads[r].Candidates {
			reads[i].Candidates = append(reads[i].Candidates, place(c))
			vars = append(vars, isOf(place(c), int32(i)))
		}
	}
	same := make([]int32, n)
	for i := range same {
		same[i] = int32(i)
	}
	t := newSearch(units, vars, same, ord, 1_000_000)
	t.early = p.early
	if len(reads) > 0 {
		t.readFrom(reads, nil, nil)
	}
	if t.run() != Unsatisfiable {
		return Core{}, false
	}
	proof := t.proof()
	used.Edges = edgesOf(proof.arcs)
	for _, i := range proof.pairs {
		used.Pairs = append(used.Pairs, x.Pairs[i])
	}
	for _, i := range proof.reads {
		used.Reads = append(used.Reads, x.Reads[i])
	}
	return used, true
}

// numbering gives the nodes that x names numbers from 0.
func numbering(p *Problem, x *Core) (local map[Node]int32, n int) {
	local = map[Node]int32{}
	name := func(v Node) {
		if _, ok := local[v]; !ok {
			local[v] = int32(len(local))
		}
	}
	for _, e := range x.Edges {
		name(e.From)
		name(e.To)
	}
	unit := func(u int32) {
		if u < 0 {
			return
		}
		name(p.Units[u].In)
		name(p.Units[u].InAnti)
		name(p.Units[u].Out)
		for _, r := range p.Units[u].Readers {
			name(r)
		}
	}
	for _, q := range x.Pairs {
		unit(q.A)
		unit(q.B)
	}
	for _, r := range x.Reads {
		name(p.Reads[r].Node)
		unit(p.Reads[r].Own)
		for _, c := range p.Reads[r].Candidates {
			unit(c)
		}
	}
	return local, len(local)
}
