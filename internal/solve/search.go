package solve

import "slices"

// A variable is an open pair; or that a read is of unit A, and B is -1 less its number.
type variable struct{ Pair }

func isOf(unit, read int32) variable { return variable{Pair{unit, -1 - read}} }

// read is the number of the read, less than 0 for a pair.
func (v variable) read() int32 { return -1 - v.B }

// A literal is 2*variable for "A before B" and 2*variable+1 for "B before A". For a read, they
// are "it is of A" and "it is not of A".

// clause is a set of literals. One of them must hold. from are the clauses that it was resolved
// from. For a cycle, arcs are the known edges on it.
type clause struct {
	lits []int32
	read int32 // 1 + the read that has some writer, 0 for other clauses
	from []int32
	arcs []int32
	whys []int32 // derivations that edges of the cycle rest on as well
}

// search orders the pairs of one component: conflict-driven clause learning
// (GRASP's first unique implication points, two watched literals) over an
// incrementally kept topological order.
//
// Pairs are decided in the order of the first ranks, so that conflicts undo little:
// they are local in time, and so are the pairs. Once that has not helped for a
// while the pairs that were in conflicts last come first.
type search struct {
	units  []Unit
	vars   []variable
	ord    *order
	local  []int32 // of a node: its number in the component, -1 outside
	budget int64

	value   []int8 // by variable: 0 open, 1 A before B, 2 B before A
	level   []int32
	reason  []int32 // clause, -1 for a decision, foreseen
	trail   []int32
	queue   int   // of trail: propagated so far
	limits  []int // of trail, by decision level
	cuts    []int // links of ord before the literal, by place in trail
	clauses []clause
	watches [][]int32 // by literal: clauses that watch it

	next      int // pairs before it are decided
	activity  []float64
	bump      float64
	heap      []int32 // pairs by activity, once the search has begun to use it
	heapAt    []int32
	seen      []bool
	conflicts int64
	steps     int64
	looks     int64 // at pairs and links that may be passed over: eight are a step
	final     int32 // the clause that is false at level 0

	ahead   *foresight  // nil: the search does not look ahead so far
	early   bool        // it does from the beginning
	mayRead *candidates // nil without open reads
	settled func(u int32, j int) (own, why int32)
	placed  []int32 // by variable: where on the trail, with open reads
}

// restartEvery conflicts of the order of ranks, the pairs are taken by activity.
const restartEvery = 2000

func newSearch(units []Unit, vars []variable, local []int32, ord *order, budget int64) *search {
	s := &search{units: units, vars: vars, ord: ord, local: local, budget: budget, bump: 1, final: -1}
	n := len(vars)
	s.value, s.level, s.reason = make([]int8, n), make([]int32, n), make([]int32, n)
	s.activity, s.seen = make([]float64, n), make([]bool, n)
	s.watches = make([][]int32, 2*n)
	return s
}

// readFrom makes some candidate of each read hold. settled is about a reader of a unit that is
// one of the reads, settled before. It says which unit is its own and why. The reason is -1 for
// others.
func (s *search) readFrom(reads []Read, behind map[int32][]behind, settled func(u int32, j int) (own, why int32)) {
	s.settled = settled
	if s.mayRead = candidatesOf(reads, s.vars, behind); s.mayRead == nil {
		return
	}
	s.placed = make([]int32, len(s.vars))
	at := map[int32]int32{}
	for v := range s.vars {
		r := s.vars[v].read()
		if r < 0 {
			continue
		}
		id, ok := at[r]
		if !ok {
			id = int32(len(s.clauses))
			at[r] = id
			s.clauses = append(s.clauses, clause{read: r + 1})
		}
		s.clauses[id].lits = append(s.clauses[id].lits, 2*int32(v))
	}
	for id := range s.clauses {
		lits := s.clauses[id].lits
		if len(lits) == 1 {
			s.assign(lits[0], int32(id))
			continue
		}
		for _, l := range lits[:2] {
			s.watches[l] = append(s.watches[l], int32(id))
		}
	}
}

// run finds values for all pairs.
func (s *search) run() Verdict {
	every := int64(restartEvery)
	restart := every
	if s.early {
		s.foresee()
	}
	for {
		conflict := s.propagate()
		if conflict >= 0 {
			s.conflicts++
			if len(s.limits) == 0 {
				s.final = conflict
				return Unsatisfiable
			}
			if !s.learn(conflict) {
				return Unsatisfiable
			}
			switch {
			case s.stuck():
				s.backtrack(0)
				s.foresee()
				every = restartAhead
				restart = s.conflicts + every
			case s.conflicts >= restart:
				restart += every
				every += every
				s.backtrack(0)
				s.useHeap()
			}
			continue
		}
		if s.spent() > s.budget {
			return Unknown
		}
		p := s.choose()
		if p < 0 {
			s.settle()
			return Satisfiable
		}
		s.limits = append(s.limits, len(s.trail))
		s.assign(2*p+s.polarity(p), -1)
	}
}

