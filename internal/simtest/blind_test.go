package simtest

import (
	"cmp"
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

// blind are options for histories most of whose writes are blind.
func blind() oracle.Options {
	o := oracle.Small()
	o.Lists, o.Blind, o.Keys, o.Min, o.Max = false, 0.8, 3, 4, 7
	return o
}

// TestBlindWrites compares histories with blind writes with trying all orders of commits,
// in random orders of arrival: at serializability and snapshot isolation, plain and with
// sessions, one in four at every other level from prefix consistency up as well. Of a
// whole history the verdict is that of the trial. With windows of 0 to 3 transactions
// nothing is reported that is possible, and what is said to hold is. Restarts in between
// change nothing. Each form looks at [histories] of them.
func TestBlindWrites(t *testing.T) {
	t.Parallel()
	for _, f := range []blindForm{
		{name: "whole", stream: 21}, {name: "whole, restarts", stream: 31, restarts: true},
		{name: "windowed", stream: 22, windowed: true}, {name: "windowed, restarts", stream: 32, windowed: true, restarts: true},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.compare(t, 5000)
		})
	}
}

type blindForm struct {
	name               string
	stream             uint64 // of random numbers
	windowed, restarts bool
}

// proven are the levels that every history of blind writes is looked at.
func proven() (ls []isolation.Level) {
	for _, base := range []isolation.Base{isolation.SnapshotIsolation, isolation.Serializable} {
		for _, family := range []isolation.Family{isolation.Plain, isolation.StrongSession} {
			ls = append(ls, isolation.Level{Base: base, Family: family})
		}
	}
	return ls
}

func (f blindForm) compare(t *testing.T, few int) {
	counts := map[string]int{} // of histories with unordered keys
	for i := range seeds(t, few) {
		rng := rand.New(rand.NewPCG(uint64(i), f.stream))
		opt := blind()
		opt.Lists = i%4 == 3
		if f.windowed {
			opt.Min, opt.Max = 5, 8
		}
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		if f.windowed && i%2 == 0 {
			perm = identity(len(h))
		}
		cfg := exact()
		cfg.Levels = proven()
		if i%4 == 0 {
			for _, l := range exactAt(i / 4).Levels {
				if !slices.Contains(cfg.Levels, l) {
					cfg.Levels = append(cfg.Levels, l)
				}
			}
		}
		if f.windowed {
			smallWindow(&cfg, rng)
		}
		f.look(t, cfg, h, perm, i, counts)
	}
	var lines []string
	n := histories(t, few)
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%6d %s", n, name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	t.Logf("%d histories; of those with keys whose order nobody saw:\n%s", n, strings.Join(lines, "\n"))
	for _, l := range proven() {
		for _, verdict := range []string{window.OK, window.Violated} {
			if k := counts[fmt.Sprintf("%s %s, possible %v", l, verdict, verdict == window.OK)]; enough(t, few) && k < n/50 {
				t.Errorf("only %d of %d histories are %s at %s", k, n, verdict, l)
			}
		}
	}
}

// TestBlindInTime is the same at levels in real time, where transactions run for long,
// or for shorter than the store kept to, while they retire: to be ok, what froze must be
// an order in real time as well.
func TestBlindInTime(t *testing.T) {
	t.Parallel()
	f := blindForm{name: "in time", windowed: true}
	counts := map[string]int{}
	for i := range histories(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 45))
		h := overlapping(rng)
		if i%3 == 0 {
			opt := blind()
			opt.Lists, opt.Sessions, opt.Max = false, rng.IntN(3), 7
			h = oracle.Random(rng, opt)
			hasten(rng, h)
		}
		perm := identity(len(h))
		slices.SortFunc(perm, func(a, b int) int { return cmp.Compare(h[a].End, h[b].End) })
		if i%2 == 0 {
			perm = rng.Perm(len(h))
		}
		cfg := exact()
		cfg.Levels = nil
		for _, l := range isolation.Encoded() {
			if l.Underlying().Implies(isolation.Prefix) && l.RealTime() && (i%4 == 0 || rng.IntN(3) == 0) {
				cfg.Levels = append(cfg.Levels, l)
			}
		}
		smallWindow(&cfg, rng)
		f.look(t, cfg, h, perm, i, counts)
	}
	t.Log(counts)
}

