package infer

import (
	"math/rand/v2"
	"testing"
)

// TestFilterBudgets: what the filters of a source take when they are full, which
// docs/proofs.md tells.
func TestFilterBudgets(t *testing.T) {
	s := New(Options{})
	if got := s.values.limit; got != 64<<20 {
		t.Errorf("values: %d bytes", got)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	const quarter = 16 << 20
	for range quarter / 16 {
		s.ids.add(rng.Uint64(), 0, false)
	}
	if got := s.ids.bytes(); got != quarter {
		t.Errorf("ids take %d bytes", got)
	}
	for name, f := range map[string]*filter{"values of several": &s.twice, "values of aborted transactions": &s.aborts} {
		for range quarter / 8 {
			f.add(rng.Uint64())
		}
		if got := f.bytes(); got != quarter+8*frontSlots || !f.forgot {
			t.Errorf("%s take %d bytes, forgot %v", name, got, f.forgot)
		}
	}
}
