package app

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/probe"
)

// probing is a service with a probe of a file of SQLite.
func probing(t *testing.T, file string, change func(*config.Probe)) config.Service {
	t.Helper()
	s := liveService(t)
	p := config.NewProbe()
	p.URL, p.Source, p.Sessions, p.Rate = "sqlite:///"+file, "canary", 4, 200
	if change != nil {
		change(&p)
	}
	s.Inputs = []config.Input{{Probe: &p}}
	return s
}

// probeState is how the only probe fares.
func probeState(a *App) ProbeStatus { return a.probes[0].watch.status(a.probes[0].source) }

func committed(a *App, source string) int64 {
	for _, x := range a.Status().Sources {
		if x.Source == source {
			return x.Counters.Committed
		}
	}
	return 0
}

// A probe's records are of a source of its own, which is held to what SQLite documents; a
// healthy database ends ok, over a restart too.
func TestProbe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "canary.db")
	s := probing(t, file, nil)
	sink := make(caught, 100)
	a := start(t, s, sink)
	waitFor(t, "transactions are committed", func() bool { return committed(a, "canary") > 100 })
	get(t, a, "/-/ready")
	if got := a.watchOf("canary").Expected(); got != "sqlite/serializable" {
		t.Errorf("expected %s", got)
	}
	metrics := get(t, a, "/metrics")
	for _, want := range []string{
		`isowatch_probe_success{source="canary"} 1`, `isowatch_probe_errors_total{phase="connect",source="canary"} 0`,
		`isowatch_source_up{input="probe:canary"} 1`, `isowatch_probe_transactions_total{outcome="unknown",source="canary"} 0`,
	} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("metrics lack %s:\n%s", want, metrics)
		}
	}
	for _, phase := range probe.Phases() {
		zero := fmt.Sprintf("isowatch_probe_duration_seconds{phase=%q,source=\"canary\"} 0\n", phase)
		if strings.Contains(metrics, zero) {
			t.Error(zero)
		}
	}
	if text := get(t, a, "/api/v1/status"); !strings.Contains(text, `"probes":[{"source":"canary","reached":true}]`) {
		t.Errorf("status: %s", text)
	}
	stop(t, a)

	a = start(t, s, sink)
	waitFor(t, "transactions of the next epoch are committed", func() bool { return committed(a, "canary") > 300 })
	verdict := a.Status().Sources[0].Verdicts["strong-session-serializable"]
	if verdict.Verdict == "violated" || strings.Contains(verdict.Reason, "missing") {
		t.Errorf("verdict %+v", verdict)
	}
	stop(t, a)
	select {
	case d := <-sink:
		t.Errorf("a finding on a healthy database: %s", d.JSON)
	default:
	}
}

// A database that is away is asked again and again; until it was met the service is not
// ready. Other inputs go on, and it is told once.
func TestProbeOfADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "later")
	s := probing(t, filepath.Join(folder, "canary.db"), nil)
	s.Inputs = append(s.Inputs, config.Input{Tail: []string{filepath.Join(dir, "*.jsonl")}})
	var out lockedBuffer
	sink := make(caught, 10)
	a := startLogged(t, s, &out, sink)
	waitFor(t, "it is told why", func() bool {
		return strings.Contains(probeState(a).Problem, "canary.db") || strings.Contains(probeState(a).Problem, "unable to open")
	})
	response, err := http.Get("http://" + a.HTTPAddr() + "/-/ready")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready: %s", response.Status)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(strings.Join(skewOf("a"), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := sink.next(t); f.Source != config.DefaultSource {
		t.Errorf("found %+v", f)
	}
	metrics := get(t, a, "/metrics")
	for _, want := range []string{`isowatch_probe_success{source="canary"} 0`, `isowatch_source_up{input="probe:canary"} 0`} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if text := get(t, a, "/"); !strings.Contains(text, "the database does not answer") {
		t.Errorf("the page says nothing of it:\n%s", text)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is met", func() bool { return committed(a, "canary") > 0 })
	get(t, a, "/-/ready")
	if n := strings.Count(out.String(), "does not answer"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}

// Results that contradict what is expected are findings, with all that goes with them.
func TestProbeFinds(t *testing.T) {
	s := probing(t, "", func(p *config.Probe) {
		p.URL, p.Expect = "sim:read-committed", "serializable"
	})
	sink := make(caught, 1000)
	a := start(t, s, sink)
	for f := sink.next(t); f.Expected || !f.Certain || f.Kind != finding.KindViolation; f = sink.next(t) {
		if f.Source != "canary" {
			t.Fatalf("found %+v", f)
		}
	}
	if v := a.Status().Sources[0].Verdicts["serializable"].Verdict; v != "violated" {
		t.Errorf("verdict %s", v)
	}
}

// A database that answers, and commits nothing any more, is begun anew.
func TestProbeIsStuck(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "canary.db")
	s := probing(t, file, nil)
	var out lockedBuffer
	a := startLogged(t, s, &out, make(caught, 1000))
	waitFor(t, "transactions are committed", func() bool { return committed(a, "canary") > 20 })
	dropTables(t, file)
	w := a.probes[0].watch
	refused := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.refused >= stuckTries
	}
	waitFor(t, "transactions are refused", refused)
	w.mu.Lock()
	w.last = w.last.Add(-stuckAfter) // a minute passes
	w.mu.Unlock()
	before := committed(a, "canary")
	eventually(t, "another epoch is worked on", func() bool { return committed(a, "canary") > before+20 })
	if log := out.String(); strings.Count(log, "a probe begins") != 2 || !strings.Contains(log, "committed nothing for a minute") {
		t.Errorf("logged:\n%s", log)
	}
}