// polarity is the order of the present ranks.
func (s *search) polarity(p int32) int32 {
	if s.vars[p].read() >= 0 {
		return s.polarityOfRead(p)
	}
	a, b := &s.units[s.vars[p].A], &s.units[s.vars[p].B]
	if s.ord.rank[s.local[a.In]] < s.ord.rank[s.local[b.In]] {
		return 0
	}
	return 1
}

// polarityOfRead is that the read is of A if A is the latest of its candidates before
// it by the present ranks, or none is.
func (s *search) polarityOfRead(p int32) int32 {
	r := &s.mayRead.reads[s.vars[p].read()]
	rank := func(v Node) int32 {
		if v = s.local[v]; v >= 0 {
			return s.ord.rank[v]
		}
		return -1
	}
	wrote, reads := rank(s.units[s.vars[p].A].Out), rank(r.Node)
	if wrote > reads {
		return 1
	}
	s.steps += int64(len(r.Candidates))
	for _, c := range r.Candidates {
		if later := rank(s.units[c].Out); later > wrote && later < reads {
			return 1
		}
	}
	return 0
}

func (s *search) choose() int32 {
	if s.lazy() {
		return s.chooseMisfit()
	}
	if s.heap != nil {
		for len(s.heap) > 0 {
			if p := s.pop(); s.value[p] == 0 {
				return p
			}
		}
		return -1
	}
	for ; s.next < len(s.vars); s.next++ {
		if s.value[s.next] == 0 {
			return int32(s.next)
		}
	}
	return -1
}

func (s *search) holds(lit int32) bool   { return s.value[lit/2] == int8(lit&1)+1 }
func (s *search) refuted(lit int32) bool { return s.value[lit/2] == int8(2-lit&1) }

func (s *search) assign(lit, reason int32) {
	p := lit / 2
	s.value[p], s.level[p], s.reason[p] = int8(lit&1)+1, int32(len(s.limits)), reason
	if s.placed != nil {
		s.placed[p] = int32(len(s.trail))
	}
	s.trail = append(s.trail, lit)
}

// propagate follows what is assigned; it returns a clause that is false, or -1.
func (s *search) propagate() int32 {
	for s.queue < len(s.trail) {
		lit := s.trail[s.queue]
		s.cuts = append(s.cuts[:s.queue], len(s.ord.links))
		if s.ahead != nil {
			s.ahead.marks = append(s.ahead.marks[:s.queue], s.ahead.reach.mark())
		}
		s.queue++
		if c := s.enter(lit); c >= 0 {
			return c
		}
		if c := s.implied(lit ^ 1); c >= 0 {
			return c
		}
	}
	return -1
}

// enter adds the edges of the literal to the order; a cycle gives a clause.
func (s *search) enter(lit int32) int32 {
	if s.vars[lit/2].read() >= 0 {
		return s.enterRead(lit)
	}
	first, then := s.sides(lit)
	a, b := &s.units[first], &s.units[then]
	if !s.link(a.Out, b.In, lit, -1, -1) {
		return s.cycle(lit, -1, -1)
	}
	for j, r := range a.Readers {
		why, ok := s.says(first, then, j)
		if ok && !s.link(r, b.InAnti, lit, -1, why) {
			return s.cycle(lit, -1, why)
		}
	}
	if s.mayRead == nil {
		return -1
	}
	s.steps += int64(len(s.mayRead.picks[first]))
	for _, v := range s.mayRead.picks[first] {
		if s.value[v] != 1 || s.placed[v] >= int32(s.queue) {
			continue // it adds the edge when it is entered
		}
		if r := &s.mayRead.reads[s.vars[v].read()]; r.Own != then && !s.link(r.Node, b.InAnti, lit, 2*v, -1) {
			return s.cycle(lit, 2*v, -1)
		}
	}
	return -1
}

// says says whether the j-th reader of unit a comes before a unit b behind it, and by which
// derivation, -1 if that is known. It does not if b is its own.
func (s *search) says(a, b int32, j int) (why int32, ok bool) {
	if s.settled == nil {
		return -1, true
	}
	own, why := s.settled(a, j)
	return why, why < 0 || own != b
}

