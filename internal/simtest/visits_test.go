package simtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// TestVisits: registers, half of them written blindly, whose versions are in the order
// of sessions, of real time with clocks that differ, or of both, in any order of arrival, whole or in windows,
// with restarts: what is reported has no order by trial, and what is said to hold has
// one; of whole histories every verdict without a flag is exact.
func TestVisits(t *testing.T) {
	t.Parallel()
	said := map[string]int{}
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 51))
		h := oracle.RandomKinds(rng, oracle.Kinds{Blind: []float64{0.1, 0.5, 0.9}[i%3], Deletes: i/6%2 == 0, Aborted: 0.08, Unknown: 0.1, Corrupt: 0.3})
		visits := oracle.Visits{Sequential: i%3 != 0, Linearizable: i%3 != 1}
		if i%2 == 0 {
			visits.Drift = rng.Int64N(8)
		}
		cfg := exact()
		if i%4 == 0 {
			cfg = windowed(rng)
		}
		cfg.Contract.SequentialKeys, cfg.Contract.LinearizableKeys = visits.Sequential, visits.Linearizable
		cfg.Contract.ClockDrift = time.Duration(visits.Drift)
		perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			got := verdicts(m)
			for _, l := range oracle.Levels() {
				possible, err := oracle.PossibleAsVisited(h, l, visits)
				if err != nil {
					return err.Error()
				}
				said[got[l]]++
				switch {
				case got[l] == window.Violated && possible:
					return fmt.Sprintf("%s: reported violated, and an order exists", l)
				case got[l] == window.OK && !possible:
					return fmt.Sprintf("%s: said ok, and no order exists", l)
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("verdicts: %v", said)
	for _, v := range []string{window.OK, window.Violated} {
		if enough(t, 1500) && said[v] < histories(t, 1500)/2 {
			t.Errorf("%s %d times only", v, said[v])
		}
	}
}
