package infer

import (
	"cmp"
	"slices"
)

// MayCount appends to dst the transactions in memory that did not abort, those that count first, each
// in the order of their ends. Those from the index maybe on do not count: their outcome is unknown, and
// nobody has observed them.
func (s *causes) MayCount(dst []uint32) (all []uint32, maybe int) {
	from := len(dst)
	for n := range s.txns {
		if x := &s.txns[n]; x.state == counted || x.state == tentative {
			dst = append(dst, uint32(n))
		}
	}
	slices.SortFunc(dst[from:], func(a, b uint32) int {
		x, y := &s.txns[a], &s.txns[b]
		return cmp.Or(cmp.Compare(of(x.state == tentative), of(y.state == tentative)), cmp.Compare(x.end, y.end), cmp.Compare(x.id.Lo, y.id.Lo))
	})
	maybe = len(dst)
	for i, n := range dst[from:] {
		if s.txns[n].state == tentative {
			maybe = from + i
			break
		}
	}
	return dst, maybe
}

func of(b bool) int {
	if b {
		return 1
	}
	return 0
}
