package solve

import (
	"cmp"
	"slices"
)

// entry is a unit of a key on a track.
type entry struct {
	at, unit int32
}

// segment is the units of one key on one track, in its order.
type segment struct {
	track, from, to int32 // entries
}

// lanes are the units of all keys by track, by the node that edges of one kind
// lead to.
type lanes struct {
	entries  []entry
	segments []segment
	first    []int32 // by key: its first segment
}

// derivation is why an arc was added: head of unit before reaches the source of
// unit after, or is it, so that the other order would close a cycle. Without units
// it is that a read has one candidate left.
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
	// nowhere is a read without a candidate that is left, -1 for none.
	nowhere int32
	whys    []derivation
	stats   Stats

	// units are those of the problem; with reads, which become readers of units, its own.
	units   []Unit
	found   [][]int32 // by unit: the reads that have become readers of it
	reads   []reading
	settled int                // reads that have one candidate
	behind  map[int32][]behind // by candidate of open reads: see mustFollow
}

func (s *solver) lay(head func(*Unit) Node) lanes {
	var l lanes
	l.entries = make([]entry, 0, len(s.p.Units))
	l.first = make([]int32, 0, s.p.numKeys()+1)
	for k := range s.p.numKeys() {
		from, to := s.p.unitsOf(k)
		start := len(l.entries)
		for u := from; u < to; u++ {
			l.entries = append(l.entries, entry{s.c.at[head(&s.p.Units[u])], u})
		}
		es := l.entries[start:]
		slices.SortFunc(es, func(a, b entry) int {
			x, y := head(&s.p.Units[a.unit]), head(&s.p.Units[b.unit])
			return cmp.Or(cmp.Compare(s.c.track[x], s.c.track[y]), cmp.Compare(a.at, b.at), cmp.Compare(a.unit, b.unit))
		})
		l.first = append(l.first, int32(len(l.segments)))
		last := int32(-1)
		for i := range es {
			t := s.c.track[head(&s.p.Units[es[i].unit])]
			if t != last {
				l.segments = append(l.segments, segment{t, int32(start + i), int32(start + i)})
				last = t
			}
			l.segments[len(l.segments)-1].to++
		}
	}
	l.first = append(l.first, int32(len(l.segments)))
	return l
}

// before is the index of the first entry of the segment at or behind the place.
func (l *lanes) before(x segment, place int32) int32 {
	lo, hi := x.from, x.to
	if hi-lo <= 8 {
		for lo < hi && l.entries[lo].at < place {
			lo++
		}
		return lo
	}
	for lo < hi {
		if mid := (lo + hi) / 2; l.entries[mid].at < place {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// saturate adds the edges of every order that is forced, to a fixpoint. It returns
// false when they close a cycle.
func (s *solver) saturate() bool {
	for round := int32(1); ; round++ {
		s.stats.Rounds++
		first, settled := len(s.g.arcs), s.settled
		for k := range s.p.numKeys() {
			from, to := s.p.unitsOf(k)
			if to-from < 2 {
				continue
			}
			for a := from; a < to; a++ {
				s.force(k, a, round, int32(first))
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
		if !s.reorder(first) {
			return false
		}
		s.c.update(s.g, first, round)
	}
}

// reorder makes the order one of all arcs, those from first on included.
func (s *solver) reorder(first int) bool {
	for i := first; i < len(s.g.arcs); i++ {
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

// force finds the units of key k that must come before a. Of each track the last
// one is enough: it comes behind the others.
func (s *solver) force(k int, a, round, known int32) {
	u := &s.units[a]
	if round == 1 || s.c.moved[u.Out] == round-1 {
		row := s.c.row(u.Out)
		for _, x := range s.dep.segments[s.dep.first[k]:s.dep.first[k+1]] {
			if b := s.dep.last(x, row[x.track], a); b >= 0 {
				s.order(b, a, s.units[b].In, u.Out, known)
			}
		}
	}
	heads := s.heads()
	for j, r := range u.Readers {
		if round > 1 && s.c.moved[r] != round-1 {
			continue
		}
		row := s.c.row(r)
		if via := s.readOf(a, j); via >= 0 {
			for _, x := range heads.segments[heads.first[k]:heads.first[k+1]] {
				if b := heads.last(x, row[x.track], s.p.Reads[via].Own); b >= 0 && b != a {
					s.orderVia(b, a, s.units[b].InAnti, r, known, via)
				}
			}
			continue
		}
		for _, x := range heads.segments[heads.first[k]:heads.first[k+1]] {
			if b := heads.last(x, row[x.track], a); b >= 0 {
				s.order(b, a, s.units[b].InAnti, r, known)
			}
		}
	}
}

// last is the last unit of the segment before the place that is not a, -1 for none.
func (l *lanes) last(x segment, place, a int32) int32 {
	i := l.before(x, place) - 1
	if i >= x.from && l.entries[i].unit == a {
		i--
	}
	if i < x.from {
		return -1
	}
	return l.entries[i].unit
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
// than most.
func (s *solver) open(most int) ([]variable, bool) {
	var pairs []variable
	for k := range s.p.numKeys() {
		from, to := s.p.unitsOf(k)
		if to-from < 2 {
			continue
		}
		for a := from; a < to; a++ {
			for _, x := range s.dep.segments[s.dep.first[k]:s.dep.first[k+1]] {
				for i := s.firstOpen(a, x); i < x.to; i++ {
					b := s.dep.entries[i].unit
					if b == a {
						continue
					}
					if s.forced(a, b) {
						break
					}
					if a < b && !s.free(a, b) && !s.forced(b, a) {
						if pairs = append(pairs, variable{Pair{a, b}}); len(pairs) > most {
							return nil, false
						}
					}
				}
			}
		}
	}
	return pairs, true
}

// firstOpen is the first entry of the segment that may be open with a: what comes
// before it is forced to come before a.
func (s *solver) firstOpen(a int32, x segment) int32 {
	u := &s.units[a]
	place := s.c.row(u.Out)[x.track]
	if !s.split {
		for _, r := range u.Readers {
			place = max(place, s.c.row(r)[x.track])
		}
	}
	return s.dep.before(x, place)
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
