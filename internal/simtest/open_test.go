package simtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/window"
)

// openKinds are the kinds of small histories of which the cells are counted that a check
// leaves open. Aborted and unknown outcomes and wrong results are as in [mixes].
func openKinds() map[string]oracle.Kinds {
	kinds := mixes()
	base := kinds["sets"]
	base.Sets = false
	kinds["registers"] = base
	base.Blind = 0.5
	kinds["blind writes"] = base
	base.Lists, base.Blind = true, 0.1
	kinds["lists"] = base
	rows := base
	rows.Deletes, rows.Counters = true, true
	kinds["lists, deletes and counters"] = rows
	rows.Deletes, rows.Ranges = false, true
	kinds["lists, rows and counters"] = rows
	told := kinds["versions"]
	told.Deletes, told.Counters = true, true
	kinds["versions, deletes and counters"] = told
	told = kinds["versions"]
	told.Ranges, told.Deletes = true, true
	kinds["versions, ranges and deletes"] = told
	told = kinds["timestamps"]
	told.Deletes, told.Lists, told.Sets, told.Removes = true, true, true, true
	kinds["timestamps, deletes, lists and sets"] = told
	told = kinds["timestamps"]
	told.Repeated = true
	kinds["timestamps, repeated values"] = told
	told.Blind, told.CAS, told.Deletes = 0.2, true, true
	kinds["timestamps, repeated values and deletes"] = told
	told.Sets, told.Removes, told.CAS, told.Deletes = true, true, false, false
	kinds["timestamps, repeated values and elements"] = told
	every := kinds["all"]
	every.Lists = true
	kinds["all and lists"] = every
	for _, name := range slices.Collect(maps.Keys(kinds)) { // clients that try again
		k := kinds[name]
		if k.Versions || k.Timestamps {
			continue // one that tries again has a version of its own, which is not made here
		}
		k.Unknown, k.Retried = 0.15, 0.8
		kinds[name+", retried"] = k
	}
	return kinds
}

// askedKinds are the kinds of histories that are tried where transactions ask for levels, too.
func askedKinds() []string {
	return []string{"registers", "lists", "deletes", "counters", "removes", "all", "all and lists"}
}

// asking are the levels that the transactions of h ask for. In half of the histories they ask for
// what is most, and in the others for anything.
func asking(rng *rand.Rand, h oracle.History) map[string]string {
	names := []string{"serializable", "serializable", ""}
	if rng.IntN(2) == 0 {
		names = []string{"", "", "read-uncommitted", "read-committed", "monotonic-atomic-view", "read-atomic", "causal", "prefix", "snapshot-isolation", "serializable"}
	}
	asked := map[string]string{}
	for i := range h {
		asked[h[i].ID] = names[rng.IntN(len(names))]
	}
	return asked
}

// unkindKinds are the kinds of histories that are read without the kinds of keys, too.
func unkindKinds() []string {
	return []string{"counters", "totals", "sets", "removes", "all", "all and lists", "lists, deletes and counters", "removes, retried"}
}

// asNames ends the names of kinds with versions that tell no order.
const asNames = ", as names"

// opened is how a history is read.
type opened struct {
	numbered, stamped bool              // its versions or commit timestamps are in order
	unkind            bool              // reads tell no kind where a write of the key does
	asked             map[string]string // levels, by transaction
}

// cells counts the cells of histories and levels.
type cells struct{ held, fell, openHeld, openFell int }

func (c *cells) open() int { return c.openHeld + c.openFell }

// share is the part of n in percent.
func share(of, n int) float64 { return 100 * float64(of) / float64(max(1, n)) }

// TestOpen: of small whole histories of every kind each level's verdict is compared with
// the trial of all orders. None is wrong, and at most 1% are open.
func TestOpen(t *testing.T) {
	kinds := openKinds()
	for _, name := range askedKinds() {
		kinds[name+", asked"] = kinds[name]
	}
	for _, name := range unkindKinds() {
		kinds[name+", kinds untold"] = kinds[name]
	}
	for _, name := range []string{"versions", "versions, ranges and deletes", "versions, deletes and counters"} {
		kinds[name+asNames] = kinds[name]
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cells
			by := map[string]int{}
			few := 60
			if k.Versions { // one history alone is more than 1% of so few
				few = 200
			}
			for i := range seeds(t, few) {
				rng := rand.New(rand.NewPCG(uint64(i), 51))
				h := oracle.RandomKinds(rng, k)
				perm := rng.Perm(len(h))
				in := opened{numbered: k.Versions && !strings.HasSuffix(name, asNames), stamped: k.Timestamps, unkind: strings.HasSuffix(name, ", kinds untold")}
				if strings.HasSuffix(name, ", asked") {
					in.asked = asking(rng, h)
				}
				fails := func(h oracle.History, perm []int) string { return c.count(t, &in, h, perm, nil) }
				if why := c.count(t, &in, h, perm, by); why != "" {
					reportKinds(t, i, h, perm, fmt.Sprint(why, in.asked), fails)
				}
			}
			n := c.held + c.fell
			t.Logf("%s: %d cells hold, %.1f%% of them open; %d fell, %.1f%% open; %.2f%% of all open: %v",
				name, c.held, share(c.openHeld, c.held), c.fell, share(c.openFell, c.fell), share(c.open(), n), by)
			if c.open()*100 > n {
				t.Errorf("%d of %d cells are open", c.open(), n)
			}
		})
	}
}

