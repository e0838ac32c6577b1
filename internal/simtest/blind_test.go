package simtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// blind are options for histories most of whose writes are blind.
func blind() oracle.Options {
	o := oracle.Small()
	o.Lists, o.Blind, o.Keys, o.Max = false, 0.8, 3, 7
	return o
}

// TestBlindWrites: whole histories with blind writes have the verdicts of trying
// all orders of commits, in any order of arrival.
func TestBlindWrites(t *testing.T) {
	counts := map[string]int{}
	for i := range histories(t, 5000) {
		rng := rand.New(rand.NewPCG(uint64(i), 21))
		opt := blind()
		opt.Lists = i%4 == 3
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(exactAt(i/4), batchOf(t, h, perm), i%16 == 0)
			if err != nil {
				return err.Error()
			}
			flagged := m.Totals().Gaps+m.Totals().Ambiguous+m.Totals().Undecided > 0
			unordered := m.Totals().Unordered > 0
			for l, got := range verdicts(m) {
				if must(isolation.ParseLevel(string(l))).Underlying() < isolation.Prefix {
					continue // trial is about snapshots
				}
				possible, err := oracle.Possible(h, l)
				if err != nil {
					return err.Error()
				}
				switch {
				case got == window.Violated && possible:
					return fmt.Sprintf("%s: reported violated, and is possible", l)
				case got == window.OK && !possible:
					return fmt.Sprintf("%s: said ok, and is not possible", l)
				case got == window.Unknown && !flagged:
					_, why := m.Verdict(must(isolation.ParseLevel(string(l))))
					return fmt.Sprintf("%s: not decided: %s", l, why)
				}
				if unordered {
					counts[string(l)+" "+got]++
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	for _, l := range oracle.AllLevels() {
		if must(isolation.ParseLevel(string(l))).Underlying() < isolation.Prefix {
			continue
		}
		for _, verdict := range []string{window.OK, window.Violated} {
			if n := counts[string(l)+" "+verdict]; n < 100 {
				t.Errorf("only %d histories with unordered keys at %s are %s", n, l, verdict)
			}
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestBlindWindowed: with windows of 0 to 3 transactions nothing is reported that is
// possible, and what is said to hold is possible. Most valid histories are decided.
func TestBlindWindowed(t *testing.T) {
	counts := map[string]int{}
	for i := range histories(t, 5000) {
		rng := rand.New(rand.NewPCG(uint64(i), 22))
		opt := blind()
		opt.Min, opt.Max = 5, 8
		h := oracle.Random(rng, opt)
		perm := rng.Perm(len(h))
		if i%2 == 0 {
			perm = identity(len(h))
		}
		cfg := exactAt(i / 2)
		cfg.Unbounded = false
		cfg.Window = window.For(time.Duration(rng.IntN(4)*10) * time.Millisecond)
		cfg.Lateness = window.For(time.Duration(rng.IntN(3)*5) * time.Millisecond)
		cfg.MaxTxn = time.Duration(1+rng.IntN(100)) * time.Millisecond
		fails := func(h oracle.History, perm []int) string {
			m, _, err := run(cfg, batchOf(t, h, perm), true)
			if err != nil {
				return err.Error()
			}
			for l, got := range verdicts(m) {
				if must(isolation.ParseLevel(string(l))).Underlying() < isolation.Prefix {
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
				}
				if m.Totals().Unordered > 0 {
					counts[fmt.Sprintf("%s %s, possible %v", l, got, possible)]++
				}
			}
			return ""
		}
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
	t.Log(counts)
}

// TestOverwrittenInDoubt: who read a value that two may have written, and replaced
// it, replaced it all the same once one of the two turns out to have aborted. That
// it was in doubt leaves the levels unknown, with nothing unverified.
func TestOverwrittenInDoubt(t *testing.T) {
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
		{"one", doubt + resolved, window.Unknown},
		{"beside a blind write", doubt + `{"txn":"d","status":"committed","ops":[{"op":"w","key":"x","value":3}]}
` + resolved, window.Unknown},
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
			if f.Kind != isolation.KindViolation {
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
	for _, level := range []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}} {
		for _, keyCap := range []int{0, 100} {
			isolated := workload.Serializable
			if level.Base == isolation.SnapshotIsolation {
				isolated = workload.SnapshotIsolation
			}
			gen, err := workload.NewGenerator(workload.Config{
				Kind: workload.Registers, Isolation: isolated, Count: 20_000, Keys: 1000, Blind: 1, WriteRatio: 0.5, Interval: 50 * time.Microsecond,
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
				puts, err := run.stepUnchecked(&eff, txns...)
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
