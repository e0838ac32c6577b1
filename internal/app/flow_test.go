package app

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// Two halves of a write skew, where what each read is there: it waits for nothing (docs/proofs.md, section 7).
const (
	skewOne = `{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"r","key":"y","value":0},{"op":"w","key":"y","value":1}]}`
	skewTwo = `{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"r","key":"y","value":0},{"op":"w","key":"x","value":1}]}`
)

func openEngine(t *testing.T, dir string) (*engine.Engine, *store.Store) {
	t.Helper()
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	watch := config.DefaultWatch(config.WholeContract())
	e, err := engine.Open(st, engine.Options{Configure: func(string) window.Config { return whole.MachineConfig(&watch) }})
	if err != nil {
		t.Fatal(err)
	}
	return e, st
}

func quiet(source ingest.Source) *input { return inputOf(source, slog.New(slog.DiscardHandler)) }

func wait(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: not within 10 s", what)
	}
}

// Dead letters before any source count in the status, on the pages and in the metric of
// the declared source, and once when it comes, after a restart as well.
func TestDeadLettersBeforeSources(t *testing.T) {
	s := liveService(t)
	a := start(t, s)
	send(t, a, "hello", "[]")
	dead := func(a *App, want string) {
		t.Helper()
		waitFor(t, "the metric", func() bool {
			return strings.Contains(get(t, a, "/metrics"), `isowatch_dead_letters_total{source="default"} `+want+"\n")
		})
	}
	dead(a, "2")
	if page := get(t, a, "/"); !strings.Contains(page, "Nothing is checked: no record could be read so far (2 bad records).") {
		t.Errorf("the page does not tell of dead letters:\n%s", page)
	}
	asked := levels(t, "serializable")
	outcome := func(a *App) string { return Outcome(a.Status(), func(string) []isolation.Level { return asked }) }
	if got := outcome(a); got != window.Unknown {
		t.Errorf("outcome %s", got)
	}
	stop(t, a)
	a = start(t, s)
	dead(a, "2")
	send(t, a, skewOne)
	waitFor(t, "the source", func() bool { return len(a.Status().Sources) == 1 })
	dead(a, "2")
	send(t, a, "again")
	dead(a, "3")
	if page := get(t, a, "/"); !strings.Contains(page, "No anomaly found so far (3 bad records).") {
		t.Errorf("the page does not tell of dead letters:\n%s", page)
	}
}

func TestFlowOfFiniteInput(t *testing.T) {
	e, _ := openEngine(t, t.TempDir())
	f := startFlow(e, []*input{quiet(&scripted{chunks: []ingest.Chunk{records("stdin", 1, skewOne, skewTwo)}})}, true)
	wait(t, "the end of the input", f.done)
	if f.err != nil {
		t.Fatal(f.err)
	}
	asked := levels(t, "serializable")
	if got := Outcome(e.Status(), func(string) []isolation.Level { return asked }); got != "violated" {
		t.Errorf("outcome %s", got)
	}
}

// Stopped in the middle, a finite input has not ended: what rests on its end is
// not decided. An aborted read is, and only then.
func TestFlowStoppedIsNotTheEnd(t *testing.T) {
	const (
		aborted = `{"txn":"T1","status":"aborted","start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]}`
		reader  = `{"txn":"T2","status":"committed","start":3,"end":4,"ops":[{"op":"r","key":"x","value":1}]}`
	)
	for _, stop := range []bool{true, false} {
		e, _ := openEngine(t, t.TempDir())
		source := &scripted{chunks: []ingest.Chunk{records("stdin", 1, aborted, reader)}, wait: stop, sent: make(chan struct{})}
		f := startFlow(e, []*input{quiet(source)}, true)
		wait(t, "sent", source.sent)
		if stop {
			if err := f.stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, "done", f.done)
		s := e.Status()
		if s.Records != 2 {
			t.Fatalf("stopped %v: %d records committed, want what was read: 2", stop, s.Records)
		}
		if got := s.Sources[0].Findings["G1a"].Violating; got != map[bool]int64{true: 0, false: 1}[stop] {
			t.Errorf("stopped %v: %d aborted reads", stop, got)
		}
	}
}

