package infer

import "github.com/isowatch/isowatch/internal/flat"

// filter remembers 64-bit hashes: of ids, or of (key, value) pairs. It is a chain of hash sets;
// the oldest goes when the byte budget is used up. Two entries with one hash are taken as one:
// at 10^7 entries the chance is below 10^-5 for a filter's whole life.
//
// New entries wait in front, in a set small enough for the nearest caches, and go to the panes
// together. A visit to a pane waits for memory, and many at a time wait hardly longer than one.
type filter struct {
	front  hashSet
	panes  []hashSet // the last one takes new entries
	limit  int       // bytes
	forgot bool      // something was let go
	warmed uint64    // keeps the loads of flush
}

// Budgets of the filters of a source, bytes; all of them take 112 MiB at most. An entry of a
// value takes 8 bytes and one of an id 16. Up to three quarters of a set are used. That is
// 6,291,456 values, a quarter of that, and 786,432 ids.
const (
	valueBytes = 64 << 20 // values that are gone
	twiceBytes = 16 << 20 // the values that several may have written
	abortBytes = 16 << 20 // values of transactions that aborted
	idBytes    = 16 << 20
)

// filterPanes is how many sets the budget is cut into: what is forgotten at once
// is the share of one.
const filterPanes = 4

// hashSet is an open-addressing set; 0 stands for the empty slot, and is itself
// kept as 1.
type hashSet struct {
	slots []uint64
	used  int
}

// frontSlots is the size of a filter's front, 16 KiB. At most half of the slots are filled.
const frontSlots = 2048

func (f *filter) bytes() int64 {
	n := 8 * int64(len(f.front.slots))
	for i := range f.panes {
		n += 8 * int64(len(f.panes[i].slots))
	}
	return n
}

func (f *filter) add(h uint64) {
	if f.front.slots == nil {
		f.front.slots = make([]uint64, frontSlots)
	}
	f.front.put(h)
	if 2*f.front.used > frontSlots {
		f.flush()
	}
}

// flush moves what is in front to the panes.
func (f *filter) flush() {
	const ahead = 32
	var group [ahead]uint64
	n := 0
	for i, h := range f.front.slots {
		if h != 0 {
			group[n] = h
			n++
		}
		if n < ahead && i < len(f.front.slots)-1 {
			continue
		}
		if len(f.panes) > 0 {
			p := &f.panes[len(f.panes)-1]
			sum := uint64(0)
			for _, h := range group[:n] {
				sum += p.slots[mix(h)&uint64(len(p.slots)-1)]
			}
			f.warmed = sum
		}
		for _, h := range group[:n] {
			f.store(h)
		}
		n = 0
	}
	clear(f.front.slots)
	f.front.used = 0
}

func (f *filter) store(h uint64) {
	if len(f.panes) == 0 {
		f.panes = append(f.panes, hashSet{slots: make([]uint64, frontSlots)})
	}
	p := &f.panes[len(f.panes)-1]
	if 4*(p.used+1) > 3*len(p.slots) {
		if 16*len(p.slots) > f.limit/filterPanes {
			f.roll(len(p.slots))
			p = &f.panes[len(f.panes)-1]
		} else {
			p.grow()
		}
	}
	p.put(h)
}

func (f *filter) roll(slots int) {
	if len(f.panes) < filterPanes {
		f.panes = append(f.panes, hashSet{slots: flat.Make[uint64](slots, slots)})
		return
	}
	old := f.panes[0]
	clear(old.slots)
	old.used = 0
	copy(f.panes, f.panes[1:])
	f.panes[len(f.panes)-1] = old
	f.forgot = true
}

func (f *filter) has(h uint64) bool {
	if f.front.used > 0 && f.front.has(h) {
		return true
	}
	for i := range f.panes {
		if f.panes[i].has(h) {
			return true
		}
	}
	return false
}

func (p *hashSet) grow() {
	old := p.slots
	*p = hashSet{slots: flat.Make[uint64](2*len(old), 2*len(old))}
	for _, h := range old {
		if h != 0 {
			p.put(h)
		}
	}
}

func (p *hashSet) put(h uint64) {
	h = max(h, 1)
	mask := uint64(len(p.slots) - 1)
	i := mix(h) & mask
	for p.slots[i] != 0 {
		if p.slots[i] == h {
			return
		}
		i = (i + 1) & mask
	}
	p.slots[i] = h
	p.used++
}

func (p *hashSet) has(h uint64) bool {
	h = max(h, 1)
	mask := uint64(len(p.slots) - 1)
	for i := mix(h) & mask; p.slots[i] != 0; i = (i + 1) & mask {
		if p.slots[i] == h {
			return true
		}
	}
	return false
}

func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
