package infer

import "github.com/isowatch/isowatch/internal/flat"

// index is an open-addressing hash table from a 64-bit hash to a number. A slot holds the
// hash's upper half as fingerprint and the number. The fingerprint also gives the home
// position, so that growing and deleting do not need the hash again. It uses linear probing, at
// most a quarter full. The processor then mostly guesses right whether a slot is the one looked
// for. Callers confirm a candidate by comparing the object of the number.
type index struct {
	slots []uint64 // fingerprint<<32 | number; 0 is empty, so numbers start at 1
	used  int
}

func fingerprint(h uint64) uint32 { return uint32(h>>32) ^ uint32(h) }

// start is where to look first for h. i = (i+1)&mask goes on.
func (x *index) start(h uint64) (i, mask, fp uint32) {
	if x.slots == nil {
		x.slots = make([]uint64, 16)
	}
	mask, fp = uint32(len(x.slots)-1), fingerprint(h)
	return fp & mask, mask, fp
}

// home reads the slot where looking for h begins; the table must have some.
func (x *index) home(h uint64) uint64 {
	return x.slots[fingerprint(h)&uint32(len(x.slots)-1)]
}

// next is the first slot behind the home of the fingerprint fp that holds it, or is
// empty. The table must have slots.
func (x *index) next(fp uint32) uint64 {
	mask := uint32(len(x.slots) - 1)
	for i := (fp + 1) & mask; ; i = (i + 1) & mask {
		if slot := x.slots[i]; slot == 0 || uint32(slot>>32) == fp {
			return slot
		}
	}
}

func (x *index) insert(h uint64, id uint32) {
	if x.slots == nil {
		x.slots = make([]uint64, 16)
	}
	if 4*(x.used+1) > len(x.slots) {
		x.resize(2 * len(x.slots))
	}
	x.put(uint64(fingerprint(h))<<32 | uint64(id))
	x.used++
}

func (x *index) put(s uint64) {
	mask := uint32(len(x.slots) - 1)
	i := uint32(s>>32) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// remove deletes id by shifting back what probed past it.
func (x *index) remove(h uint64, id uint32) {
	i, mask, fp := x.start(h)
	want := uint64(fp)<<32 | uint64(id)
	for x.slots[i] != want {
		if x.slots[i] == 0 {
			return
		}
		i = (i + 1) & mask
	}
	x.used--
	for j := i; ; {
		j = (j + 1) & mask
		s := x.slots[j]
		if s == 0 {
			break
		}
		if home := uint32(s>>32) & mask; (j-home)&mask >= (j-i)&mask {
			x.slots[i] = s
			i = j
		}
	}
	x.slots[i] = 0
	if len(x.slots) > leastShrunk && shrinkAt*x.used < len(x.slots) {
		x.resize(len(x.slots) / 4)
	}
}

// A table of more than leastShrunk slots is made smaller when one in shrinkAt is used: an eighth is then.
const leastShrunk, shrinkAt = 1 << 16, 32

func (x *index) resize(slots int) {
	old := x.slots
	x.slots = flat.Make[uint64](slots, slots)
	for _, s := range old {
		if s != 0 {
			x.put(s)
		}
	}
}

// memory is the size of the slots in use, with room to grow by a half, and of all slots.
func (x *index) memory() (used, taken int64) {
	taken = 8 * int64(len(x.slots))
	return min(8*6*int64(x.used), taken), taken
}
