package simtest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/window"
)

// A stream is 3,000 transactions of 64 sessions over 30 ms of event time, each
// running for about 0.3 ms, with every kind of anomaly planted in turn, arriving
// at most 1 ms late. The window of 4 ms retires most of it on the way. The short form
// has half of the transactions: it retires as much as that in four windows.
var streamTxns = testrun.Size(1_000, 3_000)

const streamLateness = time.Millisecond

func streamConfig() window.Config {
	return window.Config{
		Contract: window.Contract{Complete: true},
		Window:   window.For(4 * time.Millisecond), Lateness: window.For(streamLateness),
		MaxTxn: 2 * time.Millisecond, Pane: 5 * time.Millisecond,
	}
}

// streamOf are the records of the transactions of one seed in an order of
// arrival of another, with the named anomalies planted, or all.
func streamOf(t *testing.T, kind workload.Kind, isolation workload.Isolation, seed, arrival uint64, plant ...string) [][]byte {
	t.Helper()
	g, err := workload.NewGenerator(workload.Config{
		Kind: kind, Isolation: isolation, Count: streamTxns, Keys: 500,
		Aborted: 0.02, Unknown: 0.02, PlantEvery: 100, Plant: plant,
	}, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	a := workload.NewArrivals(g, streamLateness, rand.New(rand.NewPCG(arrival, 2)))
	var records [][]byte
	for {
		txn, ok := a.Next()
		if !ok {
			return records
		}
		records = append(records, workload.AppendJSON(nil, &txn))
	}
}

// outcome holds what a run of a stream gives.
type outcome struct {
	stored   string
	findings []finding.Finding
	verdicts map[string]engine.Verdict
	counters window.Counters
}

// cut is how a stream is cut into steps, and what happens in between.
type cut struct {
	name    string
	step    int // records
	every   int // steps between two of what happens; 0 is never
	happens func(*world) error
}

func runStream(t *testing.T, records [][]byte, c cut) outcome {
	t.Helper()
	return runConfigured(t, streamConfig(), records, c)
}

func runConfigured(t *testing.T, cfg window.Config, records [][]byte, c cut) outcome {
	t.Helper()
	w := newWorld(t, manner{disk: true})
	w.cfg = cfg
	steps := 0
	for part := range slices.Chunk(records, c.step) {
		for _, r := range part {
			w.queue = append(w.queue, delivery{partition: defaultPartition, record: r})
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		if steps++; c.every > 0 && steps%c.every == 0 {
			if err := c.happens(w); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w.outcome(t)
}

// outcome ends the input.
func (w *world) outcome(t *testing.T) (o outcome) {
	t.Helper()
	err := w.end()
	if err == nil {
		o.stored, err = w.stored()
	}
	if err == nil {
		o.findings, err = w.findings()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := w.engine.Status().Sources[0]
	o.verdicts, o.counters = s.Verdicts, s.Counters
	return o
}

// eachStream runs fn for both kinds of object and both kinds of store.
func eachStream(t *testing.T, fn func(t *testing.T, kind workload.Kind, isolation workload.Isolation)) {
	for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
		for _, isolation := range []workload.Isolation{workload.Serializable, workload.SnapshotIsolation} {
			name := [2]string{"registers", "lists"}[kind] + " " + [2]string{"serializable", "snapshot isolation"}[isolation]
			t.Run(name, func(t *testing.T) { fn(t, kind, isolation) })
		}
	}
}

// TestStreamCuts: however a stream is cut into steps, and wherever it is
// interrupted, with a snapshot or without, the findings are the same to the byte.
func TestStreamCuts(t *testing.T) {
	t.Parallel()
	cuts := []cut{
		{name: "steps of 1", step: 1},
		{name: "steps of 7", step: 7},
		{name: "one step", step: 1 << 20},
		{name: "crash every 10 steps of 37", step: 37, every: 10, happens: (*world).crash},
		{name: "restart every 3 steps of 37", step: 37, every: 3, happens: (*world).restart},
		{name: "restart every step of 250", step: 250, every: 1, happens: (*world).restart},
	}
	eachStream(t, func(t *testing.T, kind workload.Kind, isolation workload.Isolation) {
		records := streamOf(t, kind, isolation, 1, 1)
		want := runStream(t, records, cut{step: 100})
		if len(want.findings) < 10 {
			t.Fatalf("only %d findings in %d records", len(want.findings), len(records))
		}
		for i, c := range cuts {
			if testrun.LeavesOut(i+int(kind)+2*int(isolation), 4) {
				continue
			}
			if got := runStream(t, records, c); got.stored != want.stored {
				t.Errorf("%s: %s", c.name, firstDifference(want.stored, got.stored))
			} else if got.counters != want.counters || !reflect.DeepEqual(got.verdicts, want.verdicts) {
				t.Errorf("%s: counters %+v, verdicts %v, want %+v, %v", c.name, got.counters, got.verdicts, want.counters, want.verdicts)
			}
		}
	})
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("finding %d differs:\ngot  %s\nwant %s", i, b[i], a[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

// TestStreamDuplicates: records that come again within the window change
// nothing but positions and the counter of duplicates.
func TestStreamDuplicates(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, kind workload.Kind, isolation workload.Isolation) {
		records := streamOf(t, kind, isolation, 2, 1)
		rng := rand.New(rand.NewPCG(3, 3))
		var twice [][]byte
		again := int64(0)
		for i, r := range records {
			twice = append(twice, r)
			if rng.IntN(10) == 0 {
				twice = append(twice, records[i-rng.IntN(min(i, 50)+1)])
				again++
			}
		}
		want := runStream(t, records, cut{step: 100})
		got := runStream(t, twice, cut{step: 100, every: 7, happens: (*world).restart})
		if w, g := withoutPositions(t, want.findings), withoutPositions(t, got.findings); w != g {
			t.Error(firstDifference(w, g))
		}
		if d := got.counters.Duplicates + got.counters.LateDuplicates; d != again {
			t.Errorf("%d duplicates counted, %d sent; %+v", d, again, got.counters)
		}
	})
}

func withoutPositions(t *testing.T, fs []finding.Finding) string {
	t.Helper()
	fs = slices.Clone(fs)
	for i := range fs {
		fs[i].FirstPosition, fs[i].LastPosition, fs[i].Positions = "", "", nil
	}
	text, err := asText(fs)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestStreamInterleavings: in any order of arrival within the lateness the
// verdict of each level is the same, and every violation of one run shares a
// transaction with one of every other. Horizon findings are left out: which
// overlapping appends retire unread depends on the arrival.
func TestStreamInterleavings(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, kind workload.Kind, isolation workload.Isolation) {
		first := runStream(t, streamOf(t, kind, isolation, 4, 1), cut{step: 100})
		for arrival := uint64(2); arrival < 6; arrival++ {
			if testrun.LeavesOut(int(arrival), 2) {
				continue
			}
			got := runStream(t, streamOf(t, kind, isolation, 4, arrival), cut{step: 100})
			for level, v := range first.verdicts {
				if g := got.verdicts[level]; g.Verdict != v.Verdict {
					t.Errorf("arrival %d: %s is %+v, was %+v", arrival, level, g, v)
				}
			}
			for _, f := range strangers(first.findings, got.findings) {
				t.Errorf("arrival %d: nothing there shares a transaction with %s", arrival, summary(&f))
			}
			for _, f := range strangers(got.findings, first.findings) {
				t.Errorf("arrival 1: nothing there shares a transaction with %s, of arrival %d", summary(&f), arrival)
			}
		}
	})
}

// strangers are the violations of a, without withdrawn ones, that share no
// transaction with any of b.
func strangers(a, b []finding.Finding) (out []finding.Finding) {
	counts := func(f *finding.Finding) bool {
		return f.Kind == finding.KindViolation && f.State != finding.Withdrawn
	}
	known := map[string]bool{}
	for i := range b {
		if counts(&b[i]) {
			for _, id := range b[i].Txns {
				known[id] = true
			}
		}
	}
	for i := range a {
		if counts(&a[i]) && !slices.ContainsFunc(a[i].Txns, func(id string) bool { return known[id] }) {
			out = append(out, a[i])
		}
	}
	return out
}

// TestStreamVerdicts: with anomalies that not every level forbids, each level
// has the verdict that they say, in any order of arrival.
func TestStreamVerdicts(t *testing.T) {
	t.Parallel()
	cfg := streamConfig()
	cfg.Window = window.For(time.Second) // nothing retires before the end
	// A reader can be over before the one that it read from: what is missing is
	// missed only when that one must have come as well.
	cfg.Lateness = window.For(streamLateness + cfg.MaxTxn)
	for _, c := range []struct {
		plant    string
		violated []string
	}{
		{"write-skew", []string{workload.LevelSerializable, workload.LevelSessionSerializable}},
		{"stale-session-read", []string{workload.LevelSessionSerializable, workload.LevelSessionSnapshot}},
	} {
		for _, kind := range []workload.Kind{workload.Registers, workload.Lists} {
			for arrival := range uint64(3) {
				got := runConfigured(t, cfg, streamOf(t, kind, workload.Serializable, 5, arrival, c.plant), cut{step: 100})
				for level, v := range got.verdicts {
					want := window.OK
					if slices.Contains(c.violated, level) {
						want = window.Violated
					}
					if v.Verdict != want {
						t.Errorf("%s, kind %d, arrival %d: %s is %+v, want %s", c.plant, kind, arrival, level, v, want)
					}
				}
				if n := len(got.findings); n < streamTxns/100-1 || n > streamTxns/100+1 {
					t.Errorf("%s, kind %d, arrival %d: %d findings", c.plant, kind, arrival, n)
				}
			}
		}
	}
}
