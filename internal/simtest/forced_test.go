package simtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// forcedLevels are the levels that rest on forced orders.
func forcedLevels(t testing.TB) []isolation.Level {
	var ls []isolation.Level
	for _, name := range oracle.ForcedLevels() {
		l, err := isolation.ParseLevel(string(name))
		if err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	return ls
}

// forcedDisagreement compares the machine's verdicts on these levels with the
// oracle's. sharp asks for a violation wherever the oracle has one.
func forcedDisagreement(m *window.Machine, h oracle.History, levels []isolation.Level, sharp bool) string {
	g := oracle.Dependencies(h)
	violated := g.Forces()
	for _, l := range levels {
		got, why := m.Verdict(l)
		if got != window.Violated && noSession.ReplaceAllString(why, "") == "" {
			got = window.OK
		}
		if l.Base == isolation.MonotonicAtomicView && g.Torn() {
			continue
		}
		want := violated[oracle.Level(l.String())]
		switch {
		case got == window.Violated && !want:
			return fmt.Sprintf("%s: reported violated, the oracle has no contradiction", l)
		case got == window.OK && want:
			return fmt.Sprintf("%s: said ok, the oracle has one", l)
		case l.Neighbours() != nil: // decided in part
		case sharp && want && got != window.Violated:
			return fmt.Sprintf("%s: %s (%s), the oracle has a contradiction", l, got, why)
		case sharp && !want && got != window.OK:
			return fmt.Sprintf("%s: %s (%s), the oracle has none", l, got, why)
		}
	}
	return ""
}

func forcedHistory(rng *rand.Rand, i int) oracle.History {
	opt := oracle.Wide()
	if i%2 == 0 {
		opt = oracle.Small()
	}
	opt.Blind = []float64{0, 0.1, 0.5, 0.9}[i/2%4]
	return oracle.Random(rng, opt)
}

// TestForcedWhole: of whole histories, blind writes or not, in any order of
// arrival, the verdicts on the levels that rest on forced orders are the oracle's.
func TestForcedWhole(t *testing.T) {
	t.Parallel()
	levels := forcedLevels(t)
	for i := range seeds(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		h := forcedHistory(rng, i)
		perm := rng.Perm(len(h))
		fails := func(h oracle.History, perm []int) string {
			cfg := exact()
			cfg.Levels = levels
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			c := m.Totals()
			return forcedDisagreement(m, h, levels, c.Gaps+c.Ambiguous+c.Unattributed+c.Overlapping+c.Misread == 0)
		}
		if why := fails(h, perm); why != "" {
			reportForced(t, i, h, perm, why, fails)
		}
	}
}

// TestForcedWindowed: the same while transactions retire all the time, and with
// these levels alone or beside all others: nothing is reported that is not there,
// and nothing is missed without a flag.
func TestForcedWindowed(t *testing.T) {
	t.Parallel()
	levels := forcedLevels(t)
	for i := range seeds(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(i), 42))
		h := forcedHistory(rng, i)
		perm := rng.Perm(len(h))
		if i%3 == 0 {
			perm = identity(len(h))
		}
		cfg := exact()
		cfg.Levels = levels
		if i%5 == 0 {
			cfg.Levels = isolation.Encoded()
		}
		cfg.Unbounded = false
		cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
		cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			return forcedDisagreement(m, h, levels, false)
		}
		if why := fails(h, perm); why != "" {
			reportForced(t, i, h, perm, why, fails)
		}
	}
}

func reportForced(t *testing.T, seed int, h oracle.History, perm []int, why string, fails func(oracle.History, []int) string) {
	t.Helper()
	arrived := make(oracle.History, len(h))
	for i, p := range perm {
		arrived[i] = h[p]
	}
	small := oracle.Shrink(arrived, func(h oracle.History) bool { return fails(h, identity(len(h))) != "" })
	t.Fatalf("history %d: %s\nshrunk, in the order of arrival:\n%s%s", seed, why, small.Text(), fails(small, identity(len(small))))
}
