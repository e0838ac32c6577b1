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
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/oracle"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/trial"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// timedOf are the transactions of h that did not abort.
func timedOf(t *testing.T, h oracle.History) (all []trial.Timed) {
	t.Helper()
	for i := range h {
		if h[i].Status == event.Aborted {
			continue
		}
		var d event.Decoder
		b := &event.Batch{Partitions: []string{"sim"}}
		d.Decode(b, event.Position{}, workload.AppendJSON(nil, &h[i]))
		if len(b.Bad) > 0 {
			t.Fatal(b.Bad[0].Reason)
		}
		r := b.Record(&b.Txns[0])
		all = append(all, trial.Timed{Start: r.Start, End: r.End, Unknown: r.Status == event.Unknown, Record: func() event.Record { return r }})
	}
	return all
}

// TestInTime: where a follower finds an order, there is one at the strong level. It finds most
// that there are.
func TestInTime(t *testing.T) {
	t.Parallel()
	for name, k := range openKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, there := 0, 0
			for i := range seeds(t, 150) {
				h := oracle.RandomKinds(rand.New(rand.NewPCG(uint64(i), 53)), k)
				txns := timedOf(t, h)
				for _, b := range []isolation.Base{isolation.Serializable, isolation.SnapshotIsolation, isolation.Prefix} {
					l := isolation.Level{Base: b, Family: isolation.Strong}
					possible, err := oracle.PossibleAt(unversioned(h), oracle.Level(l.String())) // no numbers are followed
					if err != nil {
						t.Fatal(err)
					}
					is := trial.InTime(trial.Base(b), txns, 0)
					if is && !possible {
						t.Fatalf("history %d: an order in time was found at %s, and there is none:\n%s", i, l, textOf(h))
					}
					found += of(is)
					there += of(possible)
				}
			}
			t.Logf("%s: %d orders of %d found", name, found, there)
			if 100*found < 90*there {
				t.Errorf("%d orders of %d found", found, there)
			}
		})
	}
}

func textOf(h oracle.History) string {
	var b strings.Builder
	for i := range h {
		b.WriteString(h[i].Text() + "\n")
	}
	return b.String()
}

// mixture is a stream of a store that keeps to its level, with data of some kinds.
type mixture struct {
	snapshots bool   // snapshot isolation; else serializable
	kinds     string // r registers, d rows with deletes, s scans of these, l lists, e elements of sets, c counters
	txns      int
	unknown   float64 // share of unknown outcomes
}

// content holds what the store of a mixture holds of a key.
type content struct {
	value   int64 // 0: nothing
	elems   []int64
	changed int64 // instant
}

