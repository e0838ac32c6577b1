package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// repeating are options for histories in which values come again.
func repeating(i int) oracle.Options {
	o := oracle.Small()
	o.Lists, o.Keys, o.Max = false, 2, 7
	o.Blind, o.Repeat = []float64{0.3, 0.8}[i%2], []float64{0.2, 0.5, 0.8}[i%3]
	return o
}

// TestDuplicateValues: whole histories in which several transactions write one value
// have the verdicts of trying all orders of commits, in any order of arrival. Only one of
// unknown outcome that may have written what was read leaves a level unknown, or a value
// that nobody left who counts.
func TestDuplicateValues(t *testing.T) {
	t.Parallel()
	counts, decided := map[string]int{}, map[string]int{}
	n := histories(t, 6000)
	for i := range seeds(t, 6000) {
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
				if !level.Underlying().Implies(isolation.Prefix) {
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
	if enough(t, 6000) && (decided[window.OK] < n/4 || decided[window.Violated] < n/4) {
		t.Errorf("%v over repeated values that were read: too few", decided)
	}
}

// TestDuplicateValuesInWindows: in streams with windows of 0 to 3 transactions, nothing is
// reported of repeated values that is possible, and what is said to hold is. Restarts in
// between change nothing. It counts how much is decided.
func TestDuplicateValuesInWindows(t *testing.T) {
	t.Parallel()
	f := blindForm{windowed: true, restarts: true}
	counts := map[string]int{}
	decided, all := 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 37))
		opt := repeating(i)
		opt.Min, opt.Max = 5, 8
		if i%4 > 0 {
			opt.Unknown = 0
		}
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		if i%2 == 0 {
			perm = identity(len(h))
		}
		cfg := exactAt(i / 4)
		if i%8 > 0 {
			cfg.Levels = proven()
		}
		smallWindow(&cfg, rng)
		f.look(t, cfg, h, perm, i, counts)
	}
	for name, k := range counts {
		if strings.HasPrefix(name, "repeated ") {
			all += k
			if !strings.Contains(name, window.Unknown) {
				decided += k
			}
		}
	}
	t.Logf("%d of %d verdicts on repeated values that were read are decided: %v", decided, all, counts)
	if enough(t, 3000) && decided < all/4 {
		t.Errorf("too few")
	}
}

// TestDuplicateValuesStream: a valid stream in which each key has few values keeps its verdict over
// many windows, blind writes or not. It prints how large a share of the reads is decided.
func TestDuplicateValuesStream(t *testing.T) {
	t.Parallel()
	for i, x := range []struct {
		blind  float64
		values int64
		least  float64 // share of reads that must be decided
	}{{1, 2, 0.999}, {1, 16, 0.999}, {0.3, 16, 0.999}, {0.3, 2, 0.999}} {
		for j, level := range []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}} {
			if testrun.LeavesOut(2*i+j, 3) {
				continue
			}
			isolated := workload.Serializable
			if level.Base == isolation.SnapshotIsolation {
				isolated = workload.SnapshotIsolation
			}
			gen, err := workload.NewGenerator(workload.Config{
				Kind: workload.Registers, Isolation: isolated, Count: 8_000, Keys: 1000, Blind: x.blind, WriteRatio: 0.5, Interval: 50 * time.Microsecond,
			}, rand.New(rand.NewPCG(6, 6)))
			if err != nil {
				t.Fatal(err)
			}
			var h oracle.History
			for txn, ok := gen.Next(); ok; txn, ok = gen.Next() {
				for i := range txn.Ops {
					if o := &txn.Ops[i]; !o.Absent {
						o.Value %= x.values
					}
				}
				h = append(h, txn)
			}
			m, found, err := runStep(window.Config{
				Levels: []isolation.Level{level}, Expect: level, Named: true, Contract: window.Contract{Complete: true},
				Window: window.For(200 * time.Millisecond), Lateness: window.For(20 * time.Millisecond),
			}, batchOf(t, h, identity(len(h))))
			if err != nil {
				t.Fatal(err)
			}
			c := m.Totals()
			verdict, why := m.Verdict(level)
			share := 1 - float64(c.Ambiguous)/float64(c.Repeated)
			t.Logf("%s, %.0f%% blind, %d values: %d reads of repeated values, %.4f of them decided, %d findings, %s: %s",
				level, 100*x.blind, x.values, c.Repeated, share, len(found), verdict, why)
			switch {
			case verdict == window.Violated || share < x.least || c.Repeated < 5000:
				t.Errorf("%s, %.0f%% blind, %d values: %s, %d reads, %.4f of them decided", level, 100*x.blind, x.values, verdict, c.Repeated, share)
			case verdict != window.OK && (level.Base == isolation.Serializable || c.Ambiguous > 2):
				t.Errorf("%s, %d values: %s", level, x.values, why)
			}
		}
	}
}

// runStep runs the batch in steps of 500.
func runStep(cfg window.Config, b *event.Batch) (*window.Machine, []finding.Finding, error) {
	m := window.New(cfg)
	var eff window.Effects
	for i := 0; i < len(b.Txns); i += 500 {
		var txns []int32
		for k := i; k < min(i+500, len(b.Txns)); k++ {
			txns = append(txns, int32(k))
		}
		m.Step(b, txns, 0, &eff)
	}
	m.Close(&eff)
	return m, eff.Findings, m.Check()
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
