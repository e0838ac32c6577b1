package app

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
)

// TestStartEndsDuringRecovery: a signal ends a start within 10 s, however much there is to recover. The store is
// closed by that.
func TestStartEndsDuringRecovery(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Retention.Deltas.Bytes = 1 << 40 // no snapshot
	a := start(t, s)
	for n := range 20 {
		send(t, a, plain("one", "T"+string(rune('a'+n)), n))
		waitFor(t, "a step", func() bool { return a.Status().Records == int64(n+1) })
	}
	killed := s
	killed.Data = t.TempDir()
	if err := os.CopyFS(filepath.Join(killed.Data, storeFolder), os.DirFS(a.path(storeFolder))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, err := New(Options{Config: killed, Hook: func(string, *event.Batch, []int32) {
		cancel()
		time.Sleep(time.Second) // 20 s for all
	}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := b.Start(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	b = start(t, killed)
	if n := b.Status().Sources[0].Counters.Committed; n != 20 {
		t.Errorf("%d transactions are recovered", n)
	}
}

// TestStartWithin: a server that recovers for long does not hold up the end of a start.
func TestStartWithin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	began := time.Now()
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := startWithin(ctx, func() (io.Closer, error) { <-release; return nil, nil })
	if took := time.Since(began); !errors.Is(err, context.Canceled) || took > 9*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	want := errors.New("no")
	if _, err := startWithin(t.Context(), func() (io.Closer, error) { return nil, want }); err != want {
		t.Error(err)
	}
}
