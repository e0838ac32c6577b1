package infer

import "github.com/isowatch/isowatch/internal/infer/ledger"

// Compact moves the rest of mostly free chunks of the arenas, when the arenas are worth it. It
// moves at most the given number of transactions, keys and sessions each. Otherwise a few
// records that stay would hold on to a chunk each. Chunks are half full, or younger than one
// round over all numbers.
func (s *memory) Compact(visits int) {
	if s.Records.Wasteful() {
		for range min(visits, len(s.Txns)) {
			if s.Spill.TxnHand++; int(s.Spill.TxnHand) >= len(s.Txns) {
				s.Spill.TxnHand = 0
			}
			x := &s.Txns[s.Spill.TxnHand]
			x.Record = s.Records.Move(x.Record)
		}
	}
	if !s.Names.Wasteful() {
		return
	}
	for range min(visits, len(s.Keys)) {
		if s.Spill.NameHand++; int(s.Spill.NameHand) >= len(s.Keys)+len(s.Sessions) {
			s.Spill.NameHand = 0
		}
		name := s.nameAt(int(s.Spill.NameHand))
		*name = s.Names.Move(*name)
	}
}

func (s *memory) nameAt(i int) *ledger.Place {
	if i < len(s.Keys) {
		return &s.Keys[i].Name
	}
	return &s.Sessions[i-len(s.Keys)].Name
}
