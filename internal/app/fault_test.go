package app

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// slip is a hook that panics at transactions whose id begins with "bad".
func slip(_ string, b *event.Batch, txns []int32) {
	for _, i := range txns {
		if strings.HasPrefix(b.Text(b.Txns[i].ID), "bad") {
			panic("a slip\nmonitor: of ours")
		}
	}
}

func plain(source, id string, n int) string {
	return fmt.Sprintf(`{"txn":%q,"source":%q,"status":"committed","ops":[{"op":"w","key":"x","value":%d}]}`, id, source, n)
}

func code(t *testing.T, a *App, path string) int {
	t.Helper()
	response, err := http.Get("http://" + a.HTTPAddr() + path)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// TestFaultsOfTheProgram: one fault costs one record. Three stop the source: metric, pages, readiness
// and verdict say so, and the other source goes on. With the last source the service ends, not ready
// while it lingers. A new start goes on.
func TestFaultsOfTheProgram(t *testing.T) {
	s := liveService(t)
	a, err := New(Options{Config: s, Hook: slip, Linger: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			a.Stop(t.Context())
		}
	}()
	send(t, a, plain("one", "1", 1), plain("two", "1", 1), plain("one", "bad1", 2), plain("one", "2", 3))
	waitFor(t, "the metric", func() bool {
		text := get(t, a, "/metrics")
		return strings.Contains(text, `isowatch_quarantined_records_total{source="one"} 1`) && strings.Contains(text, `isowatch_source_stopped{source="one"} 0`) &&
			strings.Contains(text, `isowatch_transactions_total{source="one",status="committed"} 2`) && strings.Contains(text, `isowatch_gaps_total{source="one"} 1`) &&
			strings.Contains(text, `isowatch_gaps_total{source="two"} 0`)
	})
	if got := code(t, a, "/-/ready"); got != http.StatusOK {
		t.Errorf("ready: %d after one fault", got)
	}
	dead := stored(t, s.Data, DeadLetters)
	if len(dead) != 1 || !strings.Contains(string(dead[0]), filepath.Join(s.Data, "faults")) {
		t.Errorf("%s", dead)
	}
	send(t, a, plain("one", "bad2", 4), plain("one", "bad3", 5), plain("one", "3", 6), plain("two", "2", 2))
	waitFor(t, "the stop", func() bool {
		text := get(t, a, "/metrics")
		return strings.Contains(text, `isowatch_source_stopped{source="one"} 1`) && strings.Contains(text, `isowatch_source_stopped{source="two"} 0`) &&
			strings.Contains(text, `isowatch_transactions_total{source="two",status="committed"} 2`)
	})
	if got := code(t, a, "/-/ready"); got != http.StatusServiceUnavailable {
		t.Errorf("ready: %d with a stopped source", got)
	}
	if err := a.readiness(); err == nil || !strings.Contains(err.Error(), "source one") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q", err)
	}
	if text := get(t, a, "/metrics"); !strings.Contains(text, `isowatch_verdict{level="serializable",source="one"} 1`) {
		t.Errorf("no unknown verdict:\n%s", text)
	}
	if page := get(t, a, "/"); !strings.Contains(page, "stopped") {
		t.Error(page)
	}
	send(t, a, plain("two", "bad4", 7), plain("two", "bad5", 8), plain("two", "bad6", 9))
	waitFor(t, "the end", func() bool { return a.Err() != nil })
	select {
	case <-a.Done():
		t.Error("it ended at once")
	default:
	}
	if got := code(t, a, "/-/ready"); got != http.StatusServiceUnavailable {
		t.Errorf("ready: %d while it lingers", got)
	}
	stopped = true
	if err := a.Stop(t.Context()); !errors.Is(err, engine.ErrStopped) || errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "Report it") {
		t.Error(err)
	}
	files, _ := filepath.Glob(filepath.Join(s.Data, "faults", "*"))
	if len(files) != 6 {
		t.Errorf("%q", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(f, err)
		}
		if x, err := ReproduceFault(f); err != nil || x.Again != "" || !strings.Contains(x.Was, "a slip") {
			t.Errorf("%+v %v", x, err)
		}
	}
	a = start(t, s)
	send(t, a, plain("one", "4", 10), plain("two", "3", 11))
	waitFor(t, "both sources", func() bool {
		all := a.Status().Sources
		return len(all) == 2 && all[0].Stopped == "" && all[1].Stopped == "" && all[0].Counters.Committed == 3 && all[1].Counters.Committed == 3
	})
	for _, x := range a.Status().Sources {
		if v := x.Verdicts["serializable"]; v.Verdict != window.Unknown || x.Counters.Gaps < 3 {
			t.Errorf("%+v", x)
		}
	}
	waitFor(t, "readiness", func() bool { return code(t, a, "/-/ready") == http.StatusOK })
}
