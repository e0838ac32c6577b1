package solve

// With foresight a search leaves a pair open as long as the present ranks order it: they are
// an order of all edges. It decides the pairs that they do not order. An order is found when
// there is none. A conflict takes edges away and leaves the ranks, so few pairs are to be
// decided again. With open reads all variables are decided.

// lazy says whether the search leaves pairs open.
func (s *search) lazy() bool { return s.ahead != nil && s.mayRead == nil }

// chooseMisfit is an open pair that the ranks do not order, -1 if there is none.
func (s *search) chooseMisfit() int32 {
	for len(s.heap) > 0 {
		if p := s.pop(); s.value[p] == 0 && !s.ordered(p) {
			return p
		}
	}
	for range s.vars {
		if s.next >= len(s.vars) {
			s.next = 0
		}
		if s.value[s.next] == 0 && !s.ordered(int32(s.next)) {
			return int32(s.next)
		}
		s.next++
	}
	return -1
}

// ordered says whether the ranks order the units of a pair, with their readers.
func (s *search) ordered(p int32) bool {
	s.looks++
	first, then := s.sides(2*p + s.polarity(p))
	a, b := &s.units[first], &s.units[then]
	if !s.precedes(a.Out, b.In) {
		return false
	}
	for j, r := range a.Readers {
		if !s.precedes(r, b.InAnti) {
			if _, ok := s.says(first, then, j); ok {
				return false
			}
		}
	}
	return true
}

// precedes says whether an edge would follow the ranks, or leads out of the component.
func (s *search) precedes(from, to Node) bool {
	x, y := s.local[from], s.local[to]
	return x < 0 || y < 0 || s.ord.rank[x] < s.ord.rank[y]
}

// settle gives the open pairs the order of the ranks.
func (s *search) settle() {
	for p := range s.value {
		if s.value[p] == 0 {
			s.value[p] = int8(s.polarity(int32(p))) + 1
		}
	}
}
