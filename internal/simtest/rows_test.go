package simtest

import (
	"math/rand/v2"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// TestRows: where a row is not its key, as under PostgreSQL's repeatable read, histories
// with deletes, as [TestKinds] has them: what is reported is impossible by trial of all
// orders of a store that tells rows, and what is said to hold is possible.
func TestRows(t *testing.T) {
	kinds := map[string]oracle.Kinds{
		"deletes":            {Deletes: true, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.2},
		"and blind writes":   {CAS: true, Deletes: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.2},
		"and commit numbers": {Deletes: true, Timestamps: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08},
		"and versions":       {Deletes: true, Versions: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08},
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := map[string]int{}
			for i := range seeds(t, 400) {
				rng := rand.New(rand.NewPCG(uint64(i), 93))
				h := oracle.RandomKinds(rng, k)
				for j := range h {
					for o := range h[j].Ops {
						if h[j].Ops[o].Kind == event.Delete && k.Versions { // what is not there shows none
							h[j].Ops[o].Version = 0
						}
					}
				}
				cfg := exact()
				if i%2 == 0 {
					cfg = windowed(rng)
				}
				cfg.Levels, cfg.Rules.Rows = exactAt(i/2).Levels, true
				cfg.Contract.NumericVersions, cfg.Contract.TrustCommitTS = k.Versions, k.Timestamps
				perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
				fails := func(h oracle.History, perm []int) string {
					m, why := kindsRun(t, cfg, h, perm, restarts)
					if why != "" {
						return why
					}
					return impossible(m, h, i, said, oracle.PossibleInRows, byCause(&cfg))
				}
				if why := fails(h, perm); why != "" {
					reportKinds(t, i, h, perm, why, fails)
				}
			}
			for _, v := range []string{window.OK, window.Violated} {
				if enough(t, 400) && said[v] == 0 {
					t.Errorf("no verdict was %s: %v", v, said)
				}
			}
			t.Logf("verdicts: %v", said)
		})
	}
}
