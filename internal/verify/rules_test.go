package verify

import (
	"slices"
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// Each kind without a cycle has a rule, or is one of those that are proved in another way or not at all.
func TestRules(t *testing.T) {
	without := []finding.AnomalyKind{
		finding.Divergence, finding.Nonlinearizable, // by edges
		finding.NoOrder,                                                                               // by all orders
		finding.UnattributedRead, finding.RetiredRead, finding.RetiredReader, finding.RetiredConflict, // what is not known
	}
	for _, k := range finding.AnomalyKinds() {
		if k.String() == "" {
			t.Errorf("kind %d has no word", uint8(k))
		}
		if (rules[k] != nil) == slices.Contains(without, k) {
			t.Errorf("kind %s: a rule is there where it should not be, or none where it should", k)
		}
	}
}
