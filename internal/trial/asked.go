package trial

// A transaction may have asked for less than a level. It is promised no more than it asked for.
// So a level is judged by the reads of the others. Its writes count, at one place of the
// order. Its reads are of what had been committed by then, if it asked for read committed. Else what
// it wrote over must have been there. The lists that it read show which elements stand before the others.

// asksLess says whether transaction i was not promised the base.
func (h *History) asksLess(i int32, b Base) bool { return h.lacks != nil && h.lacks(int(i), b) }

func (h *History) anyAsksLess(b Base) bool {
	for i := range h.txns {
		if h.asksLess(int32(i), b) {
			return true
		}
	}
	return false
}

// wrongAt says whether transaction i of the part contradicts itself as the level forbids.
func (p *part) wrongAt(i int32, l Level) bool {
	return p.h.txns[i].wrong && l.Base >= monotonicAtomicView && !(p.asAsked && p.h.asksLess(i, monotonicAtomicView))
}

// noteLess finds who asked for less.
func (s *search) noteLess() {
	s.less = make([]bool, len(s.p.of))
	for at, i := range s.p.of {
		s.less[at] = s.p.h.asksLess(i, s.level.Base)
		s.free = s.free || s.less[at] && !s.readsCommitted(at)
	}
}

func (s *search) asksLess(at int) bool { return s.less != nil && s.less[at] }

// mayRead says whether one that asked for less may have read what it did, at the end of the order.
func (s *search) mayRead(at int) bool {
	committed := s.readsCommitted(at)
	for i := range s.p.observations[at] {
		if !s.mayShow(at, &s.p.observations[at][i], committed) {
			return false
		}
	}
	return true
}

// readsCommitted says whether one that asked for less asked for read committed.
func (s *search) readsCommitted(at int) bool { return !s.p.h.asksLess(s.p.of[at], readCommitted) }
