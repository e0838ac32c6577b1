package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// TestRows: where a row is not its key, as under PostgreSQL's repeatable read, histories
// with deletes, as [TestKinds] has them: what is reported is impossible by trial of all
// orders of a store that tells rows, and what is said to hold is possible.
func TestRows(t *testing.T) {
	kinds := map[string]oracle.Kinds{
		"deletes":          {Deletes: true, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.2},
		"and blind writes": {CAS: true, Deletes: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08, Corrupt: 0.2},
		"and commit numbers of values that repeat": {Deletes: true, Timestamps: true, Repeated: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08},
		"and commit numbers":                       {Deletes: true, Timestamps: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08},
		"and versions":                             {Deletes: true, Versions: true, Blind: 0.2, Aborted: 0.08, Unknown: 0.08},
		"and old rows":                             {Deletes: true, Aborted: 0.08, Unknown: 0.08},
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
				if name == "and old rows" {
					h = readOldRows(rng, h)
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

// readOldRows has transactions read, behind a write of theirs, what they had read of the key before, or
// what another one wrote there. In the meantime somebody may delete the key.
func readOldRows(rng *rand.Rand, h oracle.History) oracle.History {
	written := map[string][]int64{}
	for i := range h {
		for _, o := range h[i].Ops {
			if o.Kind == event.Write || o.Kind == event.Insert {
				written[o.Key] = append(written[o.Key], o.Value)
			}
		}
	}
	for i := range h {
		first := map[string]workload.Op{}
		for _, o := range slices.Clone(h[i].Ops) {
			switch {
			case o.Kind == event.Read && !o.Absent:
				first[o.Key] = o
			case (o.Kind == event.Write || o.Kind == event.Insert) && rng.IntN(2) == 0:
				if len(h) < 7 && rng.IntN(2) == 0 {
					d := workload.Txn{ID: fmt.Sprint("deleter", len(h)), Session: "d", Status: event.Committed, Start: h[i].Start, End: h[i].End}
					d.Ops = []workload.Op{{Kind: event.Delete, Key: o.Key}}
					h = append(h, d)
				}
				if old, met := first[o.Key]; met {
					h[i].Ops = append(h[i].Ops, old)
				} else {
					h[i].Ops = append(h[i].Ops, workload.Read(o.Key, written[o.Key][rng.IntN(len(written[o.Key]))]))
				}
			}
		}
	}
	return h
}
