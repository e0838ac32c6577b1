package oracle

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestPossibleAt compares the trial that knows all kinds with those that know registers
// and lists.
func TestPossibleAt(t *testing.T) {
	opt := Small()
	opt.Blind = 0.5
	held, fell := map[Level]int{}, map[Level]int{}
	for i := range testrun.Size(100, 1500) {
		h := Random(rand.New(rand.NewPCG(uint64(i), 37)), opt)
		for _, l := range append(AllLevels(), SaturatedLevels()...) {
			by := Possible
			if base := l.base(); base == AtomicView || base == ReadAtomic || base == Causal {
				by = PossibleSaturated
			}
			want, err := by(h, l)
			if err != nil {
				t.Fatal(err)
			}
			got, err := PossibleAt(h, l)
			if base := l.base(); base == "read-uncommitted" && got && !want && abortedOrTorn(h) {
				continue // what nobody left, Possible holds against it
			}
			if l.base() == "read-committed" && !got && want && slices.Contains(Check(h).Names(), "internal") {
				continue // what a list shows once more, Possible does not look at
			}
			if err != nil || got != want {
				t.Fatalf("history %d, %s: %v, %v, want %v\n%s", i, l, got, err, want, h.Text())
			}
			if got {
				held[l]++
			} else {
				fell[l]++
			}
		}
	}
	for _, l := range append(AllLevels(), SaturatedLevels()...) {
		if held[l] < testrun.Least(100) || fell[l] < testrun.Least(10) {
			t.Errorf("%s held %d times and fell %d times: too few to tell", l, held[l], fell[l])
		}
	}
}

// abortedOrTorn says whether some read of h shows what nobody left.
func abortedOrTorn(h History) bool {
	for _, name := range Check(h).Names() {
		switch name {
		case "G1a", "G1b", "garbage-read", "dirty-update", "future-read", "internal", "duplicate-elements":
			return true
		}
	}
	return false
}
