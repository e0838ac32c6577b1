package solve

import (
	"cmp"
	"slices"
)

const (
	// maxClocks bounds the memory of the clocks: 4 bytes each.
	maxClocks = 96 << 20
	// maxOpen bounds the pairs that saturation may leave.
	maxOpen = 8 << 20
)

// Solve decides p.
func Solve(p *Problem) Result {
	s := &solver{p: p, g: newGraph(p)}
	key := p.Place
	if key == nil {
		key = make([]int64, p.Nodes)
	}
	if !s.g.sort(key) {
		return s.refuted(s.g.cycle(), nil)
	}
	for i := range p.Units {
		s.split = s.split || p.Units[i].In != p.Units[i].InAnti
	}
	s.c = cover(p, s.g)
	s.stats.Tracks = s.c.tracks
	if int64(s.c.tracks)*int64(p.Nodes) > maxClocks {
		return s.unknown(nil)
	}
	s.c.start(s.g)
	if !s.connected() {
		return s.unknown(nil)
	}
	s.dep = s.lay(func(u *Unit) Node { return u.In })
	if s.split {
		s.anti = s.lay(func(u *Unit) Node { return u.InAnti })
	}
	if !s.saturate() {
		return s.refuted(s.g.cycle(), nil)
	}
	if !s.g.sort(key) {
		panic("solve: the derived edges were acyclic")
	}
	pairs, ok := s.open(maxOpen)
	if !ok {
		return s.unknown(nil)
	}
	s.stats.Open = len(pairs)
	return s.search(pairs)
}

// connected says whether the nodes of every unit are a way of known edges: a pair is
// taken for ordered where that way would lead around.
func (s *solver) connected() bool {
	for i := range s.p.Units {
		if u := &s.p.Units[i]; !s.c.reaches(u.In, u.InAnti) || !s.c.reaches(u.InAnti, u.Out) {
			return false
		}
	}
	return true
}

// search orders the open pairs, component by component.
func (s *solver) search(pairs []Pair) Result {
	rank := func(u int32) int32 { return s.g.pos[s.p.Units[u].In] }
	slices.SortFunc(pairs, func(x, y Pair) int {
		return cmp.Or(
			cmp.Compare(max(rank(x.A), rank(x.B)), max(rank(y.A), rank(y.B))),
			cmp.Compare(min(rank(x.A), rank(x.B)), min(rank(y.A), rank(y.B))),
			cmp.Compare(x.A, y.A))
	})
	local := make([]int32, s.g.n)
	for v := range local {
		local[v] = -1
	}
	var givenUp []int32
	components, ok := s.divide(pairs)
	if !ok {
		return s.unknown(nil)
	}
	for _, c := range components {
		if len(c.pairs) == 0 {
			continue
		}
		s.stats.Components++
		s.stats.Searched += len(c.pairs)
		t := s.searchOf(&c, local)
		verdict := t.run()
		s.stats.Conflicts += t.conflicts
		s.stats.Steps += t.steps + t.ord.steps
		for _, v := range c.nodes {
			local[v] = -1
		}
		switch verdict {
		case Unsatisfiable:
			ps, arcs := t.proof()
			core := make([]Pair, len(ps))
			for i, p := range ps {
				core[i] = c.pairs[p]
			}
			return s.refuted(arcs, core)
		case Unknown:
			if givenUp == nil {
				for _, p := range c.pairs {
					givenUp = append(givenUp, p.A, p.B)
				}
				slices.Sort(givenUp)
				givenUp = slices.Compact(givenUp)
			}
			continue
		}
		for i, p := range c.pairs {
			if t.value[i] == 2 {
				p.A, p.B = p.B, p.A
			}
			s.choose(p.A, p.B)
		}
	}
	if givenUp != nil {
		return s.unknown(givenUp)
	}
	return s.witness()
}

func (s *solver) searchOf(c *component, local []int32) *search {
	rank := make([]int32, len(c.nodes))
	for i, v := range c.nodes {
		local[v], rank[i] = int32(i), int32(i)
	}
	ord := newOrder(rank)
	for _, id := range c.arcs {
		a := &s.g.arcs[id]
		if !ord.add(local[a.from], local[a.to], -1, id) {
			panic("solve: the arcs of a component follow the order")
		}
	}
	budget := s.p.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	return newSearch(s.p.Units, c.pairs, local, ord, budget)
}

// choose adds the edges that put unit a before unit b.
func (s *solver) choose(a, b int32) {
	x, y := &s.p.Units[a], &s.p.Units[b]
	s.g.add(x.Out, y.In, -1)
	for _, r := range x.Readers {
		s.g.add(r, y.InAnti, -1)
	}
}

// witness is the order with all that was chosen, checked.
func (s *solver) witness() Result {
	key := make([]int64, s.g.n)
	for v, at := range s.g.pos {
		key[v] = int64(at)
	}
	if !s.g.sort(key) {
		panic("solve: what was chosen closes a cycle")
	}
	if !s.p.fits(s.g.pos) {
		panic("solve: the order does not fit the units")
	}
	return Result{Verdict: Satisfiable, Order: s.g.pos, Stats: s.stats}
}

// fits says whether order, which the edges agree with, orders the units of every
// key: each comes, with its readers, before the next.
func (p *Problem) fits(order []int32) bool {
	var us []int32
	for k := range p.numKeys() {
		from, to := p.unitsOf(k)
		us = us[:0]
		for u := from; u < to; u++ {
			us = append(us, u)
		}
		slices.SortFunc(us, func(a, b int32) int { return cmp.Compare(order[p.Units[a].In], order[p.Units[b].In]) })
		for i := 1; i < len(us); i++ {
			a, b := &p.Units[us[i-1]], &p.Units[us[i]]
			if order[a.Out] >= order[b.In] {
				return false
			}
			for _, r := range a.Readers {
				if order[r] >= order[b.InAnti] {
					return false
				}
			}
		}
	}
	for _, e := range p.Edges {
		if order[e.From] >= order[e.To] {
			return false
		}
	}
	return true
}

func (s *solver) unknown(units []int32) Result {
	return Result{Verdict: Unknown, Component: units, Stats: s.stats}
}
