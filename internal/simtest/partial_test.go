package simtest

import (
	"fmt"
	"maps"
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

// certain are the findings that were told and stand, and would be alerted.
func certain(found []finding.Finding) (all []finding.Finding) {
	latest := map[string]finding.Finding{}
	for _, f := range found {
		latest[f.ID] = f
	}
	for _, id := range slices.Sorted(maps.Keys(latest)) {
		if f := latest[id]; f.Certain && f.State != finding.Withdrawn && f.State != finding.Waiting && f.Kind == finding.KindViolation {
			all = append(all, f)
		}
	}
	return all
}

// withdrawn counts the findings that were told and taken back.
func withdrawn(found []finding.Finding) (n int) {
	for i := range found {
		n += of(found[i].State == finding.Withdrawn)
	}
	return n
}

// partial are contracts under which records may be missing, by i: that of `run`, and with values
// that are declared unique.
func partial(i int) window.Contract {
	c := defaults()
	if i%3 == 0 {
		c.Observed = false
	}
	if i%3 == 1 {
		c.ClockDrift = 0
	}
	if i%4 == 0 {
		c.DeletesUnseen = false
	}
	return c
}

// kept is a history of 3 to 6 transactions that keeps every level: with lists and registers,
// whose values come again where they are only observed, or of another kind, by i.
func kept(rng *rand.Rand, i int) oracle.History {
	kinds := slices.Sorted(maps.Keys(mixes()))
	k := mixes()[kinds[i/2%len(kinds)]]
	k.Corrupt, k.Versions, k.Timestamps = 0, false, false
	opt := oracle.Small()
	opt.Corrupt, opt.Blind, opt.Sessions = 0, 0.2, 3
	if partial(i).Observed {
		opt.Repeat = []float64{0, 0.1, 0.8}[rng.IntN(3)]
		opt.Lists = opt.Repeat < 0.5
	}
	for {
		h := oracle.RandomKinds(rng, k)
		if i%2 == 0 {
			h = oracle.Random(rng, opt)
		}
		if ok, err := oracle.Possible(h, "strong-serializable"); err == nil && ok && !appendedTwice(h) {
			return h
		}
	}
}

// appendedTwice says whether an element was appended to a list twice, which nobody without a
// record does.
func appendedTwice(h oracle.History) bool {
	by := map[oracle.Value]bool{}
	for i := range h {
		for _, o := range h[i].Ops {
			v := oracle.Value{Key: o.Key, Value: o.Value}
			if o.Kind == event.Append && by[v] {
				return true
			}
			by[v] = by[v] || o.Kind == event.Append
		}
	}
	return false
}

// without leaves some transactions of h out, or some sessions.
func without(rng *rand.Rand, h oracle.History) oracle.History {
	out, share := map[string]bool{}, 0.2+0.5*rng.Float64()
	sessions := rng.IntN(2) == 0
	return slices.DeleteFunc(h.Clone(), func(x workload.Txn) bool {
		name := "/" + x.ID
		if sessions && x.Session != "" {
			name = x.Session
		}
		if _, drawn := out[name]; !drawn {
			out[name] = rng.Float64() < share
		}
		return out[name]
	})
}

// shown says whether every pattern of keys that repeats in whole shows it in what is left of it: what
// nobody recorded installs no value that was recorded, where a pattern has never repeated. Nor does
// it try again what aborted, or what nobody knows the outcome of.
func shown(whole, h oracle.History) bool {
	is := oracle.SignsOf(h, 0).Repeats
	was := oracle.SignsOf(whole, 0)
	for p := range was.Repeats {
		if !is[p] {
			return false
		}
	}
	return len(was.Perhaps) == 0 && !triedElsewhere(whole, h, is)
}

// triedElsewhere says whether one of whole that is not in h wrote what one in h wrote too, and the
// pattern is not known to repeat.
func triedElsewhere(whole, h oracle.History, repeats map[string]bool) bool {
	by := map[oracle.Value]bool{}
	each := func(x *workload.Txn, fn func(v oracle.Value) bool) bool {
		return slices.ContainsFunc(x.Ops, func(o workload.Op) bool {
			return (o.Kind == event.Write || o.Kind == event.Insert) && !repeats[oracle.PatternOf(o.Key)] && fn(oracle.Value{Key: o.Key, Value: o.Value})
		})
	}
	for i := range h {
		each(&h[i], func(v oracle.Value) bool { by[v] = true; return false })
	}
	return slices.ContainsFunc(whole, func(x workload.Txn) bool {
		left := !slices.ContainsFunc(h, func(y workload.Txn) bool { return x.ID == y.ID })
		return left && x.Status != event.Aborted && each(&x, func(v oracle.Value) bool { return by[v] })
	})
}

// TestPartialCaptures: of histories that keep every level some transactions or sessions are left
// out. Under a contract that says so no level is violated, and no finding is certain, in any order
// of arrival, in windows or not, with values of registers as they were or coming again.
func TestPartialCaptures(t *testing.T) {
	t.Parallel()
	left, repeating, taken := 0, 0, 0
	for i := range seeds(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(i), 123))
		whole := kept(rng, i)
		h := without(rng, whole)
		for !shown(whole, h) {
			whole = kept(rng, i)
			h = without(rng, whole)
		}
		left += len(whole) - len(h)
		cfg := exact()
		if rng.IntN(2) == 0 {
			cfg = windowed(rng)
		}
		cfg.Levels, cfg.Contract = isolation.Encoded(), partial(i)
		perm := arrival(rng, len(h))
		m, found, why := kindsFound(t, cfg, h, perm, rng.IntN(8) == 0)
		if why == "" {
			why = alerted(m, found)
		}
		if why != "" {
			t.Fatalf("history %d: %s\n%v\n%v, %s\nof\n%s", i, why, cfg.Contract, perm, h.Text(), whole.Text())
		}
		repeating += len(m.Repeating())
		taken += withdrawn(found)
	}
	t.Logf("%d transactions were left out, %d patterns repeat, %d findings were taken back", left, repeating, taken)
	if enough(t, 1500) && (left == 0 || repeating == 0) {
		t.Error("not all of it was seen")
	}
}

