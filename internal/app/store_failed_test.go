package app

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/store"
)

// TestStoreFails: the folder is removed under the service. While it lingers it is not ready, and the
// metric of the alert is there. A stop ends that at once.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	a, err := New(Options{Config: s, Linger: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(get(t, a, "/metrics"), "isowatch_store_failed 0\n") || code(t, a, "/-/ready") != http.StatusOK {
		t.Error("it has failed before")
	}
	if err := os.RemoveAll(a.path(storeFolder)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the failure", func() bool { return a.Err() != nil })
	if !strings.Contains(get(t, a, "/metrics"), "isowatch_store_failed 1\n") || code(t, a, "/-/ready") != http.StatusServiceUnavailable {
		t.Error("neither metric nor readiness tell of it")
	}
	select {
	case <-a.Done():
		t.Error("it ended at once")
	default:
	}
	began := time.Now()
	if err := a.Stop(t.Context()); !errors.Is(err, ErrStore) || !errors.Is(err, store.ErrGone) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	<-a.Done()
}
