package solve

import (
	"cmp"
	"slices"
)

// Let the order of the nodes be about the order of time. Then the units of a key that are not
// yet ordered with one of them lie near it. A walk goes back from a unit along the line of its
// key, over the nearest units that must come before it. It ends when all units further back are
// known to come before one of those. A walk that gets long is given up. The tracks are asked
// then, with a search in each.

// stand is where a unit stands in the order, by its first node.
type stand struct {
	pos, unit int32
	track, at int32
}

// maxWalk bounds the units that a walk looks at.
const maxWalk = 16

// line puts the units of each key down as they lie in the order.
func (s *solver) line() {
	if s.lined == nil {
		s.lined, s.behindAll = make([]stand, len(s.p.Units)), make([]int32, len(s.p.Units))
		for u := range s.p.Units {
			s.lined[u].unit = int32(u)
		}
	}
	for k := range s.p.numKeys() {
		from, to := s.p.unitsOf(k)
		line, sorted := s.lined[from:to], true
		for i := range line {
			x := &line[i]
			v := s.p.Units[x.unit].In
			x.pos, x.track, x.at = s.g.pos[v], s.c.track[v], s.c.at[v]
			sorted = sorted && (i == 0 || line[i-1].pos < x.pos)
		}
		if !sorted {
			slices.SortFunc(line, func(a, b stand) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.unit, b.unit)) })
		}
	}
}

// walk looks at the units that lie before the i-th of the line. before are those that must come
// before it, except those that come before another of them. beside are the others. It returns
// false when that takes too long; before is then some of them.
//
// behindAll says of each unit that was looked at how many of the line, from its beginning, must
// all come before it.
func (s *solver) walk(line []stand, behindAll []int32, i int) bool {
	s.before, s.beside = s.before[:0], s.beside[:0]
	row := s.c.row(s.units[line[i].unit].Out)
	all, lowest := int32(0), int32(i)
	for j := int32(i) - 1; j >= all; j-- {
		if int32(i)-j > s.maxWalk {
			behindAll[i] = all
			return false
		}
		x := &line[j]
		if row[x.track] <= x.at {
			s.beside, lowest = append(s.beside, j), j
			continue
		}
		all = max(all, behindAll[j])
		if !s.beforeOther(x) {
			s.before = append(s.before, x.unit)
		}
	}
	behindAll[i] = lowest
	return true
}

// beforeOther says whether the unit must come before one of those in before, as far as a
// look at the latest tells.
func (s *solver) beforeOther(x *stand) bool {
	if n := len(s.before); n > 0 {
		return s.c.row(s.units[s.before[n-1]].Out)[x.track] > x.at
	}
	return false
}
