package simtest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// deleting are kinds of histories in which keys are deleted, by i.
func deleting(i int) oracle.Kinds {
	k := oracle.Kinds{Deletes: true, Corrupt: []float64{0, 0.2, 0.5}[i%3], Blind: []float64{0, 0.2, 0.5}[i/3%3]}
	k.CAS, k.Ranges = i%4 == 1, i%5 == 1
	k.Sets, k.Removes = i%5 > 2, i%5 > 2
	if i%2 == 0 {
		k.Aborted, k.Unknown = 0.1, 0.1
	}
	return k
}

// blindly takes some of the reads out that come before a write or delete of their key.
func blindly(rng *rand.Rand, h oracle.History) {
	for i := range h {
		ops := h[i].Ops
		for j := len(ops) - 2; j >= 0; j-- {
			if ops[j].Kind == event.Read && ops[j+1].Kind != event.Read && ops[j].Key == ops[j+1].Key && rng.IntN(4) == 0 {
				ops = slices.Delete(ops, j, j+1)
			}
		}
		h[i].Ops = ops
	}
}

// TestDeletesInWindows: in streams with windows of 0 to 3 transactions, or of all, whose keys are deleted
// and inserted again, in any order of arrival, with restarts, records that come twice and
// outcomes that come later: what is reported is impossible by trial of all orders, and what
// is said to hold is possible. It counts how many streams that keep serializability are said to.
func TestDeletesInWindows(t *testing.T) {
	t.Parallel()
	deletesInWindows(t, 113, false, false)
}

// TestObservedDeletesInWindows is TestDeletesInWindows where values name their writers as observed, and some are
// written again.
func TestObservedDeletesInWindows(t *testing.T) {
	t.Parallel()
	deletesInWindows(t, 152, false, true)
}

// TestToldDeletesInWindows is TestDeletesInWindows where most operations tell their versions, and some
// deletes what they deleted.
func TestToldDeletesInWindows(t *testing.T) {
	t.Parallel()
	deletesInWindows(t, 114, true, false)
}

// tellSome takes the versions of some reads away, and lets some deletes and writes tell what they replaced. Few deletes
// have a version.
func tellSome(rng *rand.Rand, h oracle.History) {
	for i := range h {
		seen := map[string]int64{}
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			if o.Kind == event.Read {
				seen[o.Key] = o.Version
			} else if o.PrevVersion == 0 && rng.IntN(2) == 0 && (o.Kind == event.Delete || o.Kind == event.Write) {
				o.PrevVersion = seen[o.Key]
			}
			switch {
			case o.Kind == event.Delete && rng.IntN(16) == 0:
				o.Version = int64(1_000_000 + 100*i + j)
			case o.Kind == event.Read && rng.IntN(8) == 0:
				o.Version = 0
			}
			if o.Kind != event.Read {
				seen[o.Key] = o.Version
			}
		}
	}
}

func deletesInWindows(t *testing.T, stream uint64, told, observed bool) {
	said := map[string]int{}
	valid, decided := 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), stream))
		k := deleting(i)
		if k.Versions = told; told {
			k.CAS = false
		}
		if observed && i%4 < 2 {
			k.Unknown, k.Retried = 0.15, 0.8
		}
		later := i%7 == 0
		if later {
			k.Unknown = 0
		}
		h := oracle.RandomKinds(rng, k)
		blindly(rng, h)
		if told {
			tellSome(rng, h)
		}
		cfg := exactAt(i / 4)
		if i%3 > 0 {
			cfg.Levels = proven()
		}
		smallWindow(&cfg, rng)
		cfg.Contract.Observed = observed
		if i%5 == 1 {
			cfg.Window = window.For(time.Second)
		}
		if i%6 == 0 {
			cfg.LiveCap = 2 + rng.IntN(3)
		}
		perm, restarts := arrival(rng, len(h)), rng.IntN(3) == 0
		if i%8 < 3 {
			perm = identity(len(h))
		}
		if later {
			arrived, _ := outcomesLater(rng, h)
			m, why := kindsRun(t, cfg, arrived, identity(len(arrived)), restarts)
			if why == "" {
				why = impossible(m, unversioned(h), i, said, oracle.Possible, byCause(&cfg))
			}
			if why != "" {
				t.Fatalf("history %d: %s\narrived\n%s", i, why, arrived.Text())
			}
			continue
		}
		fails := func(h oracle.History, perm []int) string {
			m, why := kindsRun(t, cfg, h, perm, restarts)
			if why != "" {
				return why
			}
			h = unversioned(h)
			if ok, err := oracle.Possible(h, "serializable"); err == nil && ok && i%8 < 3 && m.Totals().Repeated > 0 {
				valid++
				if verdicts(m)["serializable"] == window.OK {
					decided++
				}
			}
			return impossible(m, h, i, said, oracle.Possible, byCause(&cfg))
		}
		if why := fails(h, perm); why != "" {
			reportKinds(t, i, h, perm, why, fails)
		}
	}
	t.Logf("verdicts: %v; %d of %d valid streams in order with deletes are ok", said, decided, valid)
	if enough(t, 3000) && (said[window.OK] == 0 || said[window.Violated] == 0 || decided < valid/2) {
		t.Errorf("too few are decided")
	}
}

// withDeletes makes a delete of every write of a value that n divides, and nothing of what
// read one: a valid history stays valid.
func withDeletes(h oracle.History, n int64) {
	for i := range h {
		for j := range h[i].Ops {
			o := &h[i].Ops[j]
			switch {
			case o.Absent || o.IsList || o.Value%n != 0:
			case o.Kind == event.Write:
				*o = workload.Op{Kind: event.Delete, Key: o.Key}
			case o.Kind == event.Read:
				*o = workload.ReadAbsent(o.Key)
			}
		}
	}
}

