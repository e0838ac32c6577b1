package ledger

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// checkSpill audits what coldness rests on: the counts of keys and sessions, the
// chains of kept versions, and that what lingers can be found.
func (s *Ledger) checkSpill() error {
	counts := make([]uint32, len(s.Keys))
	for v := range s.Versions {
		if k := s.Versions[v].Key; k != 0 {
			counts[k]++
		}
	}
	refs := make([]uint32, len(s.Sessions))
	for n := range s.Txns {
		x := &s.Txns[n]
		if x.State == Free && x.Id == (event.Hash{}) || x.Flags&Retired != 0 {
			continue
		}
		refs[x.Session]++
		if x.Flags&Unknown != 0 {
			s.EachKey(s.Records.Get(x.Record), func(h event.Hash) { counts[s.LookupKey(h)]++ })
		}
	}
	for i := range s.Absence.Heap {
		if d := &s.Absence.Heap[i]; d.Kind == MissingSeq {
			refs[s.Txns[d.Txn].Session]++
		}
	}
	return s.checkCounts(counts, refs)
}

func (s *Ledger) checkCounts(counts, refs []uint32) error {
	for k := 1; k < len(s.Keys); k++ {
		if got := s.Keys[k].Count; got != counts[k] {
			return fmt.Errorf("key %d: count is %d, want %d", k, got, counts[k])
		}
		chain := uint32(0)
		for v := *s.KeptHead(uint32(k)); s.Keys[k].Count > 0 && v != 0; v = s.Versions[v].Sibling {
			if x := &s.Versions[v]; x.Key != uint32(k) || x.Flags&Kept == 0 {
				return fmt.Errorf("key %d: version %d is in the chain of kept ones", k, v)
			}
			if chain++; chain > counts[k] {
				return fmt.Errorf("key %d: the chain of kept versions goes around", k)
			}
		}
	}
	for id := 1; id < len(s.Sessions); id++ {
		if got := s.Sessions[id].Refs; got != refs[id] {
			return fmt.Errorf("session %d: %d references, want %d", id, got, refs[id])
		}
	}
	return nil
}
