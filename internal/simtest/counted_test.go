package simtest

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// TestCounted: histories with counters that tell versions, whole and in windows of 0 to 3
// transactions, at all levels: what is reported has no order, and what is said to hold has one.
// Of those that a store at the level has made, a window finds that it holds.
func TestCounted(t *testing.T) {
	for name, k := range map[string]oracle.Kinds{
		"told":    {Counters: true, Counted: true, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.3},
		"totals":  {Totals: true, Counted: true, Aborted: 0.08, Corrupt: 0.3},
		"some":    {Counters: true, Counted: true, Untold: 0.05, Aborted: 0.05, Unknown: 0.1, Corrupt: 0.3},
		"healthy": {Counters: true, Counted: true, Aborted: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := map[string]int{}
			for i := range seeds(t, 200) {
				rng := rand.New(rand.NewPCG(uint64(i), 53))
				h := oracle.RandomKinds(rng, k)
				cfg := exact()
				if i%3 > 0 {
					cfg = windowed(rng)
				}
				cfg.Levels = nil
				for _, l := range triedLevels() {
					if l.RealTime() == (i%2 == 0) {
						cfg.Levels = append(cfg.Levels, l)
					}
				}
				perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
				fails := func(h oracle.History, perm []int) string {
					m, why := kindsRun(t, cfg, h, perm, restarts)
					if why != "" {
						return why
					}
					return wronglySaid(m, h, said)
				}
				if why := fails(h, perm); why != "" {
					reportKinds(t, i, h, perm, why, fails)
				}
			}
			t.Logf("%d histories of %s, verdicts: %v", histories(t, 200), name, said)
			if enough(t, 200) && name == "healthy" && said[window.Unknown] > said[window.OK]/3 {
				t.Errorf("too many are open: %v", said)
			}
		})
	}
}

// wronglySaid says which verdict of the machine is not that of trial.
func wronglySaid(m *window.Machine, h oracle.History, said map[string]int) string {
	if why := unimplied(m); why != "" {
		return why
	}
	for l, got := range verdicts(m) {
		said[got]++
		if got == window.Unknown {
			continue
		}
		holds, err := oracle.PossibleAt(h, l)
		if holds && got == window.Violated { // by what the values say
			holds, err = oracle.PossibleAt(oracle.Uncounted(h), l)
		}
		switch {
		case err != nil:
			return err.Error()
		case got == window.Violated && holds:
			return string(l) + ": reported violated, and an order exists"
		case got == window.OK && !holds:
			return string(l) + ": said ok, and no order exists"
		}
	}
	return ""
}
