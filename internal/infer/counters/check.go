package counters

import (
	"errors"
	"fmt"

	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// CheckHoldings audits the values that versions hold, between two steps. Unless the counter is loose, each value
// that is known is the sum of the one before it and of its writer's amount. No count of loose counters is below
// what is in memory.
func (s *Totals) CheckHoldings() error {
	if len(s.counted) > 0 {
		return errors.New("the notes of a transaction on its counters are still there")
	}
	loose, read := int64(0), int64(0)
	for k := 1; k < len(s.Keys); k++ {
		x := &s.Keys[k]
		if x.Count == 0 || !s.IsCounter(uint32(k)) || x.Flags&causes.Loose == 0 {
			continue
		}
		loose++
		if x.Flags&ledger.Sums != 0 {
			read += s.heldAt(x.Initial).inc
		}
	}
	if loose > s.Counters.Loose || read > s.ReadCounts.Loose {
		return fmt.Errorf("%d counters in memory are loose, with %d reads: %d are counted, with %d reads", loose, read, s.Counters.Loose, s.ReadCounts.Loose)
	}
	for v := range s.holdings {
		if err := s.checkSum(uint32(v)); err != nil {
			return err
		}
	}
	return nil
}

// checkSum says whether v holds what the version before it held, and what its writer added.
func (s *Totals) checkSum(v uint32) error {
	x := &s.Versions[v]
	f := s.Keys[x.Key].Flags
	if f&(ledger.Sums|ledger.Unsupported) != ledger.Sums || f&causes.Loose != 0 || x.Flags&ledger.Ambiguous != 0 {
		return nil
	}
	a, p := s.heldAt(v), s.replacedBy(v)
	if !a.linked || p == 0 || s.Versions[p].Flags&ledger.Ambiguous != 0 {
		return nil
	}
	before := s.heldAt(p)
	if a.known != before.known || a.known && a.sum != before.sum+a.inc {
		return fmt.Errorf("version %d of counter %d holds %d (known: %t), behind %d (known: %t) and an increment by %d", v, x.Key, a.sum, a.known, before.sum, before.known, a.inc)
	}
	return nil
}

// heldAt is [Totals.holdingOf] without making room for v.
func (s *Totals) heldAt(v uint32) holding {
	if int(v) < len(s.holdings) && s.holdings[v].version == s.KeyOfValue(v) {
		return s.holdings[v]
	}
	return holding{}
}