// enterRead adds the edges that follow if the read is of its candidate. The write that it saw
// comes before it, and it comes before all units behind that write.
func (s *search) enterRead(lit int32) int32 {
	if lit&1 == 1 {
		return -1
	}
	c := s.vars[lit/2].A
	r := &s.mayRead.reads[s.vars[lit/2].read()]
	if !s.link(s.units[c].Out, r.Node, lit, -1, -1) {
		return s.cycle(lit, -1, -1)
	}
	for _, b := range s.mayRead.behind[c] {
		if b.unit != r.Own && !s.link(r.Node, s.units[b.unit].InAnti, lit, -1, b.why) {
			return s.cycle(lit, -1, b.why)
		}
	}
	s.steps += int64(len(s.mayRead.pairs[c]))
	for _, v := range s.mayRead.pairs[c] {
		if s.value[v] == 0 || s.placed[v] >= int32(s.queue) {
			continue
		}
		other := 2*v + int32(s.value[v]) - 1
		if first, then := s.sides(other); first == c && then != r.Own && !s.link(r.Node, s.units[then].InAnti, lit, other, -1) {
			return s.cycle(lit, other, -1)
		}
	}
	return -1
}

func (s *search) sides(lit int32) (first, then int32) {
	p := s.vars[lit/2]
	if lit&1 == 0 {
		return p.A, p.B
	}
	return p.B, p.A
}

// link adds an edge unless an end is outside of the component, where no cycle
// leads through it. It follows from lit, and from other and the derivation why if there
// are such.
func (s *search) link(from, to Node, lit, other, why int32) bool {
	x, y := s.local[from], s.local[to]
	if x < 0 || y < 0 {
		return true
	}
	s.steps++
	if s.ahead != nil {
		return s.linkAhead(x, y, lit, other, why)
	}
	return s.ord.add(x, y, lit, other, why)
}

// cycle makes the clause that forbids the cycle which an edge closes: see link.
func (s *search) cycle(lit, other, why int32) int32 {
	c := clause{lits: []int32{lit ^ 1}}
	if other >= 0 {
		c.lits = append(c.lits, other^1)
	}
	if why >= 0 {
		c.whys = append(c.whys, why)
	}
	for _, id := range s.ord.path {
		l := &s.ord.links[id]
		if l.lit < 0 {
			c.arcs = append(c.arcs, l.arc)
			continue
		}
		if l.arc >= 0 {
			c.whys = append(c.whys, l.arc)
		}
		if !slices.Contains(c.lits, l.lit^1) {
			c.lits = append(c.lits, l.lit^1)
		}
		if l.other >= 0 && !slices.Contains(c.lits, l.other^1) {
			c.lits = append(c.lits, l.other^1)
		}
	}
	s.clauses = append(s.clauses, c)
	return int32(len(s.clauses) - 1)
}

// implied visits the clauses that watch lit, which has become false.
func (s *search) implied(lit int32) int32 {
	ws := s.watches[lit]
	kept := ws[:0]
	for i, id := range ws {
		s.steps++
		c := &s.clauses[id]
		if c.lits[0] == lit {
			c.lits[0], c.lits[1] = c.lits[1], c.lits[0]
		}
		if s.holds(c.lits[0]) || s.rewatch(id) {
			if c.lits[1] == lit {
				kept = append(kept, id)
			}
			continue
		}
		kept = append(kept, id)
		if s.refuted(c.lits[0]) {
			kept = append(kept, ws[i+1:]...)
			s.watches[lit] = kept
			return id
		}
		s.assign(c.lits[0], id)
	}
	s.watches[lit] = kept
	return -1
}

// rewatch finds another literal to watch in place of the second of clause id.
func (s *search) rewatch(id int32) bool {
	lits := s.clauses[id].lits
	for j := 2; j < len(lits); j++ {
		if !s.refuted(lits[j]) {
			lits[1], lits[j] = lits[j], lits[1]
			s.watches[lits[1]] = append(s.watches[lits[1]], id)
			return true
		}
	}
	return false
}

