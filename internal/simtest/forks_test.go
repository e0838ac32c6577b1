package simtest

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// limited says whether the level forbids cycles with at most one anti-dependency of some readers.
func limited(l oracle.Level) bool {
	return must(isolation.ParseLevel(string(l))).Underlying().Limits()
}

// TestForks: of stores whose transactions do not agree on what came first, the levels that allow
// this are decided as the oracle decides them, in every order of arrival: exactly in whole
// histories. With a window, nothing is reported that is not there, and nothing missed without a
// flag. Without real time few streams are flagged.
func TestForks(t *testing.T) {
	t.Parallel()
	said := map[string]int{}
	for i := range seeds(t, 1200) {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		h := oracle.Forks(rng, 5+rng.IntN(12), i%2 == 1, []float64{0, 0, 0.05, 0.3}[i/2%4])
		perm := rng.Perm(len(h))
		if i%3 > 0 {
			perm = arrival(rng, len(h))
		}
		cfg := exactAt(i / 4)
		if i%5 > 1 {
			cfg.Unbounded = false
			cfg.Window = window.For(time.Duration(10+rng.IntN(20)*10) * time.Millisecond)
			cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		}
		fails := func(h oracle.History, perm []int) string {
			m, _, err := runRestarting(t, cfg, batchOf(t, h, perm), true, func(at int) bool { return i%7 == 0 && at%3 == 1 })
			if err != nil {
				return err.Error()
			}
			o := oracle.Check(h)
			if s := disagreement(m, o) + unimplied(m); s != "" {
				return s
			}
			for l, got := range verdicts(m) {
				if !limited(l) {
					continue
				}
				_, why := m.Verdict(must(isolation.ParseLevel(string(l))))
				if cfg.Unbounded && got == window.Unknown && m.Totals().Gaps == 0 && m.Totals().Uncheckable == 0 {
					return string(l) + " is unknown: " + why
				}
				kind := "stream "
				if cfg.Unbounded {
					kind = "whole "
				}
				if strings.HasPrefix(string(l), "strong-") && !strings.HasPrefix(string(l), "strong-session-") {
					kind = "real time, " + kind
				}
				said[kind+got]++
				if above := oracle.Level(argued.Replace(string(l))); o.Violated[above] && !o.Violated[l] {
					said[kind+got+", below violated"]++
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	t.Log(said)
	if said["whole ok, below violated"]*100 < said["whole ok"] || said["stream ok, below violated"]*100 < said["stream ok"] || said["whole violated"]*10 < said["whole ok"] || said["stream unknown"] > said["stream ok"] {
		t.Error("too few of some to tell, or too many that are not decided")
	}
}