// TestOpenAgain: histories in which one that asked for read uncommitted read a list. In the first two its read alone
// shows which appends came first. In the third it found an aborted element, and so did one that may not.
// In the last one nobody asked for a level, and a range did not show a list that had been read before. In the first of all,
// a transaction read version 50 of who aborted, and wrote version 30. In the second, commit timestamps order each element of a set apart.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind  string
		seed  int
		asked bool
	}{{"versions, deletes and counters", 33366, false}, {"timestamps, deletes, lists and sets", 396, false}, {"lists", 9500055, true}, {"all and lists", 9500406, true}, {"lists", 9504463, true}, {"lists, rows and counters, retried", 9501132, false}} {
		rng := rand.New(rand.NewPCG(uint64(x.seed), 51))
		h := oracle.RandomKinds(rng, openKinds()[x.kind])
		perm := rng.Perm(len(h))
		in := opened{numbered: openKinds()[x.kind].Versions, stamped: openKinds()[x.kind].Timestamps}
		if x.asked {
			in.asked = asking(rng, h)
		}
		var c cells
		if why := c.count(t, &in, h, perm, nil); why != "" {
			t.Errorf("seed %d: %s", x.seed, why)
		}
	}
}

// add counts a cell, whose level holds or not.
func (c *cells) add(holds, open bool) {
	if holds {
		c.held++
		c.openHeld += of(open)
	} else {
		c.fell++
		c.openFell += of(open)
	}
}

// count counts the cells of h, and those that are open by level; it says which is wrong.
func (c *cells) count(t *testing.T, in *opened, h oracle.History, perm []int, by map[string]int) string {
	cfg := exact()
	cfg.Contract.NumericVersions, cfg.Contract.TrustCommitTS = in.numbered, in.stamped
	cfg.Levels = triedLevels()
	m, _, why := kindsAsked(t, cfg, h, perm, false, in)
	if why != "" {
		return why
	}
	if why := unimplied(m); why != "" {
		return why
	}
	tried := h
	if !in.numbered && !in.stamped {
		tried = unversioned(h)
	}
	got := verdicts(m)
	possible := map[isolation.Level]bool{}
	for at := len(cfg.Levels) - 1; at >= 0; at-- {
		l := cfg.Levels[at]
		for stronger, holds := range possible {
			if in.asked == nil && holds && stronger.Implies(l) {
				possible[l] = true
			}
		}
		name := oracle.Level(l.String())
		if !possible[l] {
			holds, err := oracle.PossibleAsked(tried, in.asked, name)
			if err != nil {
				return err.Error()
			}
			possible[l] = holds
		}
		open := got[name] == window.Unknown
		if _, reason := m.VerdictAsAsked(l); in.asked != nil && m.Totals().Sessionless > 0 && strings.Contains(reason, "by session and seq") {
			open = false // neither is a weaker one known that somebody asked for
		}
		if slices.ContainsFunc(m.Decided(l).Why, func(w window.Why) bool { return w.Cause == "no-version" }) {
			open = false // a value names no writer where others tell versions
		}
		switch {
		case got[name] == window.Violated && possible[l]:
			return fmt.Sprintf("%s: reported violated, and an order exists", l)
		case got[name] == window.OK && !possible[l]:
			return fmt.Sprintf("%s: said ok, and no order exists", l)
		case open && by != nil:
			_, reason := m.VerdictAsAsked(l)
			by[l.String()+": "+strings.TrimSpace(reason)]++
		}
		c.add(possible[l], open)
	}
	return ""
}

// unversioned is h without the versions of registers: the values say the same.
func unversioned(h oracle.History) oracle.History {
	h = slices.Clone(h)
	for i := range h {
		h[i].Ops = slices.Clone(h[i].Ops)
		for j := range h[i].Ops {
			if o := &h[i].Ops[j]; o.Kind != event.Inc && o.Data != event.Counter {
				o.Version, o.PrevVersion = 0, 0
			}
		}
	}
	return h
}

func of(b bool) int {
	if b {
		return 1
	}
	return 0
}
