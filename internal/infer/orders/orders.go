package orders

import (
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Orders has the orders of versions that records give: by number, by commit timestamp, or in
// part.
type Orders struct {
	causes.Causes
	Partial  partial
	CommitTS int64 // of the transaction in work, where trusted; see CommitNumber
}

// Uncheckable counts k as a key whose order cannot be known.
func (s *Orders) Uncheckable(k uint32) {
	if s.Keys[k].Flags&ledger.Uncheckable == 0 {
		s.Keys[k].Flags |= ledger.Uncheckable
		s.Counters.Uncheckable++
	}
}
