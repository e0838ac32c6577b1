package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
)

func TestRoom(t *testing.T) {
	free := int64(1000)
	var broken error
	var told []string
	r := newDiskSpace(800, func() (int64, error) { return free, broken }, func(paused bool, free int64) { told = append(told, fmt.Sprint(paused, " ", free)) })
	waits := func(atLeast time.Duration) bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); r.wait(ctx) }()
		select {
		case <-done:
			return false
		case <-time.After(atLeast):
			cancel()
			<-done
			return true
		}
	}
	patience := map[bool]time.Duration{true: 5 * time.Millisecond, false: 10 * time.Second} // by whether it is paused
	for _, c := range []struct {
		free   int64
		paused bool
	}{{1000, false}, {800, false}, {799, true}, {0, true}, {899, true}, {900, false}, {800, false}, {10, true}, {math.MaxInt64, false}} {
		free = c.free
		r.look()
		if paused, last := r.state(); paused != c.paused || last != c.free || waits(patience[c.paused]) != c.paused {
			t.Errorf("with %d free: paused %v, %d", c.free, paused, last)
		}
	}
	free = 0
	r.look()
	broken = errors.New("no such call")
	r.look()
	if paused, _ := r.state(); paused {
		t.Error("paused by a disk that does not say how full it is")
	}
	if got := strings.Join(told, ", "); !strings.HasPrefix(got, "true 799, false 900, true 10, false") || len(told) != 6 {
		t.Errorf("told %q", told)
	}
	free, broken = 700, nil
	if r.wait(canceled(t)); !r.paused {
		t.Error("a commit does not look at the disk first")
	}
	free = 1000
	r.look()
	if !r.has(600) || r.has(601) {
		t.Error("half of the reserve is not left")
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A disk that fills up pauses the intake; when there is room again everything is there,
// once, and a start waits for room as well.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.MinFree = config.LeastMinFree
	var free atomic.Int64
	free.Store(math.MaxInt64)
	sink := make(caught, 10)
	begin := func() *App {
		a, err := New(Options{Config: s, Free: func() (int64, error) { return free.Load(), nil }, Sinks: []alert.Route{{Sink: sink, Filter: alert.Everything()}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Stop(context.Background()) })
		return a
	}
	a := begin()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, a, skewOne)
	eventually(t, "the first record", func() bool { return a.Status().Records == 1 })
	free.Store(int64(config.LeastMinFree / 2))
	eventually(t, "the pause", func() bool { paused, _ := a.diskSpace.state(); return paused })
	page := get(t, a, "/")
	if !strings.Contains(page, "nearly full") || !strings.Contains(get(t, a, "/metrics"), "isowatch_intake_paused 1") {
		t.Error("neither page nor metrics tell of the pause")
	}
	steps := func() uint64 { return a.Status().Steps }
	eventually(t, "the last step", func() bool { n := steps(); time.Sleep(1500 * time.Millisecond); return n == steps() })
	send(t, a, skewTwo)
	time.Sleep(100 * time.Millisecond)
	if n := steps(); n != steps() || len(sink) > 0 {
		t.Error("a step was committed without room")
	}
	// What was read meanwhile is committed at the stop: the reserve is for that.
	stop(t, a)
	if f := sink.next(t); f.Anomaly != "G2-item" {
		t.Errorf("found %s", f.Anomaly)
	}
	a = begin()
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := a.Start(short); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "min-free") {
		t.Errorf("started on a full disk: %v", err)
	}
	a = begin()
	time.AfterFunc(100*time.Millisecond, func() { free.Store(math.MaxInt64) })
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if paused, _ := a.diskSpace.state(); paused {
		t.Error("paused after the start")
	}
	send(t, a, `{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":2}]}`,
		`{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":3}]}`)
	for {
		if f := sink.next(t); f.Anomaly == "lost-update" {
			break
		} else if f.Revision == 1 {
			t.Errorf("found again: %s", f.Anomaly)
		}
	}
}

// A start that waits for room answers probes, and its metrics say what it waits for.
func TestStartWithoutRoom(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.MinFree, s.HTTP.ExternalURL = config.LeastMinFree, "https://watch.example.com/isowatch"
	var free atomic.Int64
	address := make(chan string, 1)
	var a *App
	a, err := New(Options{Config: s, Free: func() (int64, error) {
		select {
		case address <- a.HTTPAddr():
		default:
		}
		return free.Load(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	started := make(chan error, 1)
	go func() { started <- a.Start(t.Context()) }()
	base := "http://" + <-address
	for _, c := range []struct {
		path   string
		status int
		holds  string
	}{
		{"/metrics", http.StatusOK, "isowatch_intake_paused 1\n"},
		{"/metrics", http.StatusOK, "isowatch_build_info{"},
		{"/-/healthy", http.StatusOK, "healthy"},
		{"/-/ready", http.StatusServiceUnavailable, "the disk is nearly full"},
		{"/isowatch/metrics", http.StatusOK, "isowatch_intake_paused 1\n"},
		{"/isowatch/-/healthy", http.StatusOK, "healthy"},
		{"/isowatch/-/ready", http.StatusServiceUnavailable, "the disk is nearly full"},
		{"/", http.StatusServiceUnavailable, "the disk is nearly full"},
		{"/api/v1/findings", http.StatusServiceUnavailable, "the disk is nearly full"},
	} {
		response, err := http.Get(base + c.path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != c.status || !strings.Contains(string(text), c.holds) {
			t.Errorf("%s: %s, %v: %s", c.path, response.Status, err, text)
		}
	}
	free.Store(math.MaxInt64)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if text := get(t, a, "/metrics"); !strings.Contains(text, "isowatch_intake_paused 0\n") || !strings.Contains(text, "isowatch_findings_total") {
		t.Error("after the wait the metrics are not the service's")
	}
	get(t, a, "/-/ready")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}