// alerted says which level has a verdict that a partial capture cannot have of a store that keeps
// them all, or which finding is certain.
func alerted(m *window.Machine, found []finding.Finding) string {
	for l, got := range verdicts(m) {
		if got != window.Unknown {
			return fmt.Sprintf("%s: %s", l, got)
		}
	}
	if f := certain(found); len(f) > 0 {
		return "certain: " + lines(f)
	}
	return ""
}

// TestNothingLeftOut: of histories that keep to no level nothing is left out, and the contract says
// that something may be. What is violated then is impossible by trial of all orders, and of what
// the same records show under a complete capture most is found.
func TestNothingLeftOut(t *testing.T) {
	t.Parallel()
	both, whole := 0, 0
	for i := range seeds(t, 800) {
		rng := rand.New(rand.NewPCG(uint64(i), 127))
		kinds := slices.Sorted(maps.Keys(mixes()))
		k := mixes()[kinds[i/2%len(kinds)]]
		k.Versions, k.Timestamps = false, false
		h := oracle.RandomKinds(rng, k)
		if i%2 == 0 {
			h = oracle.Random(rng, oracle.Small())
		}
		perm := arrival(rng, len(h))
		cfg := exact()
		cfg.Levels = triedLevels()
		fails := func(h oracle.History, perm []int) string {
			complete, why := kindsRun(t, cfg, h, perm, false)
			if why != "" {
				return why
			}
			less := cfg
			less.Contract = partial(i)
			m, why := kindsRun(t, less, h, perm, false)
			if why != "" {
				return why
			}
			is := verdicts(complete)
			for l, got := range verdicts(m) {
				if is[l] == window.Violated {
					whole++
					both += of(got == window.Violated)
				}
				if got == window.OK || got == window.Violated && is[l] == window.OK {
					return fmt.Sprintf("%s: %s, and %s of a complete capture", l, got, is[l])
				}
				if got == window.Violated {
					if possible, err := oracle.PossibleAt(h, l); err != nil || possible {
						return fmt.Sprintf("%s: reported violated, and an order exists: %v", l, err)
					}
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("of %d cells that a complete capture shows to be violated %d are found in one that is not declared so", whole, both)
	if enough(t, 800) && 4*both < whole {
		t.Error("too few")
	}
}
