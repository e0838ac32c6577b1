package simtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// attempts is a stream of a store that is strictly serializable. Its clients try again what was
// refused or got no answer. There were data before the first record, also from first attempts.
type attempts struct {
	skew time.Duration // the clocks of sessions differ by up to this
	lost float64       // share of the failed attempts that have no record, beside those before the first one
}

// try is one attempt of a transaction.
type try struct {
	workload.Txn
	at       int64 // its one instant
	arrives  int64
	effect   bool
	recorded bool
}

// draw returns the records in the order in which they arrive.
func (x attempts) draw(rng *rand.Rand) oracle.History {
	const sessions = 5
	var all []*try
	var free, skew, seq [sessions]int64
	for i := range skew {
		if x.skew > 0 {
			skew[i] = rng.Int64N(int64(x.skew))
		}
	}
	pace, seqs := []int64{1, 4, 20, 60}[rng.IntN(4)], rng.IntN(3)
	watch := int64(epoch) + rng.Int64N(60)*ms
	keys := []string{"list/0", "list/1", "list/2"}[rng.IntN(3):]
	for i := range 3 + rng.IntN(8) {
		s := rng.IntN(sessions)
		start := max(free[s], int64(epoch)+int64(i)*pace*ms+rng.Int64N(3*ms))
		var ops []workload.Op
		for _, k := range rng.Perm(len(keys))[:1+rng.IntN(len(keys))] {
			ops = append(ops, change(rng, keys[k], int64(100+10*i+k))...)
		}
		for n := 0; n < 3; n++ {
			end := start + (1+rng.Int64N(30))*ms
			t := &try{at: start + rng.Int64N(end-start), effect: rng.IntN(3) > 0}
			t.Txn = workload.Txn{ID: fmt.Sprintf("T%d.%d", i, n), Status: event.Committed, Start: start + skew[s], End: end + skew[s], Ops: slices.Clone(ops)}
			again := n < 2 && rng.IntN(3) == 0
			switch {
			case again && t.effect, again && rng.IntN(2) == 0:
				t.Status = event.Unknown
			case again:
				t.Status = event.Aborted
			default:
				t.effect = true
			}
			t.recorded = start >= watch && !(again && rng.Float64() < x.lost)
			if seqs > 0 {
				t.Session = fmt.Sprintf("s%d", s)
				if seqs > 1 && t.recorded {
					seq[s]++
					t.Seq = seq[s]
				}
			}
			t.arrives = end + rng.Int64N(int64(againLate-againDrift))
			all = append(all, t)
			start = end + rng.Int64N(ms) + int64(rng.IntN(2))*rng.Int64N(20*ms)
			if free[s] = start; !again || rng.IntN(4) == 0 { // done, or given up
				break
			}
			if rng.IntN(4) == 0 {
				ops = append(change(rng, keys[rng.IntN(len(keys))], int64(1000+10*i+n)), ops...)
			}
		}
	}
	// One reads all in the end: until then nothing shows that an element was appended twice.
	last := &try{at: slices.Max(free[:]) + int64(time.Second), recorded: true, effect: true}
	last.Txn = workload.Txn{ID: "last", Status: event.Committed, Start: last.at - ms, End: last.at + ms}
	last.arrives = last.End
	for _, k := range keys {
		last.Ops = append(last.Ops, workload.Op{Kind: event.Read, Key: k, IsList: true})
	}
	return x.play(rng, append(all, last), keys)
}

// change returns what a transaction does with a list: it reads it, appends to it, or both.
func change(rng *rand.Rand, key string, v int64) []workload.Op {
	read, write := workload.Op{Kind: event.Read, Key: key, IsList: true}, workload.Op{Kind: event.Append, Key: key, Value: v}
	return [][]workload.Op{{read}, {write}, {read, write}}[rng.IntN(3)]
}

// play lets the store answer all, and returns what is recorded.
func (x attempts) play(rng *rand.Rand, all []*try, keys []string) oracle.History {
	lists := map[string][]int64{}
	for _, k := range keys {
		lists[k] = []int64{1, 2}[:rng.IntN(3)]
	}
	slices.SortFunc(all, func(a, b *try) int { return cmp.Compare(a.at, b.at) })
	for _, t := range all {
		was := maps.Clone(lists)
		for i := range t.Ops {
			o := &t.Ops[i]
			if o.Kind == event.Read {
				o.List = slices.Clone(lists[o.Key])
			} else {
				lists[o.Key] = append(slices.Clone(lists[o.Key]), o.Value)
			}
		}
		if !t.effect {
			lists = was
		}
	}
	slices.SortFunc(all, func(a, b *try) int { return cmp.Compare(a.arrives, b.arrives) })
	var h oracle.History
	for _, t := range all {
		if t.recorded {
			h = append(h, t.Txn)
		}
	}
	return h
}

