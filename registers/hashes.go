package registers

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// hashes numbers distinct hashes from 0, in the order in which they are met. The zero
// value is empty.
type hashes struct {
	all   []event.Hash
	slots []uint32 // number+1; open addressing, at most 3/4 in use
}

// find is the number of x, and whether it was known before.
func (s *hashes) find(x event.Hash) (number uint32, known bool) {
	if 4*len(s.all) >= 3*len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	i := x.Lo & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if n := s.slots[i] - 1; s.all[n] == x {
			return n, true
		}
	}
	s.slots[i] = s.next() + 1
	s.all[len(s.all)-1] = x
	return s.slots[i] - 1, false
}

// next uses up a number.
func (s *hashes) next() uint32 {
	s.all = append(s.all, event.Hash{})
	return uint32(len(s.all) - 1)
}

// expect makes room for n hashes.
func (s *hashes) expect(n int) {
	if n <= len(s.all) {
		return
	}
	s.all = slices.Grow(s.all, n-len(s.all))
	slots := len(s.slots)
	for 4*n >= 3*slots {
		slots = max(64, 2*slots)
	}
	if slots > len(s.slots) {
		s.rehash(slots)
	}
}

func (s *hashes) grow() { s.rehash(max(64, 2*len(s.slots))) }

func (s *hashes) rehash(slots int) {
	s.slots = make([]uint32, slots)
	mask := uint64(len(s.slots) - 1)
	for n, x := range s.all {
		i := x.Lo & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(n) + 1
	}
}
