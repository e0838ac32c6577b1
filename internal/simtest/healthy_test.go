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
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// healthy is a stream of a store that keeps to its level: eight sessions, a transaction every 0.2 ms
// in all that runs for 0.4 to 1.2 ms, and records that come up to 20 ms late.
type healthy struct {
	snapshots bool    // snapshot isolation; else serializable
	keys      int     // registers
	blind     float64 // share of the writes without a read before
	unknown   float64 // share of transactions of unknown outcome, half of which took effect, and of aborted ones
	versions  bool    // reads and writes tell versions, and what they replaced
	whole     bool    // the window holds all of the stream; else some 300 transactions
}

const (
	healthyTxns   = 1500
	healthyWindow = 60 * time.Millisecond
	healthyLate   = 20 * time.Millisecond
)

// doing is a transaction and when it reads and writes.
type doing struct {
	workload.Txn
	reads, writes int64 // instants
	arrives       int64
}

// draw returns the transactions in the order in which they arrive. The order of commits is
// that of their Seq in the one session of the store, which is given as commit timestamps.
func (x healthy) draw(rng *rand.Rand) (h oracle.History, commits map[string]int64) {
	var all []*doing
	free := make([]int64, 8)
	for i := range healthyTxns {
		s := rng.IntN(len(free))
		start := max(free[s], int64(i)*200_000) + rng.Int64N(100_000)
		d := &doing{reads: start + rng.Int64N(200_000) + 1}
		if d.writes = d.reads; x.snapshots {
			d.writes += rng.Int64N(400_000)
		}
		d.Txn = workload.Txn{ID: fmt.Sprintf("t%d", i), Session: fmt.Sprintf("s%d", s), Status: event.Committed, Start: start, End: d.writes + 1 + rng.Int64N(600_000)}
		free[s] = d.End + 1
		d.arrives = d.End + rng.Int64N(int64(healthyLate))
		all = append(all, d)
	}
	x.execute(rng, all)
	slices.SortFunc(all, func(a, b *doing) int { return cmp.Compare(a.arrives, b.arrives) })
	commits = map[string]int64{}
	for _, d := range all {
		h = append(h, d.Txn)
		commits[d.ID] = d.writes
	}
	return h, commits
}

// execute lets the store run the transactions: reads at one instant, writes at another.
func (x healthy) execute(rng *rand.Rand, all []*doing) {
	type step struct {
		at     int64
		writes bool
		d      *doing
	}
	var steps []step
	for _, d := range all {
		steps = append(steps, step{d.reads, false, d}, step{d.writes, true, d})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	values, changed, next := make([]int64, x.keys), make([]int64, x.keys), int64(1)
	for _, s := range steps {
		d := s.d
		if !s.writes {
			x.plan(rng, d, values, &next)
			continue
		}
		written := map[string]bool{}
		for _, o := range d.Ops {
			written[o.Key] = written[o.Key] || o.Kind == event.Write
		}
		conflict := slices.ContainsFunc(d.Ops, func(o workload.Op) bool { return written[o.Key] && changed[x.number(o.Key)] > d.reads })
		switch effect := rng.Float64() >= x.unknown; {
		case conflict || !effect && rng.IntN(2) == 0:
			d.Status = event.Aborted
			continue
		case !effect:
			d.Status = event.Unknown
			if rng.IntN(2) == 0 {
				continue
			}
		}
		for i := range d.Ops {
			o := &d.Ops[i]
			if k := x.number(o.Key); o.Kind == event.Write {
				if x.versions {
					o.PrevVersion = values[k]
				}
				values[k], changed[k] = o.Value, s.at
			}
		}
	}
}

// plan draws what the transaction does: one or two keys that it reads, and as many that it writes.
func (x healthy) plan(rng *rand.Rand, d *doing, values []int64, next *int64) {
	for _, k := range rng.Perm(x.keys)[:2+rng.IntN(3)] {
		key, write := fmt.Sprintf("k%d", k), rng.IntN(2) == 0
		if !write || rng.Float64() >= x.blind {
			o := workload.Op{Kind: event.Read, Key: key, Value: values[k], Absent: values[k] == 0}
			if x.versions {
				o.Version = values[k]
			}
			d.Ops = append(d.Ops, o)
		}
		if write {
			o := workload.Op{Kind: event.Write, Key: key, Value: *next}
			if *next++; x.versions {
				o.Version = o.Value
			}
			d.Ops = append(d.Ops, o)
		}
	}
}

func (x healthy) number(key string) (k int) {
	fmt.Sscanf(key, "k%d", &k)
	return k
}

// TestHealthyBlindWrites: of a store that keeps to its level, a stream of blind writes whose order
// reads within the window show, each record late by itself, is ok at that level at every moment,
// also where a stronger level is watched that it violates. Where the order of commits is
// told, or versions are, no key is without an order.
func TestHealthyBlindWrites(t *testing.T) {
	t.Parallel()
	for _, x := range []healthy{
		{keys: 20, blind: 1}, {keys: 100, blind: 1, unknown: 0.02}, {keys: 20, blind: 0.3, unknown: 0.02}, {keys: 100, blind: 0.3},
		{snapshots: true, keys: 20, blind: 1}, {snapshots: true, keys: 100, blind: 0.3, unknown: 0.02},
		{keys: 20, blind: 1, versions: true}, {keys: 20, blind: 1, whole: true}, {snapshots: true, keys: 20, blind: 1, whole: true},
		{snapshots: true, keys: 100, blind: 1, whole: true}, {snapshots: true, keys: 20, blind: 0.3, whole: true},
	} {
		t.Run(fmt.Sprintf("%+v", x), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds(t, 8) {
				for i, stamps := range []bool{false, true} {
					if testrun.LeavesOut(2*seed+i, 6) {
						continue
					}
					if why := x.look(t, uint64(seed), stamps); why != "" {
						t.Errorf("seed %d, commit timestamps %v: %s", seed, stamps, why)
					}
				}
			}
		})
	}
}

