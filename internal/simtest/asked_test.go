package simtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// TestMixedLevels: transactions that asked for levels of their own, in any order of
// arrival, with nothing forgotten or small windows, and restarts. What a level
// promises is promised to those that asked for it or for more (Adya, mixing-correct
// histories).
func TestMixedLevels(t *testing.T) {
	t.Parallel()
	mixedLevels(t, 2000, false, oracle.CheckAsked)
}

// TestTrackedLevels: the same where conflicts are tracked among serializable transactions
// only, as in PostgreSQL.
func TestTrackedLevels(t *testing.T) {
	t.Parallel()
	mixedLevels(t, 1000, true, oracle.CheckTracked)
}

func mixedLevels(t *testing.T, n int, tracked bool, check func(oracle.History, map[string]string) oracle.Verdicts) {
	names := []string{"", "", "read-committed", "monotonic-atomic-view", "read-atomic", "causal", "prefix", "snapshot-isolation", "serializable"}
	if tracked {
		names = []string{"", "", "", "read-committed", "snapshot-isolation"}
	}
	said := map[string]int{}
	for i := range seeds(t, n) {
		rng := rand.New(rand.NewPCG(uint64(i), 61))
		h := oracle.Random(rng, oracle.Wide())
		asked := map[string]string{}
		for j := range h {
			asked[h[j].ID] = names[rng.IntN(len(names))]
		}
		if rng.IntN(3) == 0 && len(oracle.Check(h).Graph.Anomalies) == 0 { // beside its own, it may show those of others
			asked[h[rng.IntN(len(h))].ID] = "read-uncommitted"
		}
		cfg := exactAt(i)
		cfg.Rules.Tracked = tracked
		if rng.IntN(2) == 0 {
			cfg.Unbounded = false
			cfg.Window, cfg.Lateness = window.For(time.Duration(rng.IntN(40))*time.Millisecond), window.For(10*time.Millisecond)
		}
		perm, restarts := rng.Perm(len(h)), rng.IntN(4) == 0
		fails := func(h oracle.History, perm []int) string {
			m, eff := window.New(cfg), window.Effects{}
			for k, p := range perm {
				b := &event.Batch{Partitions: []string{"sim"}}
				text := workload.AppendJSON(nil, &h[p])
				if l := asked[h[p].ID]; l != "" {
					text = append([]byte(fmt.Sprintf(`{"isolation":%q,`, l)), text[1:]...)
				}
				new(event.Decoder).Decode(b, event.Position{Offset: int64(k)}, text)
				if restarts {
					m = readBack(t, cfg, m)
				}
				m.Step(b, []int32{0}, 0, &eff)
				if err := m.Check(); err != nil {
					return fmt.Sprintf("after record %d: %v", k, err)
				}
			}
			m.Close(&eff)
			if m.Counters.Unverified > 0 {
				return fmt.Sprintf("a witness is not verified: %v", m.Unverified())
			}
			for _, verdict := range verdicts(m) {
				said[verdict]++
			}
			o := check(h, asked)
			for l, verdict := range verdicts(m) {
				if o.Torn && verdict == window.Violated && strings.HasSuffix(string(l), oracle.AtomicView) {
					return "" // not looked into, and those above fall with it
				}
			}
			if s := disagreement(m, o); s != "" {
				return s + "\n" + lines(eff.Findings)
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, fmt.Sprint(why, asked), fails)
		}
	}
	if enough(t, n) && (said[window.OK] == 0 || said[window.Violated] == 0) {
		t.Errorf("verdicts: %v", said)
	}
	t.Logf("verdicts: %v", said)
}
