package simtest

import (
	"cmp"
	"fmt"
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

// again is a stream of a store that is strictly serializable: rows that are deleted and inserted
// again, values that were there before, and jobs without a record.
type again struct {
	skew time.Duration // the clocks of sessions differ by up to this
	jobs float64       // share of the transactions that have no record
	same float64       // share of the writes of a value that was in the key before
	// blind lets transactions write a key that they have not read. Then only such writes bring back
	// what was there before, and clocks agree: docs/proofs.md, section 2, has what looks like an
	// anomaly there.
	blind bool
}

// againDrift is the clock drift of the contract, and againLate the lateness.
const againDrift, againLate = 100 * time.Millisecond, 300 * time.Millisecond

// draw returns the recorded transactions in the order in which they arrive. Each reads and writes at
// one instant between its begin and its end. A job deletes, or writes a value that no recorded
// transaction writes (contract, unmonitored-writers).
func (x again) draw(rng *rand.Rand) oracle.History {
	const sessions = 5
	var all []*doing
	var free, skew, seq [sessions]int64
	for i := range skew {
		if x.skew > 0 {
			skew[i] = rng.Int64N(int64(x.skew))
		}
	}
	pace := []int64{1, 4, 20, 60}[rng.IntN(4)]
	seqs := rng.IntN(3)
	for i := range 4 + rng.IntN(16) {
		s := rng.IntN(sessions)
		start := max(free[s], int64(epoch)+int64(i)*pace*ms+rng.Int64N(3*ms))
		end := start + (1+rng.Int64N(30))*ms
		free[s] = end + rng.Int64N(ms)
		d := &doing{reads: start + rng.Int64N(end-start)}
		d.Txn = workload.Txn{ID: fmt.Sprintf("T%d", i), Status: event.Committed, Start: start + skew[s], End: end + skew[s]}
		if rng.Float64() < x.jobs {
			d.Status = event.Unknown // has no record
		} else if seqs > 0 {
			seq[s]++
			if d.Session = fmt.Sprintf("s%d", s); seqs > 1 {
				d.Seq = seq[s]
			}
		}
		d.arrives = end + rng.Int64N(int64(againLate-againDrift))
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *doing) int { return cmp.Compare(a.reads, b.reads) })
	keys := 1 + rng.IntN(3)
	now, was := make([]int64, keys), make([][]int64, keys)
	for k := range now {
		now[k] = int64(rng.IntN(4)) // 0: nothing is there
		was[k] = []int64{1, 2, 3}
	}
	next := int64(100)
	for _, d := range all {
		for _, k := range rng.Perm(keys)[:1+rng.IntN(keys)] {
			x.touch(rng, d, k, &now[k], &was[k], &next)
		}
	}
	slices.SortFunc(all, func(a, b *doing) int { return cmp.Compare(a.arrives, b.arrives) })
	var h oracle.History
	for _, d := range all {
		if d.Status == event.Committed {
			h = append(h, d.Txn)
		}
	}
	return h
}

// touch lets d read and change the key k, which holds now.
func (x again) touch(rng *rand.Rand, d *doing, k int, now *int64, was *[]int64, next *int64) {
	key := fmt.Sprintf("row/%d", k)
	do := func(kind event.OpKind, v int64) {
		d.Ops = append(d.Ops, workload.Op{Kind: kind, Key: key, Value: v, Absent: kind == event.Read && v == 0})
		if kind != event.Read {
			*now = v
		}
	}
	if d.Status != event.Committed { // a job
		if *now = 0; rng.IntN(2) == 0 {
			*now = int64(50 + rng.IntN(3))
		}
		return
	}
	*next++
	v := *next
	same, read := rng.Float64() < x.same, !x.blind || rng.IntN(4) > 0
	if read {
		do(event.Read, *now)
	}
	if same && (!x.blind || !read) {
		v = (*was)[rng.IntN(len(*was))]
	}
	switch what := rng.IntN(8); {
	case what < 2: // only reads
	case what < 4:
		do(event.Delete, 0)
		if rng.IntN(4) > 0 {
			return
		}
		do(event.Insert, v)
	case *now == 0 && what < 7:
		do(event.Insert, v)
	default:
		do(event.Write, v)
	}
	if *now != 0 {
		*was = append(*was, *now)
	}
}

// TestRowsAgain: a store that keeps its promise gives no finding that is sent, with the contract of
// `run`, in any order of arrival within the lateness.
func TestRowsAgain(t *testing.T) {
	t.Parallel()
	waited, repeating := 0, 0
	for i := range seeds(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(i), 137))
		x := again{same: []float64{0.1, 0.3}[i%2], jobs: []float64{0, 0.2}[i/2%2]}
		if i/4%2 == 1 {
			x.skew, x.jobs = againDrift, 0 // a job that writes while clocks differ looks like an anomaly
		} else {
			x.blind = i/8%2 == 1
		}
		h := x.draw(rng)
		cfg := window.Config{Named: true, Levels: isolation.Watched(), Contract: defaults(), Window: window.For(10 * time.Second), Lateness: window.For(againLate), MaxTxn: 100 * time.Millisecond}
		cfg.Contract.ClockDrift = againDrift
		fails := func(h oracle.History, perm []int) string {
			m, found, err := run(cfg, batchOf(t, h, perm), false)
			if err != nil {
				return err.Error()
			}
			repeating += len(m.Repeating())
			for _, f := range found {
				switch {
				case !f.Certain: // is stored, and not sent
				case f.State == finding.Waiting:
					waited++
				case f.State == finding.Provisional || f.State == finding.Final:
					return "told: " + lines([]finding.Finding{f})
				}
			}
			return ""
		}
		if why := fails(h, identity(len(h))); why != "" {
			small := slices.Clone(h)
			for j := len(small) - 1; j >= 0; j-- {
				if less := slices.Delete(slices.Clone(small), j, j+1); fails(less, identity(len(less))) != "" {
					small = less
				}
			}
			t.Errorf("history %d, %+v: %s\n%s\nless of it, from %d:\n%s%s", i, x, why, h.Text(), epoch, small.Text(), fails(small, identity(len(small))))
			return
		}
	}
	t.Logf("%d patterns repeat; %d findings waited and fell", repeating, waited)
	if enough(t, 3000) && (repeating == 0 || waited == 0) {
		t.Error("not all of it was seen")
	}
}
