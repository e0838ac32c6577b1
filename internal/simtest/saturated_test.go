package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// saturatedLevels are the levels that rest on forced orders.
func saturatedLevels(t testing.TB) []isolation.Level {
	var ls []isolation.Level
	for _, name := range oracle.SaturatedLevels() {
		l, err := isolation.ParseLevel(string(name))
		if err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	return ls
}

// saturatedDisagreement compares the machine's verdicts on these levels with the
// oracle's. sharp asks for a violation wherever the oracle has one.
func saturatedDisagreement(m *window.Machine, h oracle.History, levels []isolation.Level, sharp bool) string {
	violated := oracle.Forces(h, int64(m.Config().Contract.ClockDrift))
	torn := oracle.Dependencies(h).Torn()
	for _, l := range levels {
		got, why := m.Verdict(l)
		if got != window.Violated && noSession.ReplaceAllString(why, "") == "" {
			got = window.OK
		}
		if l.Base == isolation.MonotonicAtomicView && torn {
			continue
		}
		want := violated[oracle.Level(l.String())]
		switch {
		case got == window.Violated && !want && m.Totals().Ambiguous > 0: // the oracle's orders are of values that name their writers
			if possible, err := oracle.PossibleAt(h, oracle.Level(l.String())); err == nil && possible {
				return fmt.Sprintf("%s: reported violated, and is possible", l)
			}
		case got == window.Violated && !want:
			return fmt.Sprintf("%s: reported violated, the oracle has no contradiction", l)
		case got == window.OK && want:
			return fmt.Sprintf("%s: said ok, the oracle has one", l)
		case sharp && want && got != window.Violated:
			return fmt.Sprintf("%s: %s (%s), the oracle has a contradiction", l, got, why)
		case sharp && !want && got != window.OK:
			return fmt.Sprintf("%s: %s (%s), the oracle has none", l, got, why)
		}
	}
	return ""
}

func saturatedHistory(rng *rand.Rand, i int) oracle.History {
	opt := oracle.Wide()
	if i%2 == 0 {
		opt = oracle.Small()
	}
	opt.Blind = []float64{0, 0.1, 0.5, 0.9}[i/2%4]
	if i%7 == 0 { // a value that comes again names no writer
		opt.Repeat = []float64{0.1, 0.4}[i/7%2]
	}
	return oracle.Random(rng, opt)
}

// TestSaturatedWhole: of whole histories, blind writes or not, in any order of
// arrival, the verdicts on the levels that rest on forced orders are the oracle's.
func TestSaturatedWhole(t *testing.T) {
	t.Parallel()
	levels := saturatedLevels(t)
	for i := range seeds(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		h := saturatedHistory(rng, i)
		perm := rng.Perm(len(h))
		fails := func(h oracle.History, perm []int) string {
			cfg := exact()
			cfg.Levels = levels
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			c := m.Totals()
			return saturatedDisagreement(m, h, levels, c.Gaps+c.Ambiguous+c.Unattributed+c.Overlapping+c.Misread == 0)
		}
		if why := fails(h, perm); why != "" {
			reportSaturated(t, i, h, perm, why, fails)
		}
	}
}

// overlapping is a history of blind writes, in which transactions run for long, and read
// any value that one which began before them wrote, whether it was over or not.
func overlapping(rng *rand.Rand) oracle.History {
	h := make(oracle.History, 3+rng.IntN(5))
	written := map[string][]int64{}
	for i := range h {
		start := int64(10*i) + rng.Int64N(10)
		h[i] = workload.Txn{ID: fmt.Sprint("T", i+1), Status: event.Committed, Start: 1e9 + start*1e6, End: 1e9 + (start+1+rng.Int64N(50))*1e6}
		for k, key := range []string{"x0", "x1", "x2"} {
			value := int64(10*(i+1) + k)
			switch all := written[key]; {
			case rng.IntN(3) == 0:
				h[i].Ops = append(h[i].Ops, workload.Write(key, value))
				written[key] = append(all, value)
			case len(all) > 0 && rng.IntN(2) == 0:
				h[i].Ops = append(h[i].Ops, workload.Read(key, all[rng.IntN(len(all))]))
			}
		}
	}
	return h
}

// hasten shortens the intervals of the transactions, so that real time orders more of
// them than the store kept to. Sessions stay sequential.
func hasten(rng *rand.Rand, h oracle.History) {
	for i := range h {
		t := &h[i]
		if t.Start == 0 || t.End <= t.Start || rng.IntN(4) == 0 {
			continue
		}
		length := t.End - t.Start
		t.Start += rng.Int64N(length)
		t.End = t.Start + rng.Int64N(t.End-t.Start)
	}
}

// inTime is a random history in which real time is in the pasts, of blind writes mostly,
// the levels to watch and how far clocks may be apart.
func inTime(t testing.TB, rng *rand.Rand, i int) (h oracle.History, cfg window.Config) {
	opt := oracle.Options{
		Min: 3, Max: 9, Keys: 2, Sessions: rng.IntN(4), Registers: true, Lists: i%3 == 0, Blind: 0.9, Corrupt: 0.1,
		Aborted: 0.03, Unknown: 0.05,
	}
	if i%2 == 0 {
		opt.Max, opt.Keys = 16, 4
	}
	h = oracle.Random(rng, opt)
	if hasten(rng, h); i%3 == 0 {
		h = overlapping(rng)
	}
	cfg = exact()
	cfg.Contract.ClockDrift = time.Duration(rng.IntN(3)) * time.Millisecond
	cfg.Levels = saturatedLevels(t)
	switch i % 4 {
	case 0:
		cfg.Levels = isolation.Encoded()
	case 1:
		cfg.Levels = must(isolation.ParseLevels([]string{"strong-causal", "strong-read-atomic", "strong-read-atomic,strong-causal"}[rng.IntN(3)]))
	}
	return h, cfg
}

// byTimeAlone is the weakest of the two levels that falls, where only real time in pasts
// is against it, and "" otherwise.
func byTimeAlone(h oracle.History, cfg *window.Config) string {
	violated := oracle.Forces(h, int64(cfg.Contract.ClockDrift))
	for _, l := range []oracle.Level{"strong-session-causal", "strong-monotonic-atomic-view", "strong-read-atomic", "strong-causal"} {
		if violated[l] && (l == "strong-read-atomic" || l == "strong-causal") {
			return string(l)
		} else if violated[l] {
			return ""
		}
	}
	return ""
}

// TestSaturatedInTime: the same where real time is in the pasts. Of histories that hold
// without it many must not hold with it.
func TestSaturatedInTime(t *testing.T) {
	t.Parallel()
	fell := map[string]int{}
	n := histories(t, 4000)
	for i := range n {
		rng := rand.New(rand.NewPCG(uint64(i), 43))
		h, cfg := inTime(t, rng, i)
		perm := rng.Perm(len(h))
		levels := slices.DeleteFunc(slices.Clone(cfg.Levels), func(l isolation.Level) bool { return !slices.Contains(saturatedLevels(t), l) })
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			c := m.Totals()
			return saturatedDisagreement(m, h, levels, c.Gaps+c.Ambiguous+c.Unattributed+c.Overlapping+c.Misread+c.Timeless == 0)
		}
		if why := fails(h, perm); why != "" {
			reportSaturated(t, i, h, perm, why, fails)
		}
		fell[byTimeAlone(h, &cfg)]++
	}
	if t.Log(fell); n >= 4000 && (fell["strong-read-atomic"] < 100 || fell["strong-causal"] < 5) {
		t.Errorf("fell by real time in pasts alone: %v", fell)
	}
}

