package infer

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// TestFilterBudgets: what the filters of a source take when they are full, which
// docs/proofs.md tells.
func TestFilterBudgets(t *testing.T) {
	s := New(ledger.Options{})
	if got := s.Values.Limit; got != 64<<20 {
		t.Errorf("values: %d bytes", got)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	const quarter = 16 << 20
	for range quarter / 16 {
		s.Ids.Add(rng.Uint64(), 0, false)
	}
	if got := s.Ids.Bytes(); got != quarter {
		t.Errorf("ids take %d bytes", got)
	}
	for name, f := range map[string]*ledger.Filter{"values of several": &s.Twice, "values of aborted transactions": &s.Aborts} {
		for range quarter / 8 {
			f.Add(rng.Uint64())
		}
		if got := f.Bytes(); got != quarter+8*ledger.FrontSlots || !f.Forgot {
			t.Errorf("%s take %d bytes, forgot %v", name, got, f.Forgot)
		}
	}
}
