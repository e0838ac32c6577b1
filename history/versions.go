package history

import "math/bits"

// keyValue is a version of a key.
type keyValue struct{ key, value int64 }

// versionSet is a set of versions: open addressing, at most half full.
type versionSet struct {
	slots []keyValue
	used  []bool
	n     int
}

func newVersionSet(size int) *versionSet {
	n := 1 << bits.Len(uint(2*size+7))
	return &versionSet{slots: make([]keyValue, n), used: make([]bool, n)}
}

// place is where v is, or where it would be.
func (s *versionSet) place(v keyValue) int {
	hi, lo := bits.Mul64(uint64(v.key)^0xa0761d6478bd642f, uint64(v.value)^0xe7037ed1a0b428db)
	mask := len(s.slots) - 1
	i := int(hi^lo) & mask
	for s.used[i] && s.slots[i] != v {
		i = (i + 1) & mask
	}
	return i
}

func (s *versionSet) has(v keyValue) bool { return s.n > 0 && s.used[s.place(v)] }

// add puts v into the set, which was made for as many as are added.
func (s *versionSet) add(v keyValue) {
	i := s.place(v)
	if !s.used[i] {
		s.slots[i], s.used[i] = v, true
		s.n++
	}
}
