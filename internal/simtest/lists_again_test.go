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

// contents is a stream of a store that is strictly serializable, of lists, or of sets. Lists are
// deleted, and elements of sets are removed and added again.
type contents struct {
	sets    bool
	jobs    float64 // share of the transactions that have no record, and delete and remove
	unknown float64 // share of the unknown outcomes, of which half took effect, and of aborted ones
	tries   bool    // a client tries again what it got no answer to, or what was refused
	stale   float64 // share of the transactions that see what was there up to eight before, and change nothing
	skew    time.Duration
}

// draw returns the recorded transactions in the order in which they arrive. Each takes place at one
// instant between its begin and its end.
func (x contents) draw(rng *rand.Rand) oracle.History {
	const sessions = 5
	var all []*doing
	var free, skew, seq [sessions]int64
	var latest, after int64 // the last end, and the first start
	apart := int64(x.skew+againDrift) + ms
	for i := range skew {
		if x.skew > 0 {
			skew[i] = rng.Int64N(int64(x.skew))
		}
	}
	pace := []int64{1, 4, 20, 60}[rng.IntN(4)]
	seqs := rng.IntN(3)
	for i := range 4 + rng.IntN(20) {
		s := rng.IntN(sessions)
		start := max(free[s], after, int64(epoch)+int64(i)*pace*ms+rng.Int64N(3*ms))
		job := rng.Float64() < x.jobs
		if job { // beside others it cannot be told from a fault
			start = max(start, latest+apart)
		}
		end := start + (1+rng.Int64N(30))*ms
		free[s], latest = end+rng.Int64N(ms), max(latest, end)
		if job {
			after = end + apart
		}
		d := &doing{reads: start + rng.Int64N(end-start)}
		d.Txn = workload.Txn{ID: fmt.Sprintf("T%d", i), Status: event.Committed, Start: start + skew[s], End: end + skew[s]}
		if job {
			d.Session = "job"
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
	w := contentsAt{contents: x, rng: rng, now: make([][]int64, 1+rng.IntN(2)), next: 1}
	for _, d := range all {
		w.execute(d)
	}
	slices.SortFunc(all, func(a, b *doing) int { return cmp.Compare(a.arrives, b.arrives) })
	var h oracle.History
	for _, d := range all {
		if d.Session != "job" {
			h = append(h, d.Txn)
		}
	}
	return h
}

// contentsAt is the store at an instant.
type contentsAt struct {
	contents
	rng   *rand.Rand
	now   [][]int64
	next  int64
	again []refused
	was   [][][]int64
}

// refused are the changes of a transaction that its client may try again.
type refused struct {
	ops []workload.Op
	end int64
}

func (w *contentsAt) execute(d *doing) {
	rng, was := w.rng, make([][]int64, len(w.now))
	for k := range was {
		was[k] = slices.Clone(w.now[k])
	}
	w.was = append(w.was, was)
	if w.stale > 0 && rng.Float64() < w.stale {
		w.now = slices.Clone(w.was[rng.IntN(min(len(w.was), 8))+max(0, len(w.was)-8)])
		for range 1 + rng.IntN(2) {
			d.Ops = append(d.Ops, workload.Op{Kind: event.Read, Key: w.key(rng.IntN(len(was)))})
			w.change(&d.Ops[len(d.Ops)-1])
		}
		w.now = was
		return
	}
	if d.Session == "job" {
		w.change(&workload.Op{Kind: event.Delete, Key: w.key(rng.IntN(len(was)))})
		return
	}
	if i := slices.IndexFunc(w.again, func(r refused) bool { return r.end < d.Start-int64(w.skew) }); i >= 0 && rng.IntN(3) > 0 {
		d.Ops = slices.Clone(w.again[i].ops)
		w.again = slices.Delete(w.again, i, i+1)
	} else {
		for range 1 + rng.IntN(3) {
			d.Ops = append(d.Ops, w.draw(rng.IntN(len(was))))
		}
	}
	for i := range d.Ops {
		w.change(&d.Ops[i])
	}
	took := true
	switch u := rng.Float64(); {
	case u < w.unknown:
		d.Status, took = event.Unknown, rng.IntN(2) == 0
	case u < 2*w.unknown:
		d.Status, took = event.Aborted, false
	}
	if d.Status != event.Committed && w.tries {
		changes := slices.DeleteFunc(slices.Clone(d.Ops), func(o workload.Op) bool { return o.Kind == event.Read })
		w.again = append(w.again, refused{changes, d.End - int64(w.skew)})
	}
	if !took {
		w.now = was
	}
}

func (w *contentsAt) key(k int) string {
	if w.sets {
		return fmt.Sprintf("set/%d", k)
	}
	return fmt.Sprintf("list/%d", k)
}

// draw is an operation on the k-th key.
func (w *contentsAt) draw(k int) workload.Op {
	o := workload.Op{Key: w.key(k)}
	switch n := w.rng.IntN(8); {
	case n < 3:
		o.Kind = event.Read
	case w.sets && n < 6:
		o.Kind, o.Value = event.Add, int64(1+w.rng.IntN(3))
	case w.sets:
		o.Kind, o.Value = event.Remove, int64(1+w.rng.IntN(3))
	case n < 7 || w.stale > 0:
		o.Kind, o.Value = event.Append, w.next
		w.next++
	default:
		o.Kind = event.Delete
	}
	return o
}

// change carries o out.
func (w *contentsAt) change(o *workload.Op) {
	k := int(o.Key[len(o.Key)-1] - '0')
	switch o.Kind {
	case event.Read:
		o.IsList, o.List = true, slices.Clone(w.now[k])
		if o.Absent = !w.sets && len(o.List) == 0 && w.rng.IntN(2) == 0; o.Absent {
			o.IsList = false
		}
		if w.sets {
			o.Data = event.Set
			slices.Sort(o.List)
		}
	case event.Append:
		w.now[k] = append(w.now[k], o.Value)
	case event.Add:
		if !slices.Contains(w.now[k], o.Value) {
			w.now[k] = append(w.now[k], o.Value)
		}
	case event.Remove:
		w.now[k] = slices.DeleteFunc(w.now[k], func(e int64) bool { return e == o.Value })
	default:
		w.now[k] = nil
	}
}

// TestContentsAgain: such a store gives no finding that is sent, in any order of arrival within the
// lateness, with contracts that are true of it.
func TestContentsAgain(t *testing.T) {
	t.Parallel()
	for name, sets := range map[string]bool{"lists": false, "sets": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waited := 0
			for i := range seeds(t, 2000) {
				waited += contentsAgain(t, sets, i)
			}
			if waited += contentsAgain(t, sets, 7094); waited == 0 { // in which an unknown one adds what it had found
				t.Error("no finding waited, or was uncertain")
			}
			t.Logf("%d findings waited, or are uncertain", waited)
		})
	}
}

