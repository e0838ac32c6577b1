package infer

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// Compact moves the rest of mostly free chunks of the arenas, when the arenas are worth it. It
// moves at most the given number of transactions, keys and sessions each. Otherwise a few
// records that stay would hold on to a chunk each. Chunks are half full, or younger than one
// round over all numbers.
func (s *memory) Compact(visits int) {
	if s.records.wasteful() {
		for range min(visits, len(s.txns)) {
			if s.spill.txnHand++; int(s.spill.txnHand) >= len(s.txns) {
				s.spill.txnHand = 0
			}
			x := &s.txns[s.spill.txnHand]
			x.record = s.records.move(x.record)
		}
	}
	if !s.names.wasteful() {
		return
	}
	for range min(visits, len(s.keys)) {
		if s.spill.nameHand++; int(s.spill.nameHand) >= len(s.keys)+len(s.sessions) {
			s.spill.nameHand = 0
		}
		name := s.nameAt(int(s.spill.nameHand))
		*name = s.names.move(*name)
	}
}

func (s *memory) nameAt(i int) *ref {
	if i < len(s.keys) {
		return &s.keys[i].name
	}
	return &s.sessions[i-len(s.keys)].name
}

// checkSpill audits what coldness rests on: the counts of keys and sessions, the
// chains of kept versions, and that what lingers can be found.
func (s *ledger) checkSpill() error {
	counts := make([]uint32, len(s.keys))
	for v := range s.versions {
		if k := s.versions[v].key; k != 0 {
			counts[k]++
		}
	}
	refs := make([]uint32, len(s.sessions))
	for n := range s.txns {
		x := &s.txns[n]
		if x.state == free && x.id == (event.Hash{}) || x.flags&retired != 0 {
			continue
		}
		refs[x.session]++
		if x.flags&unknown != 0 {
			s.eachKey(s.records.get(x.record), func(h event.Hash) { counts[s.lookupKey(h)]++ })
		}
	}
	for i := range s.absence.heap {
		if d := &s.absence.heap[i]; d.kind == missingSeq {
			refs[s.txns[d.txn].session]++
		}
	}
	return s.checkCounts(counts, refs)
}

func (s *ledger) checkCounts(counts, refs []uint32) error {
	for k := 1; k < len(s.keys); k++ {
		if got := s.keys[k].count; got != counts[k] {
			return fmt.Errorf("key %d: count is %d, want %d", k, got, counts[k])
		}
		chain := uint32(0)
		for v := *s.keptHead(uint32(k)); s.keys[k].count > 0 && v != 0; v = s.versions[v].sibling {
			if x := &s.versions[v]; x.key != uint32(k) || x.flags&kept == 0 {
				return fmt.Errorf("key %d: version %d is in the chain of kept ones", k, v)
			}
			if chain++; chain > counts[k] {
				return fmt.Errorf("key %d: the chain of kept versions goes around", k)
			}
		}
	}
	for id := 1; id < len(s.sessions); id++ {
		if got := s.sessions[id].refs; got != refs[id] {
			return fmt.Errorf("session %d: %d references, want %d", id, got, refs[id])
		}
	}
	return nil
}
