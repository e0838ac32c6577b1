package simtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// deleting are kinds of histories in which keys are deleted, by i.
func deleting(i int) oracle.Kinds {
	k := oracle.Kinds{Deletes: true, Corrupt: []float64{0, 0.2, 0.5}[i%3], Blind: []float64{0, 0.2, 0.5}[i/3%3]}
	k.CAS, k.Ranges = i%4 == 1, i%5 == 1
	if i%2 == 0 {
		k.Aborted, k.Unknown = 0.1, 0.1
	}
	return k
}

// blindly takes some of the reads out that come before a write or delete of their key.
func blindly(rng *rand.Rand, h oracle.History) {
	for i := range h {
		ops := h[i].Ops
		for j := len(ops) - 2; j >= 0; j-- {
			if ops[j].Kind == event.Read && ops[j+1].Kind != event.Read && ops[j].Key == ops[j+1].Key && rng.IntN(4) == 0 {
				ops = slices.Delete(ops, j, j+1)
			}
		}
		h[i].Ops = ops
	}
}

// TestDeletesInWindows: in streams with windows of 0 to 3 transactions whose keys are deleted
// and inserted again, in any order of arrival, with restarts, records that come twice and
// outcomes that come later: what is reported is impossible by trial of all orders, and what
// is said to hold is possible. It counts how many streams that keep serializability are said to.
func TestDeletesInWindows(t *testing.T) {
	t.Parallel()
	said := map[string]int{}
	valid, decided := 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 113))
		k := deleting(i)
		later := i%7 == 0
		if later {
			k.Unknown = 0
		}
		h := oracle.RandomKinds(rng, k)
		blindly(rng, h)
		cfg := exactAt(i / 4)
		if i%3 > 0 {
			cfg.Levels = proven()
		}
		smallWindow(&cfg, rng)
		if i%6 == 0 {
			cfg.LiveCap = 2 + rng.IntN(3)
		}
		perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
		if i%8 < 3 {
			perm = identity(len(h))
		}
		if later {
			arrived, _ := outcomesLater(rng, h)
			m, why := kindsRun(t, cfg, arrived, identity(len(arrived)), restarts)
			if why == "" {
				why = impossible(m, h, i, said, oracle.Possible)
			}
			if why != "" {
				t.Fatalf("history %d: %s\narrived\n%s", i, why, arrived.Text())
			}
			continue
		}
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			if ok, err := oracle.Possible(h, "serializable"); err == nil && ok && i%8 < 3 && m.Totals().Repeated > 0 {
				valid++
				if verdicts(m)["serializable"] == window.OK {
					decided++
				}
			}
			return impossible(m, h, i, said, oracle.Possible)
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("verdicts: %v; %d of %d valid streams in order with deletes are ok", said, decided, valid)
	if said[window.OK] == 0 || said[window.Violated] == 0 || decided < valid/2 {
		t.Errorf("too few are decided")
	}
}
