package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// maxShown bounds the elements of a list whose appends Sources looks for.
const maxShown = 64

// Sources appends to dst the transactions in memory that wrote what n read, and did not abort. A list has a
// writer for each element: they are left out where there are too many.
func (s *State) Sources(dst []uint32, n uint32) []uint32 {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		v := s.Readers[id].Version
		dst = s.Writers(dst, v)
		if k := s.Versions[v].Key; s.Keys[k].Kind == event.List && s.Keys[k].Count <= maxShown {
			for _, e := range s.Elements(nil, k) {
				dst = s.Writers(dst, e)
			}
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}
