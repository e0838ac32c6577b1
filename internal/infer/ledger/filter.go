package ledger

import "github.com/isowatch/isowatch/internal/flat"

// Filter remembers 64-bit hashes: of ids, or of (key, value) pairs. It is a chain of hash sets;
// the oldest goes when the byte budget is used up. Two entries with one hash are taken as one:
// at 10^7 entries the chance is below 10^-5 for a filter's whole life.
//
// New entries wait in front, in a set small enough for the nearest caches, and go to the panes
// together. A visit to a pane waits for memory, and many at a time wait hardly longer than one.
type Filter struct {
	front  hashSet
	panes  []hashSet // the last one takes new entries
	Limit  int       // bytes
	Forgot bool      // something was let go
	warmed uint64    // keeps the loads of flush
}

// filterPanes is how many sets the budget is cut into: what is forgotten at once
// is the share of one.
const filterPanes = 4

// hashSet is an open-addressing set; 0 stands for the empty slot, and is itself
// kept as 1.
type hashSet struct {
	slots []uint64
	used  int
}

// FrontSlots is the size of a filter's front, 16 KiB. At most half of the slots are filled.
const FrontSlots = 2048

// Bytes is the size of the filter.
func (f *Filter) Bytes() int64 {
	n := 8 * int64(len(f.front.slots))
	for i := range f.panes {
		n += 8 * int64(len(f.panes[i].slots))
	}
	return n
}

// Add notes the hash h.
func (f *Filter) Add(h uint64) {
	if f.front.slots == nil {
		f.front.slots = make([]uint64, FrontSlots)
	}
	f.front.put(h)
	if 2*f.front.used > FrontSlots {
		f.flush()
	}
}

// flush moves what is in front to the panes.
func (f *Filter) flush() {
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

func (f *Filter) store(h uint64) {
	if len(f.panes) == 0 {
		f.panes = append(f.panes, hashSet{slots: make([]uint64, FrontSlots)})
	}
	p := &f.panes[len(f.panes)-1]
	if 4*(p.used+1) > 3*len(p.slots) {
		if 16*len(p.slots) > f.Limit/filterPanes {
			f.roll(len(p.slots))
			p = &f.panes[len(f.panes)-1]
		} else {
			p.grow()
		}
	}
	p.put(h)
}

func (f *Filter) roll(slots int) {
	if len(f.panes) < filterPanes {
		f.panes = append(f.panes, hashSet{slots: flat.Make[uint64](slots, slots)})
		return
	}
	old := f.panes[0]
	clear(old.slots)
	old.used = 0
	copy(f.panes, f.panes[1:])
	f.panes[len(f.panes)-1] = old
	f.Forgot = true
}

// Has says whether h was noted. It is false if that is forgotten.
func (f *Filter) Has(h uint64) bool {
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

// Warm starts the loads that Has of h will wait for. The sum keeps the compiler from leaving them out.
func (f *Filter) Warm(h uint64) (sum uint64) {
	at := mix(max(h, 1))
	for i := range f.panes {
		sum += f.panes[i].slots[at&uint64(len(f.panes[i].slots)-1)]
	}
	return sum
}
