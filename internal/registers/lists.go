package registers

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// lists are the lists of a history. All reads of a list have to show a beginning of one list, its
// spine. An element is a version of its key: the list that ends with it.
type lists struct {
	spines []spine  // by key
	index  []uint32 // by version: its place in its spine, from 1
	owned  []owned  // the writes that appended more than one element, by their places
	own    []uint32 // those elements
	many   []uint64 // bits by place: such a write

	// Known when the history is closed.
	authors [][]uint32 // by key: the transactions whose appends make up the spine
	after   []uint32   // by the place of a write: the place of the append before it in the spine, or unread
	ahead   []uint32   // by key: how many make up the spine
}

// unread stands for an append that no read shows.
const unread = ^uint32(0)

type spine struct {
	versions []uint32
	prefixes []uint64 // by length-1: the hash of the list so far
}

func (l *lists) any() bool { return len(l.spines) > 0 }

func (l *lists) of(key uint32) *spine {
	for int(key) >= len(l.spines) {
		l.spines = append(l.spines, spine{})
	}
	return &l.spines[key]
}

// owned is a write that appended several elements. They lie in own, and go on to where the next write's begin.
type owned struct{ place, from uint32 }

// keepOwn keeps what the write at this place appended. Places grow.
func (l *lists) keepOwn(place uint32, own []uint32) {
	l.owned = append(l.owned, owned{place, uint32(len(l.own))})
	l.own = append(l.own, own...)
	for int(place>>6) >= len(l.many) {
		l.many = append(l.many, 0)
	}
	l.many[place>>6] |= 1 << (place & 63)
}

// ownOf are the elements that the write at this place appended, nil if it is one.
func (l *lists) ownOf(place uint32) []uint32 {
	if int(place>>6) >= len(l.many) || l.many[place>>6]>>(place&63)&1 == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(l.owned, place, func(x owned, place uint32) int { return cmp.Compare(x.place, place) })
	if i+1 < len(l.owned) {
		return l.own[l.owned[i].from:l.owned[i+1].from]
	}
	return l.own[l.owned[i].from:]
}

// append notes that the transaction in work appends v.
func (h *History) append(x *touch, v uint32) {
	h.lists.of(x.key)
	x.own = append(x.own, v)
	x.wrote = v
}

// readList notes a read of a list. The transaction's own appends come last in it. Others left the
// elements before them. O(elements).
func (h *History) readList(x *touch, elems []event.Elem, at uint32) {
	h.lists.of(x.key)
	others := len(elems) - len(x.own)
	if others < 0 {
		h.odd = "a transaction misreads what it wrote"
		return
	}
	for i, v := range x.own {
		if h.version(x.key, elems[others+i].Hash) != v {
			h.odd = "a transaction misreads what it wrote"
			return
		}
	}
	v, ok := h.extend(x.key, elems[:others])
	if !ok {
		h.odd = "two reads of a list do not agree"
		return
	}
	h.readVersion(x, v, at)
}

// extend makes the spine of the key at least as long as elems, and returns the version that elems is.
func (h *History) extend(key uint32, elems []event.Elem) (v uint32, ok bool) {
	s := h.lists.of(key)
	hash := uint64(0)
	for i := range elems {
		// As package infer has it (nextPrefix), so that a collision is as rare.
		hash = bits.RotateLeft64((hash^elems[i].Hash.Lo)*0x9e3779b97f4a7c15, 29) + elems[i].Hash.Hi
		switch {
		case i+1 < len(s.versions) && i+1 < len(elems):
		case i < len(s.versions):
			if s.prefixes[i] != hash {
				return 0, false
			}
		default:
			v := h.version(key, elems[i].Hash)
			for int(v) >= len(h.lists.index) {
				h.lists.index = append(h.lists.index, 0)
			}
			if h.lists.index[v] != 0 {
				return 0, false
			}
			s.versions, s.prefixes = append(s.versions, v), append(s.prefixes, hash)
			h.lists.index[v] = uint32(len(s.versions))
		}
	}
	if len(elems) == 0 {
		return 0, true
	}
	return s.versions[len(elems)-1], true
}

// settleLists finds out who appended the spines. It is false where somebody's appends are not one
// behind the other, or nobody committed one.
func (h *History) settleLists() bool {
	l := &h.lists
	if !l.any() {
		return true
	}
	l.authors, l.ahead = make([][]uint32, h.numKeys), make([]uint32, h.numKeys)
	l.after = make([]uint32, len(h.numbers.Writes)+1)
	for i := range l.after {
		l.after[i] = unread
	}
	for key := range l.spines {
		before := uint32(0)
		for rest := l.spines[key].versions; len(rest) > 0; {
			author := h.writers[rest[0]]
			if author == nobody || author == nobodys {
				return false
			}
			n := 1
			for n < len(rest) && h.places[rest[n-1]] == nobodys {
				n++
			}
			place := h.places[rest[n-1]]
			if place == nobodys || h.writers[rest[n-1]] != author {
				return false
			}
			if own := l.ownOf(place); max(1, len(own)) != n || n > 1 && !slices.Equal(own, rest[:n]) {
				return false
			}
			l.after[place] = before
			before, rest = place, rest[n:]
			l.authors[key] = append(l.authors[key], author)
			l.ahead[key]++
		}
	}
	return true
}

// byPlace is the transaction whose write has this place.
func (h *History) byPlace(place uint32) uint32 {
	// The last one whose writes begin before it.
	lo, hi := 0, len(h.numbers.Txns)
	for lo+1 < hi {
		if mid := (lo + hi) / 2; h.numbers.Txns[mid].Writes < place {
			lo = mid
		} else {
			hi = mid
		}
	}
	return uint32(lo)
}
