package probe_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/sqlite"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/workloads.txt anew")

func openFile(t *testing.T) *probe.SQL {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "a b.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// run fills the tables and takes records until there are n of them.
func run(t *testing.T, db probe.Database, w *probe.Workload, o probe.Options, n int) []event.Record {
	t.Helper()
	filled, err := probe.Fill(t.Context(), db, w, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	records := []event.Record{filled}
	if err := probe.Run(ctx, db, w, o, func(r event.Record) {
		mu.Lock()
		defer mu.Unlock()
		if records = append(records, r); len(records) > n {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	return records
}

// ticking is a clock that goes on by a millisecond whenever it is looked at, and by what
// is slept.
func ticking() (now func() time.Time, sleep func(context.Context, time.Duration)) {
	at := time.Unix(1_760_000_000, 0)
	return func() time.Time { at = at.Add(time.Millisecond); return at },
		func(_ context.Context, d time.Duration) { at = at.Add(d) }
}

// One session sees what it has written, in every workload: what is recorded is what
// was done.
func TestOneSession(t *testing.T) {
	for _, w := range slices.Concat(probe.Workloads(), probe.Repeating()) {
		t.Run(w.Name(), func(t *testing.T) {
			t.Parallel()
			m := newModel()
			kinds := map[event.OpKind]int{}
			records := run(t, openFile(t), w, probe.Options{Sessions: 1, Keys: 6, Aborted: 0.1, Seed: 7}, 400)
			for i := range records {
				if why := m.run(&records[i]); why != "" {
					t.Fatal(why)
				}
				for _, o := range records[i].Ops {
					kinds[o.Kind]++
				}
			}
			t.Log(kinds)
		})
	}
}

// What several sessions record is in the documented form; ids and times are those of
// single-threaded clients, and no session misses a number.
func TestSessions(t *testing.T) {
	for _, w := range slices.Concat(probe.Workloads(), probe.Repeating()) {
		t.Run(w.Name(), func(t *testing.T) {
			t.Parallel()
			o := probe.Options{Source: "s", Epoch: "e", Isolation: "serializable", Sessions: 4, Keys: 6, Aborted: 0.1, Think: 200 * time.Microsecond, Seed: 7}
			records := run(t, openFile(t), w, o, 300)
			checkForm(t, records)
			last, status := map[string]event.Record{}, map[event.Status]int{}
			slices.SortStableFunc(records, func(a, b event.Record) int { return int(a.Seq - b.Seq) })
			for _, r := range records {
				before := last[r.Session]
				if r.Seq != before.Seq+1 || r.Start < before.End || r.End < r.Start || r.ID != fmt.Sprintf("%s-%d", r.Session, r.Seq) {
					t.Errorf("%+v\ncomes behind\n%+v", r, before)
				}
				last[r.Session] = r
				status[r.Status]++
			}
			if len(last) != 5 || status[event.Committed] < 50 || status[event.Aborted] == 0 || status[event.Unknown] > 0 {
				t.Errorf("%d sessions, %v", len(last), status)
			}
		})
	}
}

// checkForm has the records decoded.
func checkForm(t *testing.T, records []event.Record) {
	t.Helper()
	var d event.Decoder
	var b event.Batch
	for i := range records {
		b.Reset()
		line := event.AppendJSON(nil, &records[i])
		d.Decode(&b, event.Position{}, line)
		if len(b.Bad) > 0 {
			t.Errorf("%s: %s", line, b.Bad[0].Reason)
		} else if again := b.Record(&b.Txns[0]); !bytes.Equal(event.AppendJSON(nil, &again), line) {
			t.Errorf("%s is read as %+v", line, again)
		}
	}
}

// The first transactions of each workload, as they are recorded.
func TestWorkloads(t *testing.T) {
	var out strings.Builder
	for _, w := range slices.Concat(probe.Workloads(), probe.Repeating()) {
		fmt.Fprintf(&out, "=== %s\n", w.Name())
		now, sleep := ticking()
		o := probe.Options{Sessions: 1, Keys: 4, Rate: 10, Aborted: 0.1, Seed: 1, Now: now, Sleep: sleep}
		for _, r := range run(t, openFile(t), w, o, 12) {
			out.Write(event.AppendJSON(nil, &r))
			out.WriteByte('\n')
		}
	}
	const file = "testdata/workloads.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the records differ from %s; go test -rewrite writes it anew:\n%s", file, out.String())
	}
}

func TestOptions(t *testing.T) {
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	err = probe.Run(t.Context(), openFile(t), w, probe.Options{
		Sessions: -1, Keys: 3, Rate: -1, Think: -1, Aborted: 2, Duration: -1, Timeout: -1,
	}, nil)
	want := `probe: sessions -1: must be positive
probe: keys 3: must be at least 4
probe: rate -1: must not be negative
probe: think -1ns: must not be negative
probe: aborted 2: must be a share of 1
probe: duration -1ns: must not be negative
probe: timeout -1ns: must be positive`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := probe.ByName("mixed"); err == nil || !strings.Contains(err.Error(), "there are mix, register,") {
		t.Errorf("error %v", err)
	}
}

// A session takes its turns at the rate, and a transaction that has begun is finished.
func TestRateAndDuration(t *testing.T) {
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	records := run(t, openFile(t), w, probe.Options{Sessions: 4, Rate: 100, Duration: 500 * time.Millisecond}, 1000)
	if took := time.Since(began); took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	if n := len(records); n < 20 || n > 80 {
		t.Errorf("%d transactions in half a second at 100 a second", n)
	}
}
