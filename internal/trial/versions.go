package trial

import "slices"

// putVersions places the transaction at the end of the order of a level below prefix. Each of
// its reads must be of a version that is there.
func (s *search) putVersions(at int) bool {
	if s.asksLess(at) {
		if !s.mayRead(at) {
			return false
		}
	} else if s.level.Base <= readCommitted {
		for i := range s.p.observations[at] {
			if !s.mayShow(at, &s.p.observations[at][i], s.level.Base == readCommitted) {
				return false
			}
		}
	}
	if s.level.Base <= readCommitted {
		s.pasts = append(s.pasts[:len(s.order)], 0)
		return s.put(at)
	}
	behind := uint64(0)
	for p, b := range s.order {
		if s.behind[at]>>b&1 == 1 {
			behind |= 1 << p
		}
	}
	if s.asksLess(at) && !s.readsCommitted(at) {
		s.pasts = append(s.pasts[:len(s.order)], behind)
		return s.put(at)
	}
	return s.choose(at, behind, make([]int32, 0, len(s.p.observations[at])))
}

// mayShow is for read committed, where each read stands for itself, and for read uncommitted,
// where only what is written over counts.
func (s *search) mayShow(at int, x *observation, committed bool) bool {
	switch {
	case x.how == misread:
		elems := s.cells[x.cell].elems
		return !committed || !slices.ContainsFunc(x.elems, func(e int32) bool { return !slices.Contains(elems, e) })
	case !committed && (x.how == showedSum || x.how == replaced || x.how == showedList || !x.over || !s.anotherLeaves(at, x)):
		return true
	}
	c := &s.cells[x.cell]
	if c.shows(x, version{at: -1}) {
		return true
	}
	return slices.ContainsFunc(c.versions, func(v version) bool { return c.shows(x, v) })
}

// anyLeftOut says whether a read shows what one left that is not placed.
func (s *search) anyLeftOut() bool {
	for _, at := range s.order {
		for i := range s.p.observations[at] {
			if s.showsLeftOut(&s.p.observations[at][i]) {
				return true
			}
		}
	}
	return false
}

// showsLeftOut says whether the observation shows a write of an unplaced transaction that may not
// have taken effect, and nobody else left it.
func (s *search) showsLeftOut(x *observation) bool {
	shown := x.elems
	switch {
	case x.how == showed && x.value != 0:
		shown = []int32{x.value}
	case x.how != showedList && x.how != misread:
		return false
	}
	for _, e := range shown {
		out, left := false, false
		for at := range s.placed {
			if t := s.txn(at); t.leaves(x.cell, e) {
				left = left || s.placed[at]
				out = out || t.maybe && !s.placed[at]
			}
		}
		if out && !left {
			return true
		}
	}
	return false
}

// leaves says whether t writes the value to the cell, or appends it there.
func (t *txn) leaves(cell, value int32) bool {
	return slices.ContainsFunc(t.writes, func(w write) bool {
		return w.cell == cell && (w.value == value || slices.Contains(w.elems, value))
	})
}

// passes says whether t writes the value to the register, and over it.
func (t *txn) passes(cell, value int32) bool {
	return slices.ContainsFunc(t.passed, func(w write) bool { return w.cell == cell && w.value == value })
}

// anotherLeaves says whether another transaction of the part leaves what the observation shows.
func (s *search) anotherLeaves(reader int, x *observation) bool {
	if x.how == another || x.value == 0 {
		return true
	}
	for at := range s.placed {
		if at == reader {
			continue
		}
		for _, w := range s.txn(at).writes {
			if w.cell == x.cell && w.value == x.value {
				return true
			}
		}
	}
	return false
}

// choose takes a version for each of the transaction's reads, and places it when all have
// one and none misses anything of its past.
func (s *search) choose(at int, behind uint64, of []int32) bool {
	observations := s.p.observations[at]
	if len(of) == len(observations) {
		s.budget--
		past, ok := s.pastOf(at, behind, of)
		if !ok || s.budget <= 0 {
			return false
		}
		s.pasts = append(s.pasts[:len(s.order)], past)
		return s.put(at)
	}
	x := &observations[len(of)]
	c := &s.cells[x.cell]
	for i := len(c.versions) - 1; i >= 0; i-- { // the latest first: it misses least
		if v := c.versions[i]; c.shows(x, v) && s.choose(at, behind, append(of, v.at)) {
			return true
		}
	}
	return c.shows(x, version{at: -1}) && s.choose(at, behind, append(of, -1))
}

// from are the places of those whose version the read shows: of a list or counter, of all up
// to it.
func (s *search) from(x *observation, of int32) (places uint64) {
	for _, v := range s.cells[x.cell].versions {
		if v.at == of || v.at < of && (x.how == showedList || x.how == showedSum || x.how == replaced) {
			places |= 1 << v.at
		}
	}
	return places
}

// pastOf is the past of the transaction where its reads are of these versions. ok is false if one
// of them misses a write of the past (Biswas and Enea, figures 2a to 2c).
func (s *search) pastOf(at int, behind uint64, of []int32) (past uint64, ok bool) {
	observations := s.p.observations[at]
	past = behind
	for i := range observations {
		past |= s.from(&observations[i], of[i])
	}
	if s.level.Base == causal {
		for p := range s.order {
			if past>>p&1 == 1 {
				past |= s.pasts[p]
			}
		}
	}
	for i := range observations {
		x, seen := &observations[i], past
		if s.asksLess(at) {
			break // it may miss something
		}
		if s.level.Base == monotonicAtomicView {
			seen = 0
			for j := range observations {
				if y := &observations[j]; y.op < x.op || y.op == x.op && j != i { // what one scan shows is read all at once
					seen |= s.from(y, of[j])
				}
			}
		}
		for _, v := range s.cells[x.cell].versions {
			if v.at > of[i] && seen>>v.at&1 == 1 {
				return 0, false
			}
		}
	}
	return past, true
}

// listsGrow says whether each first read of a list shows a beginning of its final state, as far
// as it shows elements that somebody left. It must show no element more often than it was
// appended.
func (s *search) listsGrow() bool {
	for at := range s.placed {
		if !s.placed[at] {
			continue
		}
		for i := range s.p.observations[at] {
			x := &s.p.observations[at][i]
			if x.how != showedList || !x.first {
				continue
			}
			all := s.cells[x.cell].elems
			shown := slices.DeleteFunc(slices.Clone(x.elems), func(e int32) bool { return !slices.Contains(all, e) })
			if len(shown) > len(all) || !slices.Equal(shown, all[:len(shown)]) {
				return false
			}
			for _, e := range x.own {
				if count(shown, e)+count(x.own, e) > count(all, e) {
					return false
				}
			}
		}
	}
	return true
}

func count(elems []int32, e int32) (n int) {
	for _, x := range elems {
		if x == e {
			n++
		}
	}
	return n
}