// TestDeletesStream: a valid stream in which a third of the writes are deletes keeps its
// verdict over many windows, blind writes and deletes or not, and all reads are decided: with
// blind writes, of snapshot isolation and in real time, all but one in a thousand.
// What is in memory does not grow with what was ever deleted.
func TestDeletesStream(t *testing.T) {
	t.Parallel()
	for i, x := range []struct {
		blind float64
		keys  int
	}{{0, 1000}, {0, 20}, {0.3, 1000}, {1, 1000}} {
		for j, level := range []isolation.Level{{Base: isolation.Serializable}, {Base: isolation.SnapshotIsolation}, {Base: isolation.Serializable, Family: isolation.Strong}} {
			if testrun.LeavesOut(3*i+j, 5) {
				continue
			}
			isolated := workload.Serializable
			if level.Base == isolation.SnapshotIsolation {
				isolated = workload.SnapshotIsolation
			}
			gen, err := workload.NewGenerator(workload.Config{
				Kind: workload.Registers, Isolation: isolated, Count: testrun.Size(4_000, 8_000), Keys: x.keys, Blind: x.blind, WriteRatio: 0.5, Interval: 50 * time.Microsecond,
			}, rand.New(rand.NewPCG(6, 6)))
			if err != nil {
				t.Fatal(err)
			}
			var h oracle.History
			for txn, ok := gen.Next(); ok; txn, ok = gen.Next() {
				h = append(h, txn)
			}
			withDeletes(h, 3)
			m := window.New(window.Config{
				Levels: []isolation.Level{level}, Expect: level, Named: true, Contract: window.Contract{Complete: true},
				Window: window.For(80 * time.Millisecond), Lateness: window.For(20 * time.Millisecond), MaxTxn: 20 * time.Millisecond,
			})
			var eff window.Effects
			b, half := batchOf(t, h, identity(len(h))), 0
			for i := 0; i < len(b.Txns); i += 500 {
				var txns []int32
				for k := i; k < min(i+500, len(b.Txns)); k++ {
					txns = append(txns, int32(k))
				}
				if m.Step(b, txns, 0, &eff); i <= len(b.Txns)/2 {
					half = m.Sizes().Versions
				}
			}
			versions := m.Sizes().Versions
			m.Close(&eff)
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			verdict, why := m.Verdict(level)
			d := m.Decided(level)
			t.Logf("%s, %.0f%% blind, %d keys: %s of %d reads, %s %s; %d slots of versions, %d in the first half",
				level, 100*x.blind, x.keys, d.Percent(), d.Reads, verdict, why, versions, half)
			// Two blind writes that overlap freeze in an order that a read contradicts a window later.
			blind := x.blind > 0 && (level.Base == isolation.SnapshotIsolation || level.RealTime())
			if !blind && (verdict != window.OK || d.Share < 1 || len(eff.Findings) > 0) || verdict == window.Violated || d.Share < 0.999 || m.Totals().Repeated < 1000 {
				t.Errorf("%s, %.0f%% blind, %d keys: %s %s, %d findings, %d reads of nothing", level, 100*x.blind, x.keys, verdict, why, len(eff.Findings), m.Totals().Repeated)
			}
			if versions > half*6/5+1000 {
				t.Errorf("%s, %.0f%% blind, %d keys: %d slots of versions after %d", level, 100*x.blind, x.keys, versions, half)
			}
		}
	}
}

// tellValues gives each value a version.
func tellValues(h oracle.History) {
	for i := range h {
		for j := range h[i].Ops {
			if o := &h[i].Ops[j]; !o.Absent && o.Kind != event.Delete {
				o.Version = o.Value + 1
			}
		}
	}
}

// TestSpillDeletes is TestSpillBlind over keys that are deleted.
func TestSpillDeletes(t *testing.T) {
	t.Parallel()
	var most infer.SpillSizes
	nothing := 0
	for i := range twinSeeds(t, 200) {
		rng := rand.New(rand.NewPCG(uint64(i), 117))
		opt := blind()
		opt.Min, opt.Max, opt.Keys, opt.Sessions, opt.Lists = 20, 60, 5, 5, false
		opt.Blind, opt.Corrupt, opt.Unknown = []float64{0, 0.3, 0.8}[i%3], 0.2, []float64{0, 0.2}[i%2]
		h := oracle.Random(rng, opt)
		withDeletes(h, 3)
		if i%4 == 1 {
			tellValues(h)
		}
		if i%5 == 0 {
			h, _ = outcomesLater(rng, h)
		}
		cfg := windowed(rng)
		cfg.Levels = proven()
		cfg.Expect = cfg.Levels[rng.IntN(len(cfg.Levels))]
		perm := arrival(rng, len(h))
		wantSpilledAlike(t, i, cfg, h, perm, [2]uint64{rng.Uint64(), 34}, &most)
		m, _, err := run(cfg, batchOf(t, h, perm), false)
		if err != nil {
			t.Fatal(err)
		}
		if m.Totals().Repeated > 0 {
			nothing++
		}
	}
	t.Logf("%+v, %d histories with reads of nothing that was deleted", most, nothing)
	if enough(t, 200) && (most.Keys == 0 || most.Returned == 0 || nothing < histories(t, 200)/2) {
		t.Errorf("%+v out, %d histories: too few to tell", most, nothing)
	}
}
