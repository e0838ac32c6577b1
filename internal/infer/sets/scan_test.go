package sets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// TestRangesStayInOrder: the keys of an epoch are met in any order, more than one block of them. Each range
// gives those between its bounds, in the order of their names.
func TestRangesStayInOrder(t *testing.T) {
	s := &Sets{Registers: &registers.Registers{}}
	s.Start(ledger.Options{})
	var names []string
	for i := range 3 * maxBlock {
		names = append(names, fmt.Sprintf("k%04d", i))
	}
	var ordered ranges
	rng := rand.New(rand.NewPCG(1, 24))
	for _, i := range rng.Perm(len(names)) {
		ordered.insert(s, s.InternKey(event.HashText([]byte(names[i])), []byte(names[i])))
	}
	if len(ordered.blocks) < 3 {
		t.Fatalf("%d keys are in %d blocks", len(names), len(ordered.blocks))
	}
	for range 200 {
		from := rng.IntN(len(names))
		to := from + rng.IntN(len(names)-from)
		var got []string
		ordered.each(s, []byte(names[from]), []byte(names[to]), func(k uint32) { got = append(got, s.KeyName(k)) })
		if !slices.Equal(got, names[from:to]) {
			t.Fatalf("from %s to %s: %v", names[from], names[to], got)
		}
	}
}

// TestRangeWhileKeysAreOut: the keys on disk are not in the index of ranges that begins now. So what a range does not
// show of them is not inferred, and it counts.
func TestRangeWhileKeysAreOut(t *testing.T) {
	for _, out := range []int64{0, 1} {
		s := &Sets{Registers: &registers.Registers{}}
		s.Start(ledger.Options{})
		s.Spill.Keys = out
		if _, whole := s.RangesOf(0); whole != (out == 0) || s.Counters.Ignored != out {
			t.Errorf("%d keys are out: whole %v, %d ignored", out, whole, s.Counters.Ignored)
		}
	}
}
