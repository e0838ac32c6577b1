package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

var linearizable = isolation.Level{Special: isolation.Linearizable}

// linearRun puts h through a machine, with restarts, and says at which record the first
// finding against linearizability came: len(perm) is the end.
func linearRun(t *testing.T, cfg window.Config, h oracle.History, perm []int, restarts bool) (m *window.Machine, first int, why string) {
	m, first = window.New(cfg), len(perm)+1
	var eff window.Effects
	var d event.Decoder
	look := func(at int) {
		for _, f := range eff.Findings {
			if slices.Contains(f.Refutes, linearizable.String()) && f.State != finding.Withdrawn {
				first = min(first, at)
			}
		}
		eff.Reset()
	}
	for i, p := range perm {
		if restarts {
			m = readBack(t, cfg, m)
		}
		b := &event.Batch{Partitions: []string{"sim"}}
		d.Decode(b, event.Position{Offset: int64(i)}, workload.AppendJSON(nil, &h[p]))
		m.Step(b, []int32{0}, 0, &eff)
		if err := m.Check(); err != nil {
			return m, first, fmt.Sprintf("after record %d: %v", i, err)
		}
		look(i)
	}
	m.Close(&eff)
	look(len(perm))
	if m.Counters.Unverified > 0 {
		return m, first, fmt.Sprintf("a witness is not verified: %v", m.Unverified())
	}
	return m, first, ""
}

// TestLinearizable: registers with cas, reads before writes and a few blind writes, in
// any order of arrival, with nothing forgotten or windows of 0 to 3 transactions, and
// restarts: what is reported has no linearization by trial, and what is said to hold
// has one. With nothing forgotten every verdict is exact, and where writers say what
// they replaced, the finding comes with a record and not at the end.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	said, streamed, atEnd := map[string]int{}, 0, 0
	for i := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		k := oracle.Kinds{CAS: true, Aborted: 0.08, Unknown: 0.1, Corrupt: 0.3}
		if i%3 == 0 {
			k.Blind = 0.2
		}
		h := oracle.RandomKinds(rng, k)
		cfg := exact()
		whole := i%2 == 0
		if !whole {
			cfg = windowed(rng)
		}
		cfg.Levels = []isolation.Level{linearizable, {Base: isolation.Serializable}}
		perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
		fails := func(h oracle.History, perm []int) string {
			if slices.ContainsFunc(h, func(x workload.Txn) bool { return x.End == 0 }) {
				return "" // made by shrinking
			}
			m, first, why := linearRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			got, reason := m.Verdict(linearizable)
			possible := oracle.Linearizable(h)
			if whole {
				got += " whole"
			}
			said[got]++
			switch {
			case got == "violated" && possible, got == "violated whole" && possible:
				return "reported violated, and there is a linearization"
			case got == "ok" && !possible, got == "ok whole" && !possible:
				return "said ok, and there is no linearization"
			case got == "unknown whole" && m.Totals().Gaps+m.Totals().Horizon == 0:
				return "unknown: " + reason
			}
			switch {
			case got != "violated whole":
			case first < len(perm):
				streamed++
			default:
				atEnd++
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("verdicts %v; of those of whole histories %d violations came with a record, %d at the end", said, streamed, atEnd)
	for _, v := range []string{"ok", "violated", "unknown", "ok whole", "violated whole"} {
		if enough(t, 2000) && said[v] < histories(t, 2000)/50 {
			t.Errorf("verdict %s %d times only", v, said[v])
		}
	}
	if enough(t, 2000) && streamed < 3*atEnd {
		t.Errorf("%d violations came with a record, %d at the end", streamed, atEnd)
	}
}