// smallWindow gives cfg a window of 0 to 3 transactions.
func smallWindow(cfg *window.Config, rng *rand.Rand) {
	cfg.Unbounded = false
	cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
	cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
	cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
}

// look fails the test where fails has a reason, or panics, with the history shrunk.
func (f blindForm) look(t *testing.T, cfg window.Config, h oracle.History, perm []int, i int, counts map[string]int) {
	t.Helper()
	fails := func(h oracle.History, perm []int) (why string) {
		defer func() {
			if p := recover(); p != nil {
				why = fmt.Sprintf("panic: %v", p)
			}
		}()
		return f.fails(t, cfg, h, perm, i, counts)
	}
	if why := fails(h, perm); why != "" {
		report(t, i, h, perm, why, fails)
	}
}

// fails says how the machine's verdicts on h contradict trial.
func (f blindForm) fails(t *testing.T, cfg window.Config, h oracle.History, perm []int, i int, counts map[string]int) string {
	restart := func(at int) bool { return f.restarts && (i+at)%3 == 0 }
	m, _, err := runRestarting(t, cfg, batchOf(t, h, perm), f.windowed || i%16 == 0, restart)
	if err != nil {
		return err.Error()
	}
	flagged := f.windowed || m.Totals().Gaps+m.Totals().Ambiguous+m.Totals().Undecided > 0
	for l, got := range verdicts(m) {
		level := must(isolation.ParseLevel(string(l)))
		if !level.Underlying().Implies(isolation.Prefix) {
			continue // trial is about snapshots
		}
		possible, err := oracle.Possible(h, l)
		switch {
		case err != nil:
			return err.Error()
		case got == window.Violated && possible:
			return fmt.Sprintf("%s: reported violated, and is possible", l)
		case got == window.OK && !possible:
			return fmt.Sprintf("%s: said ok, and is not possible", l)
		case got == window.Unknown && !flagged:
			_, why := m.Verdict(level)
			return fmt.Sprintf("%s: not decided: %s", l, why)
		}
		if m.Totals().Repeated > 0 {
			counts[fmt.Sprintf("repeated %s %s, possible %v", l, got, possible)]++
		} else if m.Totals().Unordered > 0 {
			counts[fmt.Sprintf("%s %s, possible %v", l, got, possible)]++
		}
	}
	return ""
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestOverwrittenAmbiguous: who read a value that two may have written, and replaced
// it, replaced it all the same once one of the two turns out to have aborted. Nothing is
// left unverified.
func TestOverwrittenAmbiguous(t *testing.T) {
	const doubt = `{"txn":"a","status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"b","status":"unknown","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"c","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}
`
	const resolved = `{"txn":"b","status":"aborted","ops":[{"op":"w","key":"x","value":1}]}
`
	for _, x := range []struct {
		name, records string
		want          string
	}{
		{"one", doubt + resolved, window.OK},
		{"beside a blind write", doubt + `{"txn":"d","status":"committed","ops":[{"op":"w","key":"x","value":3}]}
` + resolved, window.OK},
		{"two", doubt + `{"txn":"d","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":3}]}
` + resolved, window.Violated},
		{"in between", doubt + resolved + `{"txn":"d","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":3}]}
`, window.Violated},
	} {
		b := &event.Batch{Partitions: []string{"sim"}}
		var d event.Decoder
		for i, line := range strings.Split(strings.TrimSpace(x.records), "\n") {
			d.Decode(b, event.Position{Offset: int64(i)}, []byte(line))
		}
		m, _, err := run(exact(), b, true)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		for _, name := range []string{"snapshot-isolation", "serializable"} {
			if got, why := m.Verdict(must(isolation.ParseLevel(name))); got != x.want {
				t.Errorf("%s: %s is %s (%s), want %s", x.name, name, got, why, x.want)
			}
		}
	}
}

// TestSeveralBlind: violations by blind writes that share no transaction are each
// found, in a whole history and in a stream, at the level that they refute.
func TestSeveralBlind(t *testing.T) {
	const groups = 6
	var h oracle.History
	for j := range groups {
		x, y := fmt.Sprintf("x%d", j), fmt.Sprintf("y%d", j)
		at := int64(j) * 20_000_000
		for i, ops := range [][]workload.Op{
			{workload.Write(x, 1), workload.Write(y, 1)},
			{workload.Write(x, 2), workload.Write(y, 2)},
			{workload.Read(x, 2), workload.Read(y, 1)},
		} {
			h = append(h, workload.Txn{
				ID: fmt.Sprintf("g%dt%d", j, i), Status: event.Committed, Start: at + int64(i), End: at + 1_000_000 + int64(i), Ops: ops,
			})
		}
	}
	for _, windowed := range []bool{false, true} {
		cfg := exact()
		cfg.Levels = []isolation.Level{{Base: isolation.SnapshotIsolation}, {Base: isolation.Serializable}}
		if windowed {
			cfg.Unbounded, cfg.Window, cfg.Lateness = false, window.For(10*time.Millisecond), window.For(5*time.Millisecond)
		}
		_, found, err := run(cfg, batchOf(t, h, identity(len(h))), true)
		if err != nil {
			t.Fatal(err)
		}
		by := map[int]bool{}
		for _, f := range found {
			if f.Kind != finding.KindViolation {
				t.Errorf("windowed %v: %s %s", windowed, f.Kind, f.Explanation)
			}
			for j := range groups {
				if strings.Contains(f.Explanation, fmt.Sprintf("g%dt2 = ", j)) {
					by[j] = true
				}
			}
		}
		if len(by) != groups {
			t.Errorf("windowed %v: violations of %d groups, want %d", windowed, len(by), groups)
		}
	}
}

// TestBlindStream: on a valid stream of blind writes the level holds all the time, with
// a cap over keys as well, and nothing is found.
func TestBlindStream(t *testing.T) {
	t.Parallel()
	for i, level := range []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}} {
		for j, keyCap := range []int{0, 100} {
			if testrun.LeavesOut(i+j, 2) {
				continue
			}
			isolated := workload.Serializable
			if level.Base == isolation.SnapshotIsolation {
				isolated = workload.SnapshotIsolation
			}
			gen, err := workload.NewGenerator(workload.Config{
				Kind: workload.Registers, Isolation: isolated, Count: testrun.Size(10_000, 20_000), Keys: 1000, Blind: 1, WriteRatio: 0.5, Interval: 50 * time.Microsecond,
			}, rand.New(rand.NewPCG(5, 5)))
			if err != nil {
				t.Fatal(err)
			}
			var h oracle.History
			for x, ok := gen.Next(); ok; x, ok = gen.Next() {
				h = append(h, x)
			}
			b := batchOf(t, h, identity(len(h)))
			run := newSpilling(window.Config{
				Levels: []isolation.Level{level}, Expect: level, Named: true, Contract: window.Contract{Complete: true}, KeyCap: keyCap,
				Window: window.For(200 * time.Millisecond), Lateness: window.For(20 * time.Millisecond),
			}, b)
			m := run.m
			var eff window.Effects
			holds := func(when int) {
				t.Helper()
				if got, why := m.Verdict(level); got != window.OK {
					t.Fatalf("%s, key cap %d, at %d: %s: %s", level, keyCap, when, got, why)
				}
			}
			for i := 0; i < len(h); i += 500 {
				var txns []int32
				for k := i; k < min(i+500, len(h)); k++ {
					txns = append(txns, int32(k))
				}
				puts, err := run.stepUnchecked(&eff, nil, txns...)
				if err != nil {
					t.Fatal(err)
				}
				run.write(puts)
				run.log = run.log[:0]
				holds(i)
			}
			m.Close(&eff)
			holds(len(h))
			if m.Totals().Unordered < 900 || len(eff.Findings) > 0 {
				t.Errorf("%s: %d unordered keys, findings %v", level, m.Totals().Unordered, eff.Findings)
			}
		}
	}
}
