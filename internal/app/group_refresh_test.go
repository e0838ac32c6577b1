package app

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/keep"
	"github.com/isowatch/isowatch/store"
)

// TestGroupRefreshes: a member that ends makes a new copy of a state with a long log, before it hands the unit over.
func TestGroupRefreshes(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	g.dir = t.TempDir()
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: g.heedQuietly()})
	eventually(t, "the unit is a's", func() bool { return len(g.running()) == 1 })
	u := g.running()[0]
	var keeper *keep.Keeper
	var mu sync.Mutex
	var state []byte
	keeper, err := keep.New(keep.Options{Objects: g.store, Unit: "u.", Name: "u.1", Written: func() {},
		Findings: func([]store.Entry) (uint64, bool, bool) { return 0, false, false },
		Commit: func(data []byte, _ uint64) bool {
			mu.Lock()
			defer mu.Unlock()
			state = data
			go keeper.Done()
			return true
		}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir(), store.Options{Committed: keeper.Committed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	keeper.Start(st)
	for i := range byte(50) {
		if err := st.Commit([]store.Entry{{Space: 1, Key: []byte{i}, Value: make([]byte, 512<<10)}}); err != nil {
			t.Fatal(err)
		}
	}
	base := func() string {
		mu.Lock()
		defer mu.Unlock()
		var r struct{ Base json.RawMessage }
		head, _, _ := bytes.Cut(state, []byte("\n"))
		_ = json.Unmarshal(head, &r) // there may be no state yet
		return string(r.Base)
	}
	eventually(t, "a state", func() bool { return keeper.Status().Bytes > 24<<20 })
	if base() != "" {
		t.Fatalf("the copy %s is there already", base())
	}
	u.mu.Lock()
	u.keeper, u.app = keeper, &App{}
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_ = g.Stop(ctx) // the unit does not run, so nobody hands it over
	if base() == "" {
		t.Error("the member has ended, and the state has no new copy")
	}
}
