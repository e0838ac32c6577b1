package trial

import "slices"

// putState places the transaction at the end of the order, if it has read one state. Under
// serializability it is the state at its own place. Under snapshot isolation nobody may have
// changed, since that state, what it changes.
func (s *search) putState(at int) bool {
	if s.asksLess(at) {
		return s.mayRead(at) && s.put(at)
	}
	place := int32(len(s.order))
	earliest := int32(0)
	switch {
	case s.level.Base == serializable:
		earliest = place
	default:
		earliest = s.earliest(at)
	}
	for q := place; q >= earliest; q-- {
		s.budget--
		if s.readsState(at, q) {
			return s.put(at)
		}
		if q > 0 && s.level.Base == snapshotIsolation && s.conflicts(at, s.order[q-1]) {
			return false
		}
	}
	return false
}

// earliest is the first state that shows all that the transaction follows.
func (s *search) earliest(at int) int32 {
	if !s.level.Session && !s.level.Time {
		return 0
	}
	for p := len(s.order) - 1; p >= 0; p-- {
		if _, past := s.p.h.before(s.level, s.txn(int(s.order[p])), s.txn(at)); past {
			return int32(p) + 1
		}
	}
	return 0
}

func (s *search) readsState(at int, q int32) bool {
	observations := s.p.observations[at]
	for i := range observations {
		c := &s.cells[observations[i].cell]
		if !c.shows(&observations[i], c.upTo(q)) {
			return false
		}
	}
	return true
}

// conflicts says whether both change a cell. Where a row is not its key, take a transaction
// that inserts a row where there is none. It does not conflict with the deleter of the row
// before. It does not conflict either with the writer of a row that one outside of the part may
// have deleted. Two that leave the same element in a set do not conflict: either leaves what the
// other one does.
func (s *search) conflicts(at int, other int32) bool {
	for _, w := range s.txn(at).writes {
		if s.p.h.rows && w.value != 0 && s.p.h.cells[w.cell].kind == register &&
			(s.cells[w.cell].last().value == 0 || s.p.begins != nil && s.p.begins[w.cell]) {
			continue
		}
		for _, x := range s.txn(int(other)).writes {
			if x.cell == w.cell && !(s.p.h.cells[w.cell].kind == element && w.value != 0 && x.value != 0) {
				return true
			}
		}
	}
	return false
}

// dead says whether one that is to be placed yet read what t has just replaced, and nobody
// brings back. Under serializability only: elsewhere it may have read an earlier state.
func (s *search) dead(t *txn) bool {
	if s.level.Base != serializable {
		return false
	}
	for _, w := range t.writes {
		if s.p.h.cells[w.cell].kind == counter {
			continue
		}
		c := &s.cells[w.cell]
		for _, r := range s.p.readers[w.cell] {
			if s.placed[r] || s.txn(int(r)).maybe || s.asksLess(int(r)) {
				continue
			}
			for i := range s.p.observations[r] {
				if x := &s.p.observations[r][i]; x.cell == w.cell && s.gone(c, x) {
					return true
				}
			}
		}
	}
	return false
}

// gone says whether what the observation shows was there and is not there any more.
func (s *search) gone(c *contents, x *observation) bool {
	switch x.how {
	case showedList:
		if n := len(c.elems); len(x.elems) < n {
			return true
		}
		for i, e := range c.elems {
			if x.elems[i] != e {
				return true
			}
		}
	case showed:
		n := len(c.versions)
		if n == 0 || c.versions[n-1].value == x.value || x.told != 0 {
			return false
		}
		if x.value == 0 { // the cell is as it was before all transactions
			return !s.comesBack(x)
		}
		for _, v := range c.versions[:n-1] {
			if v.value == x.value {
				return !s.comesBack(x)
			}
		}
	}
	return false
}

// comesBack says whether one that is not placed leaves what the observation shows.
func (s *search) comesBack(x *observation) bool {
	for _, i := range s.p.h.cells[x.cell].writers {
		for _, w := range s.p.h.txns[i].writes {
			if w.cell == x.cell && w.value == x.value && !s.isPlaced(i) {
				return true
			}
		}
	}
	return false
}

func (s *search) isPlaced(i int32) bool {
	at, ok := slices.BinarySearch(s.p.of, i)
	return ok && s.placed[at]
}
