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
	"github.com/isowatch/isowatch/store"
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
	killed.Data = copyOfRunning(t, a)
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

// copyOfRunning is a folder with a copy of the service's store, as a kill leaves it. A copy with the files of
// two commits is made again: a kill leaves no such store.
func copyOfRunning(t *testing.T, a *App) (data string) {
	t.Helper()
	for tries := 0; ; tries++ {
		data = t.TempDir()
		at := filepath.Join(data, storeFolder)
		if err := os.CopyFS(at, os.DirFS(a.path(storeFolder))); err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(at, store.Options{})
		if err == nil {
			if err = st.Close(); err == nil {
				return data
			}
		}
		if tries == 20 {
			t.Fatal(err)
		}
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