func contentsAgain(t *testing.T, sets bool, i int) (waited int) {
	rng := rand.New(rand.NewPCG(uint64(i), 311))
	x := contents{sets: sets, tries: true, unknown: []float64{0, 0.1, 0.3}[rng.IntN(3)]}
	c := window.Contract{Complete: true}
	switch i % 4 {
	case 0:
		c, x.jobs = defaults(), []float64{0, 0.1, 0.3}[rng.IntN(3)]
	case 1:
		c.Observed = true
	case 2:
		c.ByVersion = true
	default:
		x.tries = false // values are unique
	}
	if c.ClockDrift = againDrift; i/4%2 == 1 {
		x.skew = againDrift
	}
	h := x.draw(rng)
	cfg := window.Config{
		Named: true, Levels: isolation.Watched(), Expect: isolation.Level{Family: isolation.Strong, Base: isolation.Serializable}, Contract: c,
		Window: window.For(10 * time.Second), Lateness: window.For(againLate), MaxTxn: 100 * time.Millisecond,
	}
	_, found, err := run(cfg, batchOf(t, h, identity(len(h))), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		switch {
		case f.Kind == finding.KindGap:
		case !f.Certain && f.Kind != finding.KindHorizon, f.State == finding.Waiting:
			waited++
		case f.State == finding.Provisional || f.State == finding.Final:
			t.Fatalf("history %d, %+v, %s:\n%stold: %s%s", i, x, c, h.Text(), lines([]finding.Finding{f}), f.Explanation)
		}
	}
	return waited
}

// TestMissedLists: where somebody may delete lists unseen, most stale reads of lists are told all the
// same: others find later what the readers missed.
func TestMissedLists(t *testing.T) {
	t.Parallel()
	told := map[bool]int{}
	for i := range seeds(t, 600) {
		for _, unseen := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(i), 313))
			h := contents{stale: 0.1}.draw(rng)
			cfg := window.Config{Named: true, Levels: isolation.Watched(), Contract: defaults(), Window: window.For(10 * time.Second), Lateness: window.For(againLate), MaxTxn: 100 * time.Millisecond}
			cfg.Contract.ClockDrift = time.Millisecond
			cfg.Contract.DeletesUnseen, cfg.Contract.UnmonitoredWriters = unseen, unseen
			_, found, err := run(cfg, batchOf(t, h, identity(len(h))), false)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Certain && f.Kind == finding.KindViolation && f.State == finding.Final
			}) {
				told[unseen]++
			}
		}
	}
	t.Logf("told of %d histories where deletes are recorded, and of %d where they are not", told[false], told[true])
	if told[false] == 0 || told[true]*10 < told[false]*6 {
		t.Error("too few are told")
	}
}
