package orders

import (
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Orders has the orders of versions that records give: by number, by commit timestamp, or in
// part.
type Orders struct {
	causes.Causes
	Partial partial
}

func (s *Orders) Uncheckable(k uint32) {
	if s.Keys[k].Flags&ledger.Uncheckable == 0 {
		s.Keys[k].Flags |= ledger.Uncheckable
		s.Counters.Uncheckable++
	}
}
