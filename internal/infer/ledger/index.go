package ledger

import "github.com/isowatch/isowatch/internal/flat"

// Index is an open-addressing hash table from a 64-bit hash to a number. A slot holds the
// hash's upper half as fingerprint and the number. The fingerprint also gives the home
// position, so that growing and deleting do not need the hash again. It uses linear probing, at
// most a quarter full. The processor then mostly guesses right whether a slot is the one looked
// for. Callers confirm a candidate by comparing the object of the number.
type Index struct {
	Slots []uint64 // fingerprint<<32 | number; 0 is empty, so numbers start at 1
	Used  int
}

// Fingerprint is the half of the hash h that a slot keeps.
func Fingerprint(h uint64) uint32 { return uint32(h>>32) ^ uint32(h) }

// Start is where to look first for h. i = (i+1)&mask goes on.
func (x *Index) Start(h uint64) (i, mask, fp uint32) {
	if x.Slots == nil {
		x.Slots = make([]uint64, 16)
	}
	mask, fp = uint32(len(x.Slots)-1), Fingerprint(h)
	return fp & mask, mask, fp
}

// Home reads the slot where looking for h begins; the table must have some.
func (x *Index) Home(h uint64) uint64 {
	return x.Slots[Fingerprint(h)&uint32(len(x.Slots)-1)]
}

// Next is the first slot behind the home of the fingerprint fp that holds it, or is
// empty. The table must have slots.
func (x *Index) Next(fp uint32) uint64 {
	mask := uint32(len(x.Slots) - 1)
	for i := (fp + 1) & mask; ; i = (i + 1) & mask {
		if slot := x.Slots[i]; slot == 0 || uint32(slot>>32) == fp {
			return slot
		}
	}
}

// Insert adds the number id under the hash h.
func (x *Index) Insert(h uint64, id uint32) {
	if x.Slots == nil {
		x.Slots = make([]uint64, 16)
	}
	if 4*(x.Used+1) > len(x.Slots) {
		x.resize(2 * len(x.Slots))
	}
	x.put(uint64(Fingerprint(h))<<32 | uint64(id))
	x.Used++
}

func (x *Index) put(s uint64) {
	mask := uint32(len(x.Slots) - 1)
	i := uint32(s>>32) & mask
	for x.Slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.Slots[i] = s
}

// Remove deletes id by shifting back what probed past it.
func (x *Index) Remove(h uint64, id uint32) {
	i, mask, fp := x.Start(h)
	want := uint64(fp)<<32 | uint64(id)
	for x.Slots[i] != want {
		if x.Slots[i] == 0 {
			return
		}
		i = (i + 1) & mask
	}
	x.Used--
	for j := i; ; {
		j = (j + 1) & mask
		s := x.Slots[j]
		if s == 0 {
			break
		}
		if home := uint32(s>>32) & mask; (j-home)&mask >= (j-i)&mask {
			x.Slots[i] = s
			i = j
		}
	}
	x.Slots[i] = 0
	if len(x.Slots) > leastShrunk && shrinkAt*x.Used < len(x.Slots) {
		x.resize(len(x.Slots) / 4)
	}
}

// A table of more than leastShrunk slots is made smaller when one in shrinkAt is used: an eighth is then.
const leastShrunk, shrinkAt = 1 << 16, 32

func (x *Index) resize(slots int) {
	old := x.Slots
	x.Slots = flat.Make[uint64](slots, slots)
	for _, s := range old {
		if s != 0 {
			x.put(s)
		}
	}
}

// Memory is the size of the slots in use, with room to grow by a half, and of all slots.
func (x *Index) Memory() (used, taken int64) {
	taken = 8 * int64(len(x.Slots))
	return min(8*6*int64(x.Used), taken), taken
}
