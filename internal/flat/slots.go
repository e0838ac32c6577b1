package flat

import "math/bits"

// Slots is which places of an array are free, and hands them out in the order of
// their addresses, around and around. What was made together so stays together
// in memory however long the array is in use, and goes together: with a stack
// of free places neighbours drift apart, and every visit is a wait for memory.
// The zero value has no place.
type Slots struct {
	free  []uint64 // bit i of word w: place 64w+i is free
	count int      // of them
	word  int      // the hand: words before it were looked through in this round
}

// Take is a free place, and false when there are none, or too few to be worth
// looking for: under one in 64. The array is to grow then. O(1) amortised.
func (s *Slots) Take() (uint32, bool) {
	if s.count <= len(s.free) {
		return 0, false
	}
	for s.free[s.word] == 0 {
		if s.word++; s.word == len(s.free) {
			s.word = 0
		}
	}
	w := s.free[s.word]
	s.free[s.word] = w & (w - 1)
	s.count--
	return uint32(64*s.word + bits.TrailingZeros64(w)), true
}

// Give makes place i free. It must not be free already.
func (s *Slots) Give(i uint32) {
	for int(i>>6) >= len(s.free) {
		s.free = append(s.free, 0)
	}
	s.free[i>>6] |= 1 << (i & 63)
	s.count++
}

// Len is the number of free places.
func (s *Slots) Len() int { return s.count }

// Free says whether place i is free.
func (s *Slots) Free(i uint32) bool {
	return int(i>>6) < len(s.free) && s.free[i>>6]&(1<<(i&63)) != 0
}

// Bytes is the memory of the places' bits.
func (s *Slots) Bytes() int64 { return 8 * int64(cap(s.free)) }

// AppendState writes s to dst.
func (s *Slots) AppendState(dst []byte) []byte {
	head := [2]int64{int64(s.count), int64(s.word)}
	return Append(AppendValue(dst, &head), s.free)
}

// ReadState replaces s by what AppendState wrote.
func (s *Slots) ReadState(r *Reader) {
	var head [2]int64
	ReadValue(r, &head)
	Read(r, &s.free)
	s.count, s.word = int(head[0]), int(head[1])
	n := 0
	for _, w := range s.free {
		n += bits.OnesCount64(w)
	}
	if r.Err == nil && (n != s.count || s.word < 0 || s.word > 0 && s.word >= len(s.free)) {
		r.Err = ErrShort
	}
}