// dropTables takes a probe's tables away.
func dropTables(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'isowatch_probe_%'")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if rows.Err() != nil || len(names) == 0 {
		t.Fatalf("%d tables, %v", len(names), rows.Err())
	}
	for _, name := range names {
		if _, err := db.ExecContext(t.Context(), "DROP TABLE "+name); err != nil {
			t.Fatal(err)
		}
	}
}

func startLogged(t *testing.T, s config.Service, log *lockedBuffer, sink alert.Sink) *App {
	t.Helper()
	a, err := New(Options{
		Config: s, Log: slog.New(slog.NewTextHandler(log, nil)), Sinks: []alert.Route{{Sink: sink, Filter: alert.Everything()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	return a
}

// A secret that cannot be read is told, as what is wrong with a database is.
func TestProbeRefused(t *testing.T) {
	s := probing(t, "x.db", func(p *config.Probe) { p.Password.File = filepath.Join(t.TempDir(), "none") })
	a := start(t, s)
	waitFor(t, "a secret that cannot be read is told", func() bool { return strings.Contains(probeState(a).Problem, "secret file") })
}

// What the product documents for the setting that is met is what is expected, unless the
// configuration says it.
func TestProbeIsHeldToWhatIsMet(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	p, q := config.NewProbe(), config.NewProbe()
	p.URL, p.Source = "postgres://localhost:1/a", "asked"
	q.URL, q.Source, q.Expect = "postgres://localhost:1/b", "said", "postgresql/serializable"
	s.Inputs = []config.Input{{Probe: &p}, {Probe: &q}}
	a := start(t, s)
	if got := a.watchOf("asked").Expected(); got != "postgresql/read-committed" {
		t.Errorf("before it is met: %s", got)
	}
	if err := a.hold(t.Context(), "asked", "postgresql/repeatable-read"); err != nil {
		t.Fatal(err)
	}
	if err := a.hold(t.Context(), "asked", "postgresql/none"); err == nil {
		t.Error("a setting that is not known is taken")
	}
	if err := a.Reload(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if asked, said := a.watchOf("asked").Expected(), a.watchOf("said").Expected(); asked != "postgresql/repeatable-read" || said != "postgresql/serializable" {
		t.Errorf("expected %s and %s", asked, said)
	}
	stop(t, a)

	// The next life knows it before it has met the database, as long as it is asked for the same.
	a = start(t, s)
	if got := a.watchOf("asked").Expected(); got != "postgresql/repeatable-read" {
		t.Errorf("after a restart: %s", got)
	}
	stop(t, a)
	p.Isolation = "serializable"
	a = start(t, s)
	if got := a.watchOf("asked").Expected(); got != "postgresql/serializable" {
		t.Errorf("with another level: %s", got)
	}
	stop(t, a)
	p.Isolation = ""
	if err := os.WriteFile(filepath.Join(s.Data, probesFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	a = start(t, s)
	if got := a.watchOf("asked").Expected(); got != "postgresql/read-committed" {
		t.Errorf("with a damaged file: %s", got)
	}
}

// feedOf is a feed with its chunks, and a clock that stands still.
func feedOf(now *time.Time) (*feed, chan ingest.Chunk) {
	out := make(chan ingest.Chunk, 100)
	return &feed{partition: "probe:x", epoch: "e1", now: func() time.Time { return *now }, out: out, cut: true, next: 1}, out
}

func (f *feed) run(id string) { f.add(&event.Record{ID: id, Source: "x", Status: event.Committed}) }

// Transactions that overlap go in one message; where they do so for long, the cursor says so.
func TestFeed(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	f, out := feedOf(&now)
	var got []string
	drain := func() {
		for len(out) > 0 {
			c := <-out
			records := 0
			for _, m := range c.Messages {
				records += bytes.Count(m.Value, []byte("\n"))
			}
			got = append(got, fmt.Sprintf("%d records, next %d, cut %v, eof %v, gaps %d", records, c.Cursor.Next, wasCut(c.Cursor), c.EOF, len(c.Gaps)))
		}
		got = append(got, "-")
	}
	f.begin()
	f.begin()
	f.run("a")
	f.end()
	f.look()
	drain() // b still runs
	f.run("b")
	f.end()
	drain()
	f.begin()
	f.begin()
	f.run("c")
	f.end()
	now = now.Add(maxHeld)
	f.look()
	drain()
	f.run("d")
	f.end()
	f.look()
	now = now.Add(probeIdle)
	f.look()
	drain()
	f.leave()
	f.lose("killed")
	drain()
	want := []string{
		"0 records, next 1, cut true, eof false, gaps 0", "-",
		"2 records, next 2, cut true, eof false, gaps 0", "-",
		"1 records, next 3, cut false, eof false, gaps 0", "-",
		"1 records, next 4, cut true, eof false, gaps 0", "0 records, next 4, cut true, eof false, gaps 0", "-",
		"0 records, next 4, cut true, eof true, gaps 0", "0 records, next 4, cut true, eof true, gaps 1", "-",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A process that was killed within overlapping transactions tells of a gap, once.
func TestProbeAfterKill(t *testing.T) {
	for identity, gaps := range map[string]int{"e1": 0, "e1" + cutMark: 1} {
		p := &probed{
			config: config.NewProbe(), source: "x", partition: "probe:x", now: time.Now, jitter: func() float64 { return 0 }, log: slog.New(slog.DiscardHandler),
			watch: newProbeWatch(time.Now), trouble: func(string) {},
		}
		p.config.URL = "sqlite:///" + t.TempDir() + "/none/x.db"
		out, ended := make(chan ingest.Chunk, 100), make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- p.Run(ctx, map[string]ingest.Cursor{"probe:x": {Next: 7, Identity: identity}}, out) }()
		first := <-out
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(first.Gaps) != gaps || first.Cursor != (ingest.Cursor{Next: 7, Identity: "e1"}) || !first.EOF {
			t.Errorf("%s: %+v", identity, first)
		}
	}
}

func TestProbeWatch(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	w := newProbeWatch(func() time.Time { return now })
	refused := fmt.Errorf("refused")
	var got []string
	for _, err := range []error{refused, refused, nil, refused, refused, nil, nil} {
		got = append(got, w.phase(probe.Begin, time.Millisecond, err))
	}
	if want := []string{"down", "", "", "down", "", "up", ""}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	for range stuckTries {
		w.outcome(event.Aborted)
	}
	if w.stuck() {
		t.Error("stuck at once")
	}
	now = now.Add(stuckAfter)
	if !w.stuck() {
		t.Error("not stuck after a minute without a commit")
	}
	w.outcome(event.Committed)
	if w.stuck() {
		t.Error("stuck behind a commit")
	}
	text, err := json.Marshal(w.status("x"))
	if err != nil || string(text) != `{"source":"x","reached":true}` {
		t.Errorf("%s, %v", text, err)
	}
}

// lockedBuffer is written by the log.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}