// draw returns the records in the order of their ends.
func (x mixture) draw(rng *rand.Rand) oracle.History {
	type step struct {
		at     int64
		writes bool
		d      *workload.Txn
		reads  int64
	}
	var steps []step
	var all []*workload.Txn
	free := make([]int64, 3+rng.IntN(6))
	const ms = int64(time.Millisecond)
	for i := range x.txns {
		s := 0
		for j := range free {
			if free[j] < free[s] {
				s = j
			}
		}
		start := free[s] + ms*(1+rng.Int64N(4))
		reads := start + ms*(1+rng.Int64N(3))
		writes := reads + 1
		if x.snapshots {
			writes += ms * rng.Int64N(4)
		}
		d := &workload.Txn{ID: fmt.Sprintf("t%d", i), Session: fmt.Sprintf("s%d", s), Status: event.Committed, Start: start, End: writes + ms*(1+rng.Int64N(4))}
		free[s] = d.End + 1
		all = append(all, d)
		steps = append(steps, step{reads, false, d, reads}, step{writes, true, d, reads})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	state, next := map[string]content{}, int64(100)
	keys := 2 + rng.IntN(4)
	for _, s := range steps {
		switch {
		case !s.writes:
			x.plan(rng, s.d, keys, state, &next)
			if !x.snapshots {
				x.commit(rng, s.d, s.reads, s.at, state)
			}
		case x.snapshots:
			x.commit(rng, s.d, s.reads, s.at, state)
		}
	}
	slices.SortStableFunc(all, func(a, b *workload.Txn) int { return cmp.Compare(a.End, b.End) })
	var h oracle.History
	for _, d := range all {
		h = append(h, *d)
	}
	return h
}

// after returns what o leaves of what was there.
func after(o *workload.Op, was content) content {
	switch o.Kind {
	case event.Write, event.Insert:
		was.value = o.Value
	case event.Delete:
		was.value = 0
	case event.Append:
		was.elems = append(slices.Clone(was.elems), o.Value)
	case event.Add:
		if !slices.Contains(was.elems, o.Value) {
			was.elems = append(slices.Clone(was.elems), o.Value)
		}
	case event.Remove:
		was.elems = slices.DeleteFunc(slices.Clone(was.elems), func(e int64) bool { return e == o.Value })
	case event.Inc:
		was.value += o.Value
	}
	return was
}

func (x mixture) plan(rng *rand.Rand, d *workload.Txn, keys int, state map[string]content, next *int64) {
	local := map[string]content{}
	for range 1 + rng.IntN(3) {
		kind := x.kinds[rng.IntN(len(x.kinds))]
		key := fmt.Sprintf("%c%d", kind, rng.IntN(keys))
		if kind == 's' {
			key = "d" + key[1:]
		}
		was, own := local[key]
		if !own {
			was = state[key]
		}
		*next++
		o := workload.Op{Kind: event.Read, Key: key, Value: was.value, Absent: was.value == 0}
		change := rng.IntN(2) == 0
		switch kind {
		case 'r':
			if change {
				o = workload.Write(key, *next)
			}
		case 'd':
			switch {
			case change && was.value == 0:
				o = workload.Op{Kind: event.Insert, Key: key, Value: *next}
			case change && rng.IntN(2) == 0:
				o = workload.Op{Kind: event.Delete, Key: key}
			case change:
				o = workload.Write(key, *next)
			}
		case 's':
			o = workload.Op{Kind: event.Range, Other: workload.Other{From: "d", To: "e"}}
			for i := range keys {
				row := fmt.Sprintf("d%d", i)
				v, own := local[row]
				if !own {
					v = state[row]
				}
				if v.value != 0 {
					o.Rows = append(o.Rows, workload.Row{Key: row, Value: v.value})
				}
			}
		case 'l':
			if o = workload.ReadList(key, was.elems...); change {
				o = workload.Append(key, *next)
			}
		case 'e':
			if o = workload.ReadList(key, was.elems...); change {
				o = workload.Op{Kind: []event.OpKind{event.Add, event.Remove}[rng.IntN(2)], Key: key, Value: rng.Int64N(5)}
			} else {
				o.Data = event.Set
			}
		case 'c':
			if change {
				o = workload.Op{Kind: event.Inc, Key: key, Value: rng.Int64N(3) + 1}
			} else {
				o.Data, o.Absent = event.Counter, false
			}
		}
		d.Ops = append(d.Ops, o)
		local[key] = after(&o, was)
	}
}

func (x mixture) commit(rng *rand.Rand, d *workload.Txn, read, at int64, state map[string]content) {
	for i := range d.Ops {
		if o := &d.Ops[i]; o.Kind != event.Read && o.Kind != event.Range && state[o.Key].changed > read {
			d.Status = event.Aborted
			return
		}
	}
	if rng.Float64() < x.unknown {
		if d.Status = event.Unknown; rng.IntN(2) == 0 {
			return
		}
	}
	for i := range d.Ops {
		if o := &d.Ops[i]; o.Kind != event.Read && o.Kind != event.Range {
			now := after(o, state[o.Key])
			now.changed = at
			state[o.Key] = now
		}
	}
}

// TestHealthyMixtures: streams of a store that keeps to its level, of each kind of data and of
// mixtures, are ok at that level and below: as whole histories, with a window that holds all, and with a
// small one.
func TestHealthyMixtures(t *testing.T) {
	t.Parallel()
	for _, snapshots := range []bool{false, true} {
		for _, kinds := range []string{"r", "d", "ds", "l", "e", "c", "cr", "ce", "rdlec", "rdslec"} {
			x := mixture{snapshots: snapshots, kinds: kinds}
			t.Run(fmt.Sprintf("%+v", x), func(t *testing.T) {
				t.Parallel()
				open, all := 0, 0
				for seed := range seeds(t, 6) {
					rng := rand.New(rand.NewPCG(uint64(seed), 97))
					x.txns = []int{40, 150, 400}[seed%3]
					x.unknown = []float64{0, 0.03}[seed%2]
					h := x.draw(rng)
					for span := range 3 {
						if testrun.LeavesOut(seed+span, 6) {
							continue
						}
						n, of, why := x.look(t, h, span)
						if why != "" {
							t.Errorf("seed %d: %s", seed, why)
						}
						open += n
						all += of
					}
				}
				t.Logf("%d of %d cells are open", open, all)
				if 100*open > all {
					t.Errorf("%d of %d cells are open", open, all)
				}
			})
		}
	}
}

// look counts the open cells of a stream. A whole history is span 0.
func (x mixture) look(t *testing.T, h oracle.History, span int) (open, all int, why string) {
	t.Helper()
	cfg := window.Config{Levels: isolation.Watched(), Expect: isolation.Level{Base: isolation.ReadCommitted}, Contract: window.Contract{Complete: true}}
	if span == 0 {
		cfg.Unbounded = true
	} else {
		cfg.Window = window.For([]time.Duration{0, time.Hour, 60 * time.Millisecond}[span])
		cfg.Lateness, cfg.MaxTxn = window.For(5*time.Millisecond), 20*time.Millisecond
	}
	perm := make([]int, len(h))
	for i := range perm {
		perm[i] = i
	}
	m, why := kindsRun(t, cfg, h, perm, span == 2 && len(h) < 100)
	if why != "" {
		return 0, 0, why
	}
	kept := isolation.Level{Base: isolation.Serializable, Family: isolation.Strong}
	if x.snapshots {
		kept.Base = isolation.SnapshotIsolation
	}
	for _, l := range cfg.Levels {
		if !kept.Implies(l) {
			continue
		}
		all++
		switch verdict, reason := m.VerdictAsAsked(l); verdict {
		case window.Violated:
			return 0, 0, fmt.Sprintf("%s is violated, span %d", l, span)
		case window.Unknown:
			t.Logf("%d transactions, span %d, %s: %s", len(h), span, l, reason)
			open++
		}
	}
	return open, all, ""
}
