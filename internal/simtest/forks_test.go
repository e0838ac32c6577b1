package simtest

import (
	"math/rand/v2"

	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
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
	for i := range seeds(t, 2000) {
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
	if !testrun.Short() && (said["whole ok, below violated"]*100 < said["whole ok"] || said["stream ok, below violated"]*100 < said["stream ok"] || said["whole violated"]*10 < said["whole ok"] || said["stream unknown"] > said["stream ok"]) {
		t.Error("too few of some to tell, or too many that are not decided")
	}
}

// TestForkThenPath: two readers disagree, which is allowed, and another record shows that one of them
// missed what it had seen the effects of. In every order of arrival, with a window and without, the
// levels fall, as the oracle says. Where the record saw less, they hold.
func TestForkThenPath(t *testing.T) {
	for _, text := range []string{`
txn W1: read x nil, write x 1
txn Z: read x 1, read z nil, write z 2
txn W2: read z 2, read y nil, write y 3
txn R1: read x 1, read y nil
txn R2: read y 3, read x nil`, `
txn W1: read x nil, write x 1
txn Z: read z 4, write z 2, read x 1
txn V: read z nil, write z 4
txn W2: read y nil, read z 2, write y 3
txn R1: read x 1, read y nil
txn R2: read y 3, read x nil`} {
		for _, text := range []string{text, strings.NewReplacer("Z: read x 1, ", "Z: ", "write z 2, read x 1", "write z 2").Replace(text)} {
			h := oracle.History(must(workload.Parse(text)))
			want := oracle.Check(h)
			orders := 0
			eachOrder(len(h), func(perm []int) {
				if orders++; testrun.LeavesOut(orders, 7) {
					return
				}
				for _, levels := range [][]string{{"consistent-view"}, {"update-serializable"}, {"update-serializable", "strong-session-consistent-view", "consistent-view", "snapshot-isolation"}} {
					for _, unbounded := range []bool{true, false} {
						cfg := window.Config{Named: true, Unbounded: unbounded, Window: window.For(time.Hour), Contract: window.Contract{Complete: true}}
						for _, l := range levels {
							cfg.Levels = append(cfg.Levels, must(isolation.ParseLevel(l)))
						}
						m, _, err := run(cfg, batchOf(t, h, perm), false)
						if err != nil {
							t.Fatal(err)
						}
						for l, got := range verdicts(m) {
							if limited(l) && got != map[bool]string{true: window.Violated, false: window.OK}[want.Violated[l]] {
								_, why := m.Verdict(must(isolation.ParseLevel(string(l))))
								t.Fatalf("%v of\n%s%s is %s (%s), by the oracle violated: %v", perm, h.Text(), l, got, why, want.Violated[l])
							}
						}
					}
				}
			})
		}
	}
}

// eachOrder calls fn with every order of n.
func eachOrder(n int, fn func(perm []int)) {
	perm := identity(n)
	var from func(int)
	from = func(k int) {
		if k == n {
			fn(perm)
			return
		}
		for i := k; i < n; i++ {
			perm[k], perm[i] = perm[i], perm[k]
			from(k + 1)
			perm[k], perm[i] = perm[i], perm[k]
		}
	}
	from(0)
}