// TestSaturatedInTimeWindowed: the same while transactions retire: nothing is reported that
// is not there, and where records come about in order most of what is there is.
func TestSaturatedInTimeWindowed(t *testing.T) {
	t.Parallel()
	var found, there int
	n := histories(t, 4000)
	for i := range n {
		rng := rand.New(rand.NewPCG(uint64(i), 44))
		h, cfg := inTime(t, rng, i)
		perm := identity(len(h))
		slices.SortFunc(perm, func(a, b int) int { return cmp.Compare(h[a].End, h[b].End) })
		if i%3 == 0 {
			rng.Shuffle(len(perm), func(a, b int) { perm[a], perm[b] = perm[b], perm[a] })
		}
		cfg.Unbounded = false
		cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
		cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
		levels := slices.DeleteFunc(slices.Clone(cfg.Levels), func(l isolation.Level) bool { return !slices.Contains(saturatedLevels(t), l) })
		got := ""
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			got, _ = m.Verdict(levels[len(levels)-1])
			return saturatedDisagreement(m, h, levels, false)
		}
		if why := fails(h, perm); why != "" {
			reportSaturated(t, i, h, perm, why, fails)
		}
		if level := levels[len(levels)-1].String(); i%3 != 0 && byTimeAlone(h, &cfg) == "strong-read-atomic" && level != "strong-monotonic-atomic-view" {
			if there++; got == window.Violated {
				found++
			}
		}
	}
	if t.Logf("%d of %d found", found, there); n >= 4000 && (there < 100 || 3*found < there) {
		t.Errorf("%d of %d found", found, there)
	}
}

// TestSaturatedWindowed: the same while transactions retire all the time, and with
// these levels alone or beside all others: nothing is reported that is not there,
// and nothing is missed without a flag.
func TestSaturatedWindowed(t *testing.T) {
	t.Parallel()
	levels := saturatedLevels(t)
	for i := range seeds(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(i), 42))
		h := saturatedHistory(rng, i)
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
			return saturatedDisagreement(m, h, levels, false)
		}
		if why := fails(h, perm); why != "" {
			reportSaturated(t, i, h, perm, why, fails)
		}
	}
}

func reportSaturated(t *testing.T, seed int, h oracle.History, perm []int, why string, fails func(oracle.History, []int) string) {
	t.Helper()
	arrived := make(oracle.History, len(h))
	for i, p := range perm {
		arrived[i] = h[p]
	}
	small := oracle.Shrink(arrived, func(h oracle.History) bool { return fails(h, identity(len(h))) != "" })
	t.Fatalf("history %d: %s\nshrunk, in the order of arrival:\n%s%s", seed, why, small.Text(), fails(small, identity(len(small))))
}
