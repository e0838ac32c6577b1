package solve

// The heap of variables by activity (VSIDS: Moskewicz et al., Chaff, DAC 2001); ties go
// to the lower number.

func (s *search) useHeap() {
	if s.heap != nil {
		return
	}
	s.heapAt = make([]int32, len(s.vars))
	s.heap = make([]int32, 0, len(s.vars))
	for p := range s.heapAt {
		s.heapAt[p] = -1
	}
	for p := range s.heapAt {
		s.push(int32(p))
	}
}

func (s *search) bumped(p int32) {
	s.activity[p] += s.bump
	if s.activity[p] > 1e100 {
		for i := range s.activity {
			s.activity[i] *= 1e-100
		}
		s.bump *= 1e-100
	}
	if s.heap != nil && s.heapAt[p] >= 0 {
		s.up(int(s.heapAt[p]))
	}
}

func (s *search) above(p, q int32) bool {
	return s.activity[p] > s.activity[q] || s.activity[p] == s.activity[q] && p < q
}

func (s *search) push(p int32) {
	s.heap = append(s.heap, p)
	s.heapAt[p] = int32(len(s.heap) - 1)
	s.up(len(s.heap) - 1)
}

func (s *search) up(i int) {
	p := s.heap[i]
	for i > 0 && s.above(p, s.heap[(i-1)/2]) {
		s.heap[i] = s.heap[(i-1)/2]
		s.heapAt[s.heap[i]] = int32(i)
		i = (i - 1) / 2
	}
	s.heap[i], s.heapAt[p] = p, int32(i)
}

func (s *search) pop() int32 {
	top := s.heap[0]
	s.heapAt[top] = -1
	p := s.heap[len(s.heap)-1]
	s.heap = s.heap[:len(s.heap)-1]
	if len(s.heap) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(s.heap) {
			break
		}
		if c+1 < len(s.heap) && s.above(s.heap[c+1], s.heap[c]) {
			c++
		}
		if !s.above(s.heap[c], p) {
			break
		}
		s.heap[i] = s.heap[c]
		s.heapAt[s.heap[i]] = int32(i)
		i = c
	}
	s.heap[i], s.heapAt[p] = p, int32(i)
	return top
}
