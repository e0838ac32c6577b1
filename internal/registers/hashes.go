package registers

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// hashes numbers distinct hashes from 0, in the order in which they are met. The zero
// value is empty.
type hashes struct {
	all []event.Hash
	// slots have number+1 below the upper half of the hash's Lo, which tells nearly all others apart.
	// Open addressing, at most 3/4 in use.
	slots []uint64
}

// find is the number of x. known says whether x had one before.
func (s *hashes) find(x event.Hash) (number uint32, known bool) {
	if 4*len(s.all) >= 3*len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	i, mark := x.Lo&mask, x.Lo&upper
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if slot := s.slots[i]; slot&upper == mark && s.all[uint32(slot)-1] == x {
			return uint32(slot) - 1, true
		}
	}
	number = s.next()
	s.all[number] = x
	s.slots[i] = mark | uint64(number+1)
	return number, false
}

// known is the number of x, if it has one.
func (s *hashes) known(x event.Hash) (number uint32, known bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(s.slots) - 1)
	for i := x.Lo & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if slot := s.slots[i]; slot&upper == x.Lo&upper && s.all[uint32(slot)-1] == x {
			return uint32(slot) - 1, true
		}
	}
	return 0, false
}

// slot is the first slot in which x may be.
func (s *hashes) slot(x event.Hash) uint64 { return s.slots[x.Lo&uint64(len(s.slots)-1)] }

// upper is the half of a slot that is the hash's.
const upper = uint64(1<<32-1) << 32

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
	s.slots = make([]uint64, slots)
	mask := uint64(len(s.slots) - 1)
	for n, x := range s.all {
		i := x.Lo & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = x.Lo&upper | uint64(n+1)
	}
}