// TestBegunBlindWriters: streams in which a begin froze before the commit of another blind writer of
// the key (524, 1019), or before somebody read what had left the window there (1109, 1712).
func TestBegunBlindWriters(t *testing.T) {
	t.Parallel()
	x := healthy{snapshots: true, keys: 100, blind: 0.3, unknown: 0.02}
	for _, seed := range []uint64{524, 1019, 1109, 1712} {
		if why := x.look(t, seed, false); why != "" {
			t.Errorf("seed %d: %s", seed, why)
		}
	}
}

// look says what is wrong with the verdicts on a stream.
func (x healthy) look(t *testing.T, seed uint64, stamps bool) string {
	h, commits := x.draw(rand.New(rand.NewPCG(seed, 91)))
	level := isolation.Level{Base: isolation.Serializable}
	if x.snapshots {
		level.Base = isolation.SnapshotIsolation
	}
	span := healthyWindow
	if x.whole {
		span = time.Minute
	}
	m := window.New(window.Config{
		Levels: proven(), Expect: level, Named: true, Contract: window.Contract{Complete: true, ByVersion: x.versions, TrustCommitTS: stamps},
		Window: window.For(span), Lateness: window.For(healthyLate), MaxTxn: 5 * time.Millisecond,
	})
	b := &event.Batch{Partitions: []string{"sim"}}
	var d event.Decoder
	var eff window.Effects
	var txns []int32
	for i := range h {
		record := workload.AppendJSON(nil, &h[i])
		if stamps {
			record = fmt.Appendf(nil, `{"commit_ts":%d,%s`, commits[h[i].ID], record[1:])
		}
		d.Decode(b, event.Position{Offset: int64(i)}, record)
		if txns = append(txns, int32(i)); len(txns) == 50 || i == len(h)-1 {
			m.Step(b, txns, 0, &eff)
			txns = txns[:0]
			if got, why := m.Verdict(level); got != window.OK {
				return fmt.Sprintf("after %d records: %s: %s", i, got, why)
			}
		}
	}
	if len(b.Bad) > 0 {
		return "bad record: " + b.Bad[0].Reason
	}
	m.Close(&eff)
	if got, why := m.Verdict(level); got != window.OK {
		return fmt.Sprintf("at the end: %s: %s", got, why)
	}
	if n := m.Totals().Unordered; (n == 0) != (stamps || x.versions) {
		return fmt.Sprintf("%d keys without an order", n)
	}
	return ""
}
