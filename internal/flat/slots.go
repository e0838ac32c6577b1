package flat

import "math/bits"

// Slots knows the free places of an array, and hands them out in the order of their addresses,
// around and around. So objects that were made together stay together in memory however long
// the array is in use, and go together. With a stack of free places neighbours drift apart, and
// every visit is a wait for memory. The zero value has no place.
type Slots struct {
	free  []uint64 // bit i of word w: place 64w+i is free
	hand  uint64   // what is left of the word that places are taken from; its bits in free are those freed since
	count int      // of free places
	word  int      // that word
}

// Take is a free place, and false when there are none, or too few to be worth
// looking for: under one in 64. The array is to grow then. O(1) amortised.
func (s *Slots) Take() (i uint32, ok bool) {
	if s.hand == 0 {
		if s.count <= len(s.free) {
			return
		}
		for s.free[s.word] == 0 {
			if s.word++; s.word == len(s.free) {
				s.word = 0
			}
		}
		s.hand, s.free[s.word] = s.free[s.word], 0
	}
	i = uint32(64*s.word + bits.TrailingZeros64(s.hand))
	s.hand &= s.hand - 1
	s.count--
	return i, true
}

// TakeSome is Take for as many places as into has room for, and returns how many it
// found.
func (s *Slots) TakeSome(into []uint32) int {
	for k := 0; k < len(into); {
		i, ok := s.Take() // moves the hand on
		if !ok {
			return k
		}
		into[k] = i
		k++
		hand, word := s.hand, i&^63
		first := k
		for ; hand != 0 && k < len(into); k++ {
			into[k] = word + uint32(bits.TrailingZeros64(hand))
			hand &= hand - 1
		}
		s.hand = hand
		s.count -= k - first
	}
	return len(into)
}

// Give makes place i free. It must not be free already.
func (s *Slots) Give(i uint32) {
	w := int(i >> 6)
	if w >= len(s.free) {
		s.grow(w)
	}
	s.free[w] |= 1 << (i & 63)
	s.count++
}

func (s *Slots) grow(w int) {
	for w >= len(s.free) {
		s.free = append(s.free, 0)
	}
}

// Len is the number of free places.
func (s *Slots) Len() int { return s.count }

// Free says whether place i is free.
func (s *Slots) Free(i uint32) bool {
	w, bit := int(i>>6), uint64(1)<<(i&63)
	return w < len(s.free) && s.free[w]&bit != 0 || w == s.word && s.hand&bit != 0
}

// Bytes is the memory of the places' bits.
func (s *Slots) Bytes() int64 { return 8 * int64(cap(s.free)) }

// slotsHead is a Slots without its bits.
type slotsHead struct {
	count, word int64
	hand        uint64
}

// AppendState writes s to dst, under the name.
func (s *Slots) AppendState(dst *Writer, name string) *Writer {
	dst = AppendValue(dst, name, &slotsHead{int64(s.count), int64(s.word), s.hand})
	return Append(dst, name+".free", s.free)
}

// ReadState replaces s by what AppendState wrote.
func (s *Slots) ReadState(r *Reader, name string) {
	var head slotsHead
	ReadValue(r, name, &head)
	Read(r, name+".free", &s.free)
	s.count, s.word, s.hand = int(head.count), int(head.word), head.hand
	n := bits.OnesCount64(s.hand)
	for _, w := range s.free {
		n += bits.OnesCount64(w)
	}
	if r.Err == nil && (n != s.count || s.word < 0 || s.word > 0 && s.word >= len(s.free)) {
		r.Err = ErrShort
	}
}
