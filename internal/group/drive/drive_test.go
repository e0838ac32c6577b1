package drive

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/store/file"
)

// slow is a store whose changes take longer than its lists.
type slow struct{ store.Store }

func (s slow) Update(ctx context.Context, key string, data []byte, version group.Version) (group.Version, error) {
	time.Sleep(80 * time.Millisecond)
	return s.Store.Update(ctx, key, data, version)
}

// TestLeave: a member leaves a store that answers lists before renewals, and the next one has its unit in the next term.
func TestLeave(t *testing.T) {
	s, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	named := store.Named(slow{s}, "g")
	for term := uint64(1); term <= 2; term++ {
		events := make(chan group.Event, 100)
		m := Start(Options{ID: "m", Lease: time.Second, Units: []string{"u"}, Store: named, Heed: func(e group.Event) { events <- e }})
		defer m.Stop()
		await(t, events, group.Gained, term)
		if !m.Commit("u", term, []byte("state"), 7) || m.Commit("u", term+1, nil, 8) {
			t.Fatal("a commit under the term was refused, or one under another term was not")
		}
		await(t, events, group.Committed, term)
		if m.May("u", term, 7) == 0 || m.May("u", term, 8) != 0 || m.May("u", term-1, 7) != 0 {
			t.Error("only what is in the state may leave, under the present term")
		}
		m.Leave()
		await(t, events, group.Yield, term)
		m.Yielded("u", term)
		for deadline := time.Now().Add(30 * time.Second); !m.HasLeft(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the member cannot leave")
			}
		}
	}
	if all, err := s.List(t.Context(), "g_unit/"); err != nil || len(all) != 1 {
		t.Errorf("units in the store: %v, %v", all, err)
	}
}

func await(t *testing.T, events chan group.Event, kind group.EventKind, term uint64) {
	t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		select {
		case e := <-events:
			if e.Kind == kind && e.Term == term {
				return
			}
		case <-deadline:
			t.Fatalf("no event %d of term %d", kind, term)
		}
	}
}