// An aborted read is uncertain where a record was lost: it may have been the one that wrote the value. Metrics that alert do not count
// it, nor does the overview.
func TestUncertainIsNotAlerted(t *testing.T) {
	const (
		aborted = `{"txn":"T1","status":"aborted","start":1,"end":2,"ops":[{"op":"w","key":"x","value":1}]}`
		reader  = `{"txn":"T2","status":"committed","start":3,"end":4,"ops":[{"op":"r","key":"x","value":1}]}`
	)
	for _, c := range []struct {
		lines              []string
		certain, uncertain string
	}{
		{[]string{aborted, reader}, "1", "0"},
		{[]string{aborted, "nonsense", reader}, "0", "1"},
	} {
		e, _ := openEngine(t, t.TempDir())
		f := startFlow(e, []*input{quiet(&scripted{chunks: []ingest.Chunk{records("stdin", 1, c.lines...)}})}, true)
		wait(t, "the end of the input", f.done)
		if f.err != nil {
			t.Fatal(f.err)
		}
		collector := collectorOf(e.Status())
		registry := prometheus.NewRegistry()
		registry.MustRegister(collector)
		for name, want := range map[string]string{
			`isowatch_findings_total{anomaly="G1a",expected="false",source="default",title="aborted read"}`: c.certain,
			`isowatch_findings_uncertain_total{anomaly="G1a",source="default",title="aborted read"}`:        c.uncertain,
		} {
			w := httptest.NewRecorder()
			promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			if !strings.Contains(w.Body.String(), "\n"+name+" "+want+"\n") {
				t.Errorf("%q: no %s %s", c.lines, name, want)
			}
		}
	}
}

// Two transactions asked for less within a minute. The second one is told when the input ends, and
// when the service does; once.
func TestFlowTellsWhatIsHeldBack(t *testing.T) {
	const asksForLess = `{"txn":"T1","isolation":"read committed","status":"committed","ops":[{"op":"r","key":"x","found":false}]}`
	for _, c := range []struct {
		what         string
		finite, stop bool
	}{{"the end of the input", true, false}, {"stopped in the middle", true, true}, {"stopped", false, true}} {
		e, st := openEngine(t, t.TempDir())
		source := &scripted{chunks: []ingest.Chunk{records("p", 1, asksForLess, strings.Replace(asksForLess, "T1", "T2", 1))}, wait: c.stop, sent: make(chan struct{})}
		f := startFlow(e, []*input{quiet(source)}, c.finite)
		wait(t, "sent", source.sent)
		if c.stop {
			if err := f.stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, "done", f.done)
		if f.err != nil {
			t.Fatal(f.err)
		}
		told := func() (headlines []string) {
			pending, err := engine.Reader{Store: st}.Pending("test", 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range pending {
				headlines = append(headlines, d.Finding.Headline)
			}
			return headlines
		}
		want := "1 transaction did not ask for serializable. 2 transactions did not ask for serializable."
		if got := strings.Join(told(), " "); got != want {
			t.Errorf("%s: told %s", c.what, got)
		}
		if err := e.Pause(t.Context()); err != nil || len(told()) != 2 {
			t.Errorf("%s: told again: %s, %v", c.what, told(), err)
		}
	}
}

func TestFlowStopCommitsWhatWasRead(t *testing.T) {
	dir := t.TempDir()
	e, st := openEngine(t, dir)
	source := &scripted{wait: true, sent: make(chan struct{})}
	for n := range int64(chunksAhead) {
		source.chunks = append(source.chunks, records("p", n, strings.Replace(skewOne, "T1", "T"+string(rune('a'+n)), 1)))
	}
	f := startFlow(e, []*input{quiet(source)}, false)
	wait(t, "sent", source.sent)
	if err := f.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.err != nil {
		t.Fatal(f.err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := openEngine(t, dir)
	if got := again.Cursors()["p"].Next; got != chunksAhead {
		t.Errorf("the next start reads from %d, want %d", got, chunksAhead)
	}
}

func TestFlowFails(t *testing.T) {
	refused := errors.New("login refused")
	t.Run("input", func(t *testing.T) {
		e, _ := openEngine(t, t.TempDir())
		f := startFlow(e, []*input{quiet(&scripted{wait: true}), quiet(&scripted{err: refused})}, false)
		wait(t, "the failure", f.done)
		if !errors.Is(f.err, ErrInput) || !errors.Is(f.err, refused) {
			t.Errorf("error %v", f.err)
		}
	})
	t.Run("store", func(t *testing.T) {
		e, st := openEngine(t, t.TempDir())
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		f := startFlow(e, []*input{quiet(&scripted{chunks: []ingest.Chunk{records("p", 0, skewOne)}, wait: true})}, false)
		wait(t, "the failure", f.done)
		if !errors.Is(f.err, ErrStore) || !errors.Is(f.err, store.ErrClosed) {
			t.Errorf("error %v", f.err)
		}
	})
}
