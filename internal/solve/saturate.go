package solve

// derivation is why an arc was added: the head of unit before reaches the source of unit after,
// or is it. So the other order would close a cycle. Without units, the reason is that a read
// has one candidate left.
type derivation struct {
	before, after int32
	head, source  Node
	arcs          int32 // those that were known then
	via           int32 // the read by which source is a reader of after, -1 for none
	read          int32 // the read by which the arc leads from a reader of before, -1 for none
}

// solver is a problem on its way.
type solver struct {
	p     *Problem
	g     *graph
	c     *clocks
	dep   lanes // by Unit.In
	anti  lanes // by Unit.InAnti; empty where both are one
	split bool
	// Where the units of a key were found last.
	depAt, antiAt cursors
	place         []int64 // what comes first where the order is open
	ordered       int     // arcs that the order agrees with, of all of them the first
	// The scratch memory of the walks.
	walks     bool // the order is one of all arcs
	maxWalk   int32
	lined     []stand // the units of each key as they lie in the order
	behindAll []int32 // by place there
	before    []int32 // units
	beside    []int32 // places
	// nowhere is a read without a candidate that is left, -1 for none.
	nowhere int32
	whys    []derivation
	stats   Stats

	// units are the problem's units. With reads, which become readers of units, they are the
	// solver's own.
	units   []Unit
	found   [][]int32 // by unit: the reads that have become readers of it
	reads   []reading
	settled int                // reads that have one candidate
	behind  map[int32][]behind // by candidate of open reads: see mustFollow
}

// saturate adds the edges of every order that is forced, to a fixpoint. It returns
// false when they close a cycle.
func (s *solver) saturate() bool {
	for round := int32(1); ; round++ {
		s.stats.Rounds++
		if s.walks {
			s.line()
		}
		first, settled := len(s.g.arcs), s.settled
		for k := range s.p.numKeys() {
			if from, to := s.p.unitsOf(k); to-from >= 2 {
				s.forceKey(k, round, int32(first))
			}
		}
		for i := range s.reads {
			if s.reads[i].of < 0 && !s.narrow(i, int32(first)) {
				s.nowhere = int32(i)
				return false
			}
		}
		if len(s.g.arcs) == first && s.settled == settled {
			return true
		}
		if !s.take(first, round) {
			return false
		}
	}
}

// take takes the arcs from first on into the clocks; false when they close a cycle.
// A few are followed from node to node, many in one go through an order of all nodes.
func (s *solver) take(first int, round int32) bool {
	s.walks = false
	if len(s.g.arcs)-first < s.g.n/16 && s.c.follow(s.g, first, round, s.g.n/4) {
		for _, a := range s.g.arcs[first:] {
			if s.c.reaches(a.to, a.from) {
				return false
			}
		}
		return true
	}
	if !s.reorder() {
		return false
	}
	s.walks = true
	s.c.update(s.g, first, round)
	return true
}

// reorder makes the order one of all arcs.
func (s *solver) reorder() bool {
	from := s.ordered
	s.ordered = len(s.g.arcs)
	for i := from; i < len(s.g.arcs); i++ {
		if a := &s.g.arcs[i]; s.g.pos[a.from] >= s.g.pos[a.to] {
			key := make([]int64, s.g.n)
			for v, at := range s.g.pos {
				key[v] = int64(at)
			}
			return s.g.sort(key)
		}
	}
	return true
}

// fewUnits of a key need no walks. An arc that follows in two ways is derived in both there:
// the later one may rest on less.
const fewUnits = 4

// forceKey finds what must come before the units of key k. After a round that moved few
// clocks, that is looked for on the tracks that have moved; else by walks.
func (s *solver) forceKey(k int, round, known int32) {
	from, to := s.p.unitsOf(k)
	s.depAt = s.depAt.reset(s.dep.of(k))
	s.antiAt = s.antiAt.reset(s.heads().of(k))
	line, behindAll := s.lined[from:to], s.behindAll[from:to]
	walks := s.walks && to-from > fewUnits
	for i := range line {
		a := line[i].unit
		if !walks {
			a = from + int32(i)
		}
		u := &s.units[a]
		near := walks && s.walk(line, behindAll, i)
		switch moved := round == 1 || s.c.moved[u.Out] == round-1; {
		case !moved:
		case !walks:
			s.force(k, a, s.c.before(u.Out, round-1), known)
		default:
			s.forceNear(line[i+1:], a, known)
			if !near {
				s.force(k, a, s.clockBefore(), known)
			}
		}
		for j, r := range u.Readers {
			if round > 1 && s.c.moved[r] != round-1 || near && s.forceReaderNear(line, i, j, known) {
				continue
			}
			above := s.c.none
			if to-from > fewUnits {
				above = s.c.row(u.Out)
			}
			s.forceReader(k, a, j, above, s.c.before(r, round-1), known)
		}
	}
}

// forceNear orders what the walk from a found, and looks at what follows a in the line.
func (s *solver) forceNear(next []stand, a, known int32) {
	u := &s.units[a]
	for _, b := range s.before {
		s.order(b, a, s.units[b].In, u.Out, known)
	}
	if u.In == u.Out {
		return
	}
	row, end := s.c.row(u.Out), s.g.pos[u.Out]
	for j := 0; j < len(next) && next[j].pos <= end; j++ {
		if x := &next[j]; row[x.track] > x.at {
			s.order(x.unit, a, s.units[x.unit].In, u.Out, known)
		}
	}
}

// clockBefore is the clock of the nearest unit that the walk found to come before.
func (s *solver) clockBefore() []int32 {
	if len(s.before) == 0 {
		return nil
	}
	return s.c.row(s.units[s.before[0]].Out)
}

