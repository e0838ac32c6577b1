package oracle

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// TestSaturated compares the forced orders with the trial of all orders of commits.
func TestSaturated(t *testing.T) {
	opt := Small()
	opt.Blind = 0.5
	held, fell := map[Level]int{}, map[Level]int{}
	for i := range testrun.Count(4000) {
		h := Random(rand.New(rand.NewPCG(uint64(i), 31)), opt)
		g := Dependencies(h)
		if g.Ambiguous > 0 || len(g.NotSequential) > 0 {
			continue
		}
		got := g.Forces()
		for _, l := range SaturatedLevels() {
			if l.base() == AtomicView && g.Torn() {
				continue
			}
			possible, err := PossibleSaturated(h, l)
			if err != nil {
				t.Fatal(err)
			}
			if possible == got[l] {
				t.Fatalf("history %d, %s: some order explains it: %v; the forced orders contradict each other: %v\n%s", i, l, possible, got[l], h.Text())
			}
			if possible {
				held[l]++
			} else {
				fell[l]++
			}
		}
	}
	for _, l := range SaturatedLevels() {
		if held[l] < testrun.Least(200) || fell[l] < testrun.Least(50) {
			t.Errorf("%s held %d times and fell %d times: too few to tell", l, held[l], fell[l])
		}
	}
}
