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
	s := newSolver(p)
	if r := s.begin(); r != nil {
		return *r
	}
	if !s.saturate() {
		if s.nowhere >= 0 {
			return s.refuted(nil, nil, nil, s.nowhere)
		}
		return s.refuted(s.g.cycle(), nil, nil)
	}
	if !s.g.sort(s.place) {
		panic("solve: the derived edges were acyclic")
	}
	if len(s.reads) > s.settled {
		s.behind = map[int32][]behind{}
	}
	picks, few := s.picks()
	vars, ok := s.open(maxOpen)
	if !ok || !few {
		return s.unknown(nil)
	}
	s.stats.Open, s.stats.OpenReads = len(vars), len(s.reads)-s.settled
	return s.search(append(vars, picks...))
}

func newSolver(p *Problem) *solver {
	s := &solver{p: p, g: newGraph(p), nowhere: -1, maxWalk: maxWalk, place: p.Place}
	if s.place == nil {
		s.place = make([]int64, p.Nodes)
	}
	for i := range p.Units {
		s.split = s.split || p.Units[i].In != p.Units[i].InAnti
	}
	s.startReads()
	return s
}

// begin finds an order of the known edges, and lays out clocks and units. It returns the
// answer where there is none, or too much to lay out.
func (s *solver) begin() *Result {
	if !s.g.sort(s.place) {
		r := s.refuted(s.g.cycle(), nil, nil)
		return &r
	}
	s.c = cover(s.p, s.g)
	s.stats.Tracks = s.c.tracks
	if int64(s.c.tracks)*int64(s.p.Nodes) > maxClocks {
		r := s.unknown(nil)
		return &r
	}
	s.c.start(s.g)
	if !s.connected() {
		r := s.unknown(nil)
		return &r
	}
	s.ordered, s.walks = len(s.g.arcs), true
	s.line()
	s.dep = s.lay(func(u *Unit) Node { return u.In })
	if s.split {
		s.anti = s.lay(func(u *Unit) Node { return u.InAnti })
	}
	return nil
}

// connected says whether the nodes of every unit are a way of known edges. A pair is taken for
// ordered where that way would lead around.
func (s *solver) connected() bool {
	for i := range s.p.Units {
		if u := &s.p.Units[i]; !s.c.reaches(u.In, u.InAnti) || !s.c.reaches(u.InAnti, u.Out) {
			return false
		}
	}
	return true
}

// search decides the open pairs and reads, component by component.
func (s *solver) search(vars []variable) Result {
	rank := func(u int32) int32 { return s.g.pos[s.p.Units[u].In] }
	ranks := func(x *variable) (a, b int32) {
		if x.read() >= 0 {
			return rank(x.A), s.g.pos[s.p.Reads[x.read()].Node]
		}
		return rank(x.A), rank(x.B)
	}
	slices.SortFunc(vars, func(x, y variable) int {
		a, b := ranks(&x)
		c, d := ranks(&y)
		return cmp.Or(cmp.Compare(max(a, b), max(c, d)), cmp.Compare(min(a, b), min(c, d)), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	local := make([]int32, s.g.n)
	for v := range local {
		local[v] = -1
	}
	var givenUp []int32
	var pairs []Pair
	var picks []variable
	components, ok := s.divide(vars)
	if !ok {
		return s.unknown(nil)
	}
	for _, c := range components {
		if len(c.vars) == 0 {
			continue
		}
		s.stats.Components++
		t := s.searchOf(&c, local)
		verdict := t.run()
		if t.ahead != nil {
			s.stats.Ahead++
		}
		s.stats.Conflicts += t.conflicts
		s.stats.Steps += t.spent()
		for _, v := range c.nodes {
			local[v] = -1
		}
		switch verdict {
		case Unsatisfiable:
			proof := t.proof()
			core := make([]Pair, len(proof.pairs))
			for i, p := range proof.pairs {
				core[i] = c.vars[p].Pair
			}
			return s.refuted(proof.arcs, core, proof.whys, proof.reads...)
		case Unknown:
			if givenUp == nil {
				for _, p := range c.vars {
					if givenUp = append(givenUp, p.A); p.read() < 0 {
						givenUp = append(givenUp, p.B)
					}
				}
				slices.Sort(givenUp)
				givenUp = slices.Compact(givenUp)
			}
			continue
		}
		for i, p := range c.vars {
			switch {
			case p.read() < 0:
				if t.value[i] == 2 {
					p.A, p.B = p.B, p.A
				}
				pairs = append(pairs, p.Pair)
			case t.value[i] == 1:
				picks = append(picks, p)
			}
		}
	}
	if givenUp != nil {
		return s.unknown(givenUp)
	}
	for _, p := range picks { // who reads comes before what is then put behind
		s.pick(p.read(), p.A)
	}
	for _, p := range pairs {
		s.choose(p.A, p.B)
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
		if !ord.add(local[a.from], local[a.to], -1, -1, id) {
			panic("solve: the arcs of a component follow the order")
		}
	}
	budget := s.p.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	t := newSearch(s.units, c.vars, local, ord, budget)
	t.early = s.p.early
	if len(s.reads) > 0 {
		t.readFrom(s.p.Reads, s.behind, s.settledReader)
	}
	return t
}

// choose adds the edges that put unit a before unit b.
func (s *solver) choose(a, b int32) {
	x, y := &s.units[a], &s.units[b]
	s.g.add(x.Out, y.In, -1)
	for j, r := range x.Readers {
		if !s.passes(a, j, b) {
			s.g.add(r, y.InAnti, -1)
		}
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
	if !s.p.fits(s.g.pos, s.fitsReads) {
		panic("solve: the order does not fit the units")
	}
	return Result{Verdict: Satisfiable, Order: s.g.pos, Stats: s.stats}
}

// fits says whether order, which the edges agree with, orders the units of every
// key: each comes, with its readers, before the next. reads says whether the reads fit,
// where next is, by unit, the one that follows.
func (p *Problem) fits(order []int32, reads func(order, next []int32) bool) bool {
	var us, next []int32
	if len(p.Reads) > 0 {
		next = make([]int32, len(p.Units))
		for i := range next {
			next[i] = -1
		}
	}
	for k := range p.numKeys() {
		from, to := p.unitsOf(k)
		us = us[:0]
		for u := from; u < to; u++ {
			us = append(us, u)
		}
		slices.SortFunc(us, func(a, b int32) int { return cmp.Compare(order[p.Units[a].In], order[p.Units[b].In]) })
		for i := 1; i < len(us); i++ {
			a, b := &p.Units[us[i-1]], &p.Units[us[i]]
			if next != nil {
				next[us[i-1]] = us[i]
			}
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
	return len(p.Reads) == 0 || reads(order, next)
}

func (s *solver) unknown(units []int32) Result {
	return Result{Verdict: Unknown, Component: units, Stats: s.stats}
}
