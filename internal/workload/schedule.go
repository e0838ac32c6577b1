package workload

// schedule is a binary min-heap of values by instant; equal instants leave in
// the order of their pushes, so that a run is reproducible.
type schedule[T any] struct {
	entries []entry[T]
	count   uint64
}

type entry[T any] struct {
	at    int64
	order uint64
	value T
}

func (e *entry[T]) before(o *entry[T]) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

func (s *schedule[T]) push(at int64, value T) {
	s.count++
	s.entries = append(s.entries, entry[T]{at, s.count, value})
	for i := len(s.entries) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.entries[i].before(&s.entries[parent]) {
			return
		}
		s.entries[i], s.entries[parent] = s.entries[parent], s.entries[i]
		i = parent
	}
}

// pop removes the earliest value; the schedule must not be empty.
func (s *schedule[T]) pop() (int64, T) {
	first := s.entries[0]
	n := len(s.entries) - 1
	s.entries[0] = s.entries[n]
	s.entries[n] = entry[T]{}
	s.entries = s.entries[:n]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if s.entries[c].before(&s.entries[least]) {
				least = c
			}
		}
		if least == i {
			return first.at, first.value
		}
		s.entries[i], s.entries[least] = s.entries[least], s.entries[i]
		i = least
	}
}