// learn derives the clause of the first unique implication point from a false clause. It goes
// back to where the clause asserts, and asserts it. It returns false when there is nowhere to
// go.
func (s *search) learn(conflict int32) bool {
	// A cycle among literals of lower levels only: go back to the highest of them.
	top := int32(0)
	for _, l := range s.clauses[conflict].lits {
		top = max(top, s.level[l/2])
	}
	if top == 0 {
		s.backtrack(0)
		s.final = conflict
		return false
	}
	s.backtrack(top)
	learnt := clause{lits: []int32{-1}}
	open, at, id := 0, len(s.trail)-1, conflict
	var marked []int32
	for {
		learnt.from = append(learnt.from, id)
		for _, l := range s.clauses[id].lits {
			p := l / 2
			if s.seen[p] || s.holds(l) {
				continue
			}
			if s.level[p] == 0 {
				s.seen[p] = true
				marked = append(marked, p)
				learnt.from = append(learnt.from, -p-1) // its reason is part of the proof
				continue
			}
			s.seen[p] = true
			marked = append(marked, p)
			s.bumped(p)
			if s.level[p] == top {
				open++
			} else {
				learnt.lits = append(learnt.lits, l)
			}
		}
		for !s.seen[s.trail[at]/2] || s.level[s.trail[at]/2] != top {
			at--
		}
		lit := s.trail[at]
		at--
		if open--; open == 0 {
			learnt.lits[0] = lit ^ 1
			break
		}
		id = s.because(lit / 2)
	}
	s.minimise(&learnt)
	for _, p := range marked {
		s.seen[p] = false
	}
	s.bump *= 1.05
	back := 1
	for i := 2; i < len(learnt.lits); i++ {
		if s.level[learnt.lits[i]/2] > s.level[learnt.lits[back]/2] {
			back = i
		}
	}
	level := int32(0)
	if len(learnt.lits) > 1 {
		learnt.lits[1], learnt.lits[back] = learnt.lits[back], learnt.lits[1]
		level = s.level[learnt.lits[1]/2]
	}
	s.backtrack(level)
	n := int32(len(s.clauses))
	s.clauses = append(s.clauses, learnt)
	s.steps += int64(len(learnt.lits) + len(learnt.from))
	if len(learnt.lits) > 1 {
		s.watches[learnt.lits[0]] = append(s.watches[learnt.lits[0]], n)
		s.watches[learnt.lits[1]] = append(s.watches[learnt.lits[1]], n)
	}
	s.assign(learnt.lits[0], n)
	return true
}

// minimise leaves out literals if all literals of their reasons are in the clause.
func (s *search) minimise(c *clause) {
	kept := c.lits[:1]
	for _, l := range c.lits[1:] {
		r := s.because(l / 2)
		redundant := r >= 0
		if redundant {
			for _, x := range s.clauses[r].lits {
				if x/2 != l/2 && !s.seen[x/2] {
					redundant = false
					break
				}
			}
		}
		if redundant {
			c.from = append(c.from, r)
		} else {
			kept = append(kept, l)
		}
	}
	c.lits = kept
}

func (s *search) backtrack(level int32) {
	if int(level) >= len(s.limits) {
		return
	}
	n := s.limits[level]
	for i := len(s.trail) - 1; i >= n; i-- {
		p := s.trail[i] / 2
		s.value[p] = 0
		s.next = min(s.next, int(p))
		if s.heap != nil && s.heapAt[p] < 0 {
			s.push(p)
		}
	}
	if n < s.queue {
		s.ord.cut(s.cuts[n])
		if s.ahead != nil {
			s.ahead.reach.cut(s.ahead.marks[n])
		}
		s.queue = n
	}
	s.trail, s.limits = s.trail[:n], s.limits[:level]
}

// proof has the premises of a refutation: pairs, reads, arcs and derivations.
type proof struct{ pairs, reads, arcs, whys []int32 }

// proof marks what the refutation rests on.
func (s *search) proof() (p proof) {
	usedPair, usedClause, usedArc := map[int32]bool{}, map[int32]bool{}, map[int32]bool{}
	stack := []int32{s.final}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if id < 0 { // a pair that level 0 decides
			if id = s.because(-id - 1); id < 0 {
				continue
			}
		}
		if usedClause[id] {
			continue
		}
		usedClause[id] = true
		c := &s.clauses[id]
		stack = append(stack, c.from...)
		if c.read > 0 {
			p.reads = append(p.reads, c.read-1)
		}
		p.whys = append(p.whys, c.whys...)
		for _, l := range c.lits {
			if len(c.from) == 0 && !usedPair[l/2] && s.vars[l/2].read() < 0 {
				usedPair[l/2] = true
				p.pairs = append(p.pairs, l/2)
			}
			if s.value[l/2] != 0 && s.level[l/2] == 0 {
				stack = append(stack, -l/2-1)
			}
		}
		for _, a := range c.arcs {
			if !usedArc[a] {
				usedArc[a] = true
				p.arcs = append(p.arcs, a)
			}
		}
	}
	slices.Sort(p.pairs)
	slices.Sort(p.reads)
	slices.Sort(p.arcs)
	return p
}
