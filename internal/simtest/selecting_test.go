package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// selects says whether the level follows the anti-dependencies of some readers only. The trial of
// orders knows it of registers and lists alone.
func selects(l oracle.Level) bool {
	return must(isolation.ParseLevel(string(l))).Underlying().Selects()
}

// triedLevels are the levels at which orders of all kinds are tried.
func triedLevels() []isolation.Level {
	return slices.DeleteFunc(isolation.Encoded(), func(l isolation.Level) bool { return l.Underlying().Selects() })
}

// unselected are the levels that do not select readers: what a planted bug refutes is told by these. Where
// one was replaced by a weaker one that does, it stands for it.
func unselected(names []string) []string {
	var out []string
	for _, n := range names {
		n = argued.Replace(n)
		l := must(isolation.ParseLevel(n))
		if !slices.ContainsFunc(out, func(o string) bool { return l.Implies(must(isolation.ParseLevel(o))) }) {
			out = append(out, n)
		}
	}
	return out
}

// argued has, by the name of each level that selects readers, the one that stands for it.
var argued = strings.NewReplacer("cursor-stability", "snapshot-isolation", "consistent-view", "snapshot-isolation", "repeatable-read", "serializable", "update-serializable", "serializable")

// TestSelectingLevels: at cursor stability and repeatable read, histories of every kind are decided
// between their neighbours. What is violated has no order at snapshot isolation, or at
// serializable; what holds has one at read committed. Without ranges, repeatable read is
// serializable but for what a transaction sees of its own writes.
func TestSelectingLevels(t *testing.T) {
	t.Parallel()
	said := map[string]int{}
	for name, k := range openKinds() {
		if k.Timestamps && k.CAS { // numbers are told as versions here, and a cas that failed saw no version with its own
			continue
		}
		for i := range seeds(t, 60) {
			rng := rand.New(rand.NewPCG(uint64(i), 613))
			h := oracle.RandomKinds(rng, k)
			perm := rng.Perm(len(h))
			fails := func(h oracle.History, perm []int) string {
				cfg := exact()
				cfg.Levels = isolation.Encoded()
				m, why := kindsRun(t, cfg, h, perm, false)
				if why != "" {
					return why
				}
				for l, got := range verdicts(m) {
					if why := outOfPlace(unversioned(h), l, got); why != "" {
						return why
					}
					if selects(l) {
						said[got]++
					}
				}
				return ""
			}
			if why := fails(h, perm); why != "" {
				reportKinds(t, i, h, perm, name+": "+why, fails)
			}
		}
	}
	t.Log(said)
	if enough(t, 60) && (said[window.OK] < 100 || said[window.Violated] < 100 || said[window.Unknown] > said[window.OK]) {
		t.Errorf("%v", said)
	}
}

// outOfPlace says how the verdict does not fit between the level's neighbours.
func outOfPlace(h oracle.History, l oracle.Level, got string) string {
	selecting := must(isolation.ParseLevel(string(l))).Underlying().String()
	above := argued.Replace(selecting)
	if !selects(l) || got == window.Unknown {
		return ""
	}
	family := strings.TrimSuffix(string(l), selecting)
	stronger, err := oracle.PossibleAt(h, oracle.Level(family+above))
	if err != nil {
		return err.Error()
	}
	weaker, err := oracle.PossibleAt(h, oracle.Level(family+"read-committed"))
	switch {
	case err != nil:
		return err.Error()
	case got == window.Violated && stronger:
		return fmt.Sprintf("%s: reported violated, and %s%s has an order", l, family, above)
	case got == window.OK && !weaker:
		return fmt.Sprintf("%s: said ok, and %sread-committed has no order", l, family)
	}
	return ""
}