// force finds the units of key k that must come before a, without units that an older clock had
// shown already. The last unit of each track is enough: it comes behind the others.
func (s *solver) force(k int, a int32, old []int32, known int32) {
	if old == nil {
		old = s.c.none
	}
	u := &s.units[a]
	row := s.c.row(u.Out)
	for i, x := range s.dep.of(k) {
		if b := s.depAt.between(&s.dep, i, x, old[x.track], row[x.track], a); b >= 0 {
			s.order(b, a, s.units[b].In, u.Out, known)
		}
	}
}

// forceReaderNear finds the units that must come before the i-th of the line because they
// reach its j-th reader: what reached the unit has been found. It returns false when that
// takes too long.
func (s *solver) forceReaderNear(line []stand, i, j int, known int32) bool {
	a := line[i].unit
	u := &s.units[a]
	r := u.Readers[j]
	end := s.g.pos[r]
	if n := i + 1 + int(s.maxWalk); n < len(line) && line[n].pos <= end {
		return false
	}
	via := s.readOf(a, j)
	look := func(b int32) {
		if s.c.reaches(s.units[b].InAnti, r) && !s.passes(a, j, b) {
			s.orderVia(b, a, s.units[b].InAnti, r, known, via)
		}
	}
	for _, n := range s.beside {
		look(line[n].unit)
	}
	for n := i + 1; n < len(line) && line[n].pos <= end; n++ {
		look(line[n].unit)
	}
	return true
}

// forceReader finds the units of key k that must come before a because they reach its j-th
// reader. It leaves out units that reach it through above, or that an older clock had shown
// already.
func (s *solver) forceReader(k int, a int32, j int, above, old []int32, known int32) {
	if old == nil {
		old = s.c.none
	}
	r, via, own := s.units[a].Readers[j], s.readOf(a, j), a
	if via >= 0 {
		own = s.p.Reads[via].Own
	}
	row := s.c.row(r)
	heads := s.heads()
	for i, x := range heads.of(k) {
		t := x.track
		if b := s.antiAt.between(heads, i, x, max(above[t], old[t]), row[t], own); b >= 0 && b != a {
			s.orderVia(b, a, s.units[b].InAnti, r, known, via)
		}
	}
}

// order adds what is missing of the edges that put unit b before unit a.
func (s *solver) order(b, a int32, head, source Node, known int32) {
	s.orderVia(b, a, head, source, known, -1)
}

// orderVia is order where source is a reader of a by the read via.
func (s *solver) orderVia(b, a int32, head, source Node, known, via int32) {
	x, y := &s.units[b], &s.units[a]
	why := int32(-1)
	link := func(from, to Node) {
		if s.c.reaches(from, to) {
			return
		}
		if why < 0 {
			why = int32(len(s.whys))
			s.whys = append(s.whys, derivation{b, a, head, source, known, via, -1})
		}
		s.g.add(from, to, why)
		s.stats.Derived++
	}
	link(x.Out, y.In)
	for j, r := range x.Readers {
		if read := s.readOf(b, j); read < 0 {
			link(r, y.InAnti)
		} else if s.p.Reads[read].Own != a && !s.c.reaches(r, y.InAnti) {
			s.whys = append(s.whys, derivation{b, a, head, source, known, via, read})
			s.g.add(r, y.InAnti, int32(len(s.whys)-1))
			s.stats.Derived++
		}
	}
}

// forced says whether unit a comes before unit b in every order.
func (s *solver) forced(a, b int32) bool {
	x, y := &s.units[a], &s.units[b]
	if s.c.reaches(x.In, y.Out) {
		return true
	}
	for j, r := range y.Readers {
		if s.c.reaches(x.InAnti, r) && !s.passes(b, j, a) {
			return true
		}
	}
	return false
}

// open lists the pairs of units without a forced order; false when there are more
// than most. The order must be one of all arcs: of a pair, the unit that comes first in it
// is looked for from the other one.
func (s *solver) open(most int) ([]variable, bool) {
	var pairs []variable
	s.line()
	take := func(a, b int32) {
		if !s.free(a, b) && !s.forced(a, b) && !s.forced(b, a) {
			pairs = append(pairs, variable{pairOf(a, b)})
		}
	}
	for k := range s.p.numKeys() {
		from, to := s.p.unitsOf(k)
		if to-from < 2 {
			continue
		}
		segments := s.dep.of(k)
		s.depAt = s.depAt.reset(segments)
		line, behindAll := s.lined[from:to], s.behindAll[from:to]
		for i := range line {
			a := line[i].unit
			if s.walk(line, behindAll, i) {
				for _, n := range s.beside {
					take(a, line[n].unit)
				}
			} else {
				row := s.c.row(s.units[a].Out)
				for j, x := range segments {
					n := s.dep.seek(x, s.depAt[j], row[x.track]) // what lies before is forced to come before a
					for s.depAt[j] = n; n < x.to; n++ {
						b := s.dep.entries[n].unit
						if s.g.pos[s.units[b].In] >= line[i].pos {
							break
						}
						take(a, b)
					}
				}
			}
			if len(pairs) > most {
				return nil, false
			}
		}
	}
	return pairs, true
}

// free says whether any order of the nodes orders a and b: nobody read either.
func (s *solver) free(a, b int32) bool {
	if s.behind != nil {
		if _, read := s.behind[a]; read {
			return false
		}
		if _, read := s.behind[b]; read {
			return false
		}
	}
	x, y := &s.units[a], &s.units[b]
	return !s.split && len(x.Readers) == 0 && len(y.Readers) == 0 && x.In == x.Out && y.In == y.Out
}
