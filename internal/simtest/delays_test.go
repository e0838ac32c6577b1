package simtest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// delayed is the order in which the records of h arrive, each up to the lateness after its end,
// and some of them once more.
func delayed(rng *rand.Rand, h oracle.History, lateness time.Duration) []int {
	type arriving struct {
		at int64
		i  int
	}
	var all []arriving
	for i := range h {
		for range 1 + of(rng.IntN(4) == 0) {
			all = append(all, arriving{h[i].End + rng.Int64N(int64(lateness)), i})
		}
	}
	slices.SortStableFunc(all, func(a, b arriving) int { return cmp.Compare(a.at, b.at) })
	perm := make([]int, len(all))
	for i := range all {
		perm[i] = all[i].i
	}
	return perm
}

// takenBack is the finding that was final and was withdrawn all the same, if there is one.
func takenBack(found []finding.Finding) string {
	final := map[string]bool{}
	for _, f := range found {
		if f.State == finding.Withdrawn && final[f.ID] {
			return f.ID + " was final, and is withdrawn"
		}
		final[f.ID] = final[f.ID] || f.State == finding.Final
	}
	return ""
}

// TestDelays: records arrive up to the lateness after they ended, and some of them twice, in windows
// too that are shorter than the history. What is said is the oracle's under each contract, and what is
// final stays, unless a value repeats that was observed to name its writer.
func TestDelays(t *testing.T) {
	t.Parallel()
	decided, open, late := 0, 0, int64(0)
	for i := range seeds(t, 1000) {
		rng := rand.New(rand.NewPCG(uint64(i), 131))
		opt := oracle.Wide()
		opt.Max, opt.Sessions, opt.Corrupt = 20, 4, 0.3
		if i/4%3 == 0 {
			opt.Repeat = 0 // the contract says that values are unique
		}
		h := oracle.Random(rng, opt)
		cfg := exactAt(i / 4)
		lateness := []time.Duration{20, 50, 200}[rng.IntN(3)] * time.Millisecond
		if i%4 > 0 {
			cfg.Unbounded, cfg.Lateness, cfg.Window, cfg.MaxTxn = false, window.For(lateness), window.For(time.Second), 100*time.Millisecond
		}
		if i%4 == 3 {
			cfg.Window = window.For(time.Duration(rng.IntN(5)*20) * time.Millisecond)
		}
		switch i / 4 % 3 {
		case 1:
			cfg.Contract.Observed = true
		case 2:
			cfg.Contract = defaults()
		}
		perm := delayed(rng, h, lateness)
		fails := func(h oracle.History, perm []int) string {
			m, found, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			late += m.Counters.Late
			if why := disagreement(m, oracle.Check(h)); why != "" {
				return why
			}
			if why := takenBack(found); why != "" && !cfg.Contract.Observed {
				return why
			}
			for _, v := range verdicts(m) {
				decided, open = decided+of(v != window.Unknown), open+of(v == window.Unknown)
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			t.Fatalf("history %d: %s\n%v, late by up to %v, window %v\nin the order of their ends\n%sarrived %v", i, why, cfg.Contract, lateness, cfg.Window, h.Text(), perm)
		}
	}
	t.Logf("%d verdicts were decided, and %d not; %d records were late", decided, open, late)
	if decided < open || late > 0 {
		t.Error("records within the lateness were late, or too little was decided")
	}
}
