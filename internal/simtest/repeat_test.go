package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// repeating are options for histories in which values come again.
func repeating(i int) oracle.Options {
	o := oracle.Small()
	o.Lists, o.Keys, o.Max = false, 2, 7
	o.Blind, o.Repeat = []float64{0.3, 0.8}[i%2], []float64{0.2, 0.5, 0.8}[i%3]
	return o
}

// TestRepeatedValues: whole histories in which several transactions write one value
// have the verdicts of trying all orders of commits, in any order of arrival. Only one of
// unknown outcome that may have written what was read leaves a level unknown, or a value
// that nobody left who counts.
func TestRepeatedValues(t *testing.T) {
	counts, decided := map[string]int{}, map[string]int{}
	n := histories(t, 6000)
	for i := range n {
		rng := rand.New(rand.NewPCG(uint64(i), 31))
		opt := repeating(i)
		if i%4 > 0 {
			opt.Unknown = 0
		}
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(exactAt(i/4), batchOf(t, h, perm), i%16 == 0)
			if err != nil {
				return err.Error()
			}
			if m.Totals().Repeated == 0 {
				return ""
			}
			for l, got := range verdicts(m) {
				level := must(isolation.ParseLevel(string(l)))
				if level.Underlying() < isolation.Prefix {
					continue // trial is about snapshots
				}
				possible, err := oracle.Possible(h, l)
				if err != nil {
					return err.Error()
				}
				decided[got]++
				counts[fmt.Sprintf("%s %s %v", l, got, possible)]++
				switch {
				case got == window.Violated && possible:
					return fmt.Sprintf("%s: reported violated, and is possible", l)
				case got == window.OK && !possible:
					return fmt.Sprintf("%s: said ok, and is not possible", l)
				case got == window.Unknown && !unsure(h) && m.Totals().Gaps == 0 && !leftByNobody(h):
					_, why := m.Verdict(level)
					return fmt.Sprintf("%s: not decided: %s", l, why)
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	t.Log(counts)
	if decided[window.OK] < n/4 || decided[window.Violated] < n/4 {
		t.Errorf("%v over repeated values that were read: too few", decided)
	}
}

func unsure(h oracle.History) bool {
	return slices.ContainsFunc(h, func(x workload.Txn) bool { return x.Status == event.Unknown })
}

// leftByNobody says whether a transaction read a value that no other one left which is
// known to have committed.
func leftByNobody(h oracle.History) bool {
	left := func(reader int, o *workload.Op) bool {
		for i := range h {
			if i == reader || h[i].Status != event.Committed {
				continue
			}
			for at := len(h[i].Ops) - 1; at >= 0; at-- {
				if w := &h[i].Ops[at]; w.Kind == event.Write && w.Key == o.Key {
					if w.Value == o.Value {
						return true
					}
					break
				}
			}
		}
		return false
	}
	for i := range h {
		wrote := map[string]bool{}
		for at := range h[i].Ops {
			o := &h[i].Ops[at]
			wrote[o.Key] = wrote[o.Key] || o.Kind == event.Write
			if o.Kind == event.Read && !o.Absent && !wrote[o.Key] && h[i].Status == event.Committed && !left(i, o) {
				return true
			}
		}
	}
	return false
}