// TestAttempts: a store that keeps its promise gives no finding that is sent, whatever is tried
// again, and whichever first attempts have no record as far as the contract leaves that open.
func TestAttempts(t *testing.T) {
	t.Parallel()
	waited, withdrawn, uncertain := 0, 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 139))
		cfg := window.Config{Named: true, Levels: isolation.Watched(), Window: window.For(10 * time.Second), Lateness: window.For(againLate), MaxTxn: 100 * time.Millisecond}
		cfg.Contract = window.Contract{Complete: true, Existing: true, Observed: true, ClockDrift: againDrift}
		x := attempts{}
		if i%2 == 1 {
			cfg.Contract = defaults()
			cfg.Contract.ClockDrift = againDrift
			x.lost = 0.5
		}
		if i/2%2 == 1 {
			x.skew = againDrift
		}
		h := x.draw(rng)
		fails := func(h oracle.History) string {
			_, found, err := run(cfg, batchOf(t, h, identity(len(h))), false)
			if err != nil {
				return err.Error()
			}
			latest := map[string]finding.Finding{}
			for _, f := range found {
				if f.Kind != finding.KindViolation {
					continue
				}
				switch was, told := latest[f.ID]; {
				case f.State == finding.Waiting:
					waited++
				case f.State == finding.Withdrawn && told && was.Certain:
					withdrawn++ // by the first repetition of a pattern
				}
				latest[f.ID] = f
			}
			for _, f := range latest {
				switch {
				case !f.Certain: // is stored, and not sent
					uncertain++
				case f.State == finding.Provisional || f.State == finding.Final:
					return "told: " + lines([]finding.Finding{f})
				}
			}
			return ""
		}
		if why := fails(h); why != "" {
			t.Errorf("history %d, %+v: %s\n%s", i, x, why, h.Text())
			return
		}
	}
	t.Logf("%d findings waited and fell, %d were withdrawn, %d are not certain", waited, withdrawn, uncertain)
	if enough(t, 3000) && (waited == 0 || uncertain == 0) {
		t.Error("not all of it was seen")
	}
}

// TestRolledBack: a store that keeps its promise shows no aborted read, where what was rolled back had
// been there before watching: a flag was set again, or an insert failed on a row.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	aborted, told := 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 149))
		cfg := window.Config{Named: true, Levels: isolation.Watched(), Window: window.For(10 * time.Second), Lateness: window.For(againLate), MaxTxn: 20 * time.Millisecond}
		cfg.Contract = window.Contract{Complete: true, Existing: true, Observed: i%2 == 0, ClockDrift: time.Duration(rng.IntN(2)) * againDrift}
		dirty := i%4 > 1 // some read what was rolled back
		rows := [2]int64{1, 2}
		var h oracle.History
		at, next := int64(epoch), int64(100)
		for j := range 4 + rng.IntN(12) {
			at += rng.Int64N(200 * ms)
			k := rng.IntN(2)
			x := workload.Txn{ID: fmt.Sprintf("T%d", j), Status: event.Committed, Start: at, End: at + 1 + rng.Int64N(20*ms)}
			key := fmt.Sprintf("row/%d", k)
			read := workload.Read(key, rows[k])
			at = x.End + 1 // one after the other
			next++
			switch rng.IntN(6) {
			case 0:
				x.Ops = []workload.Op{read, workload.Write(key, next)}
				rows[k] = next
			case 1, 2:
				was := rows[k]
				if i%2 == 1 && !slices.ContainsFunc(h, func(t workload.Txn) bool {
					return len(t.Ops) == 1 && t.Ops[0].Key == key && t.Ops[0].Kind == event.Read && t.Ops[0].Value == was && x.Start-t.End > int64(cfg.Contract.ClockDrift)
				}) {
					was = next // values are unique, as far as anybody had seen
				}
				x.Status, x.Ops = event.Aborted, []workload.Op{{Kind: []event.OpKind{event.Write, event.Insert}[rng.IntN(2)], Key: key, Value: was}}
				if aborted++; dirty {
					h = append(h, x)
					x = workload.Txn{ID: x.ID + "d", Status: event.Committed, Start: x.Start, End: x.End, Ops: []workload.Op{workload.Read(key, next)}}
					h[len(h)-1].Ops[0].Value = next
				}
			default:
				x.Ops = []workload.Op{read}
			}
			h = append(h, x)
		}
		_, found, err := run(cfg, batchOf(t, h, identity(len(h))), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			switch {
			case !f.Certain || f.Kind != finding.KindViolation:
			case !dirty:
				t.Fatalf("history %d: %s\n%s", i, lines([]finding.Finding{f}), h.Text())
			case f.Anomaly == "G1a":
				told++
			}
		}
	}
	t.Logf("%d were rolled back; %d aborted reads are told", aborted, told)
	if aborted == 0 || told == 0 {
		t.Error("not all of it was seen")
	}
}
