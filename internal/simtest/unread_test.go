package simtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// underLimits watches the levels with a limit, alone or beside those that look for an order of all
// writers.
func underLimits(beside bool) window.Config {
	cfg := window.Config{Named: true, Unbounded: true, Window: window.For(time.Hour), Contract: window.Contract{Complete: true}}
	for _, l := range oracle.AllLevels() {
		if limited(l) || beside && (strings.HasSuffix(string(l), "snapshot-isolation") || strings.HasSuffix(string(l), "serializable")) {
			cfg.Levels = append(cfg.Levels, must(isolation.ParseLevel(string(l))))
		}
	}
	return cfg
}

// unexplained names a level with a limit that is said to hold, and at which no order of the transactions
// explains the history. It is "" where there is none.
func unexplained(t *testing.T, cfg window.Config, h oracle.History, perm []int, count map[string]int) string {
	m, _, err := run(cfg, batchOf(t, h, perm), true)
	if err != nil {
		return err.Error()
	}
	for l, got := range verdicts(m) {
		if !limited(l) {
			continue
		}
		count[got]++
		if got == window.Violated {
			continue
		}
		possible, err := oracle.Possible(h, l)
		if err != nil {
			return err.Error()
		}
		if !possible {
			count[got+" and impossible"]++
		}
		if !possible && got == window.OK {
			return fmt.Sprintf("%s is ok (unbounded: %v), and no order explains the history", l, cfg.Unbounded)
		}
	}
	return ""
}

// TestUnreadAppends: a level that allows readers to disagree is not said to hold where every order of
// the appends that nobody read contradicts it.
func TestUnreadAppends(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 91))
		h := oracle.Random(rng, oracle.Options{Min: 3, Max: 6, Keys: 2, Sessions: 2, Lists: true, Unknown: 0.05, Corrupt: 0.2})
		cfg := underLimits(i%2 == 0)
		if i%4 > 1 {
			cfg.Unbounded = false
			if i%8 > 5 {
				cfg.Window = window.For(time.Duration(10+rng.IntN(20)*10) * time.Millisecond)
			}
		}
		fails := func(h oracle.History, perm []int) string { return unexplained(t, cfg, h, perm, count) }
		if perm := rng.Perm(len(h)); fails(h, perm) != "" {
			report(t, i, h, perm, fails(h, perm), fails)
		}
	}
	t.Log(count)
	if count[window.OK]*10 < count[window.Unknown] || count["unknown and impossible"] < 20*histories(t, 3000)/3000 {
		t.Error("too few of some to tell, or too many that are not decided")
	}
}

// TestForkOverUnreadAppends: two writers append to one list that nobody reads. Where two readers
// disagree which of them came first, no order of the two appends leaves the level. Where they agree,
// the level holds.
func TestForkOverUnreadAppends(t *testing.T) {
	for text, want := range map[string]string{`
txn A: append x 1, append l 1
txn B: append y 2, append l 2
txn R1: read x [1], read y []
txn R2: read y [2], read x []`: window.Unknown, `
txn A: append x 1, append l 1
txn B: append y 2, append m 2
txn R1: read x [1], read y []
txn R2: read y [2], read x []`: window.OK, `
txn A: append x 1, append l 1
txn B: append y 2, append l 2
txn R1: read x [1], read y []
txn R2: read y [2], read x [1]`: window.OK} {
		h := oracle.History(must(workload.Parse(text)))
		for _, l := range []oracle.Level{"consistent-view", "update-serializable"} {
			if possible := must(oracle.Possible(h, l)); possible != (want == window.OK) {
				t.Fatalf("%s of%s: possible: %v", l, text, possible)
			}
		}
		eachOrder(len(h), func(perm []int) {
			for _, unbounded := range []bool{true, false} {
				cfg := underLimits(false)
				cfg.Unbounded = unbounded
				m, _, err := run(cfg, batchOf(t, h, perm), true)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"consistent-view", "strong-session-consistent-view", "update-serializable"} {
					if got, why := m.VerdictAsAsked(must(isolation.ParseLevel(name))); got != want && !(want == window.OK && noSession.MatchString(why)) && !(want == window.Unknown && strings.HasPrefix(name, "strong")) {
						t.Fatalf("%v of%s\n%s is %s (%s), not %s; unbounded: %v", perm, text, name, got, why, want, unbounded)
					}
				}
			}
		})
	}
}
