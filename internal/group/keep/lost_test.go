package keep

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group/store/file"
	isostore "github.com/isowatch/isowatch/store"
)

// TestPlaceWhileStarting: a unit that starts does not tell where it reads. The place of its owner before stays.
func TestPlaceWhileStarting(t *testing.T) {
	var place json.RawMessage
	k, err := New(Options{State: []byte(`{"format":1,"place":"before"}` + "\n"), Place: func() json.RawMessage { return place }})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(k.place()); got != `"before"` {
		t.Errorf("while it starts the place is %s", got)
	}
	place = json.RawMessage(`"now"`)
	if got := string(k.place()); got != `"now"` {
		t.Errorf("once it runs the place is %s", got)
	}
}

// TestLostObjects: the store has lost the objects of a state. The keeper tells that until a new copy is there, which holds all, and what
// is found meanwhile waits for it.
func TestLostObjects(t *testing.T) {
	for _, idle := range []bool{true, false} {
		t.Run(fmt.Sprint("idle ", idle), func(t *testing.T) {
			t.Parallel()
			objects, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var k *Keeper
			var state []byte
			found, whole := uint64(0), true // each state that is written can be read
			o := Options{
				Objects: objects, Unit: "u.", Name: "u.1", Written: func() {},
				Findings: func([]isostore.Entry) (uint64, bool, bool) { return found, true, true },
				Commit: func(data []byte, _ uint64) bool {
					mu.Lock()
					defer mu.Unlock()
					state = data
					whole = whole && Read(t.Context(), objects, data, func(isostore.Entry) error { return nil }) == nil
					go k.Done()
					return true
				},
			}
			if k, err = New(o); err != nil {
				t.Fatal(err)
			}
			k.sizes = sizes{tail: 100, log: 1 << 20, base: 1 << 30, pieces: 1 << 20, write: 10}
			st, err := isostore.Open(t.TempDir(), isostore.Options{MemTable: 1 << 20, Committed: k.Committed})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			k.Start(st)
			want := map[string]string{}
			put := func() {
				found++
				key := fmt.Sprint("key ", found)
				want[key] = "value"
				if err := st.Commit([]isostore.Entry{{Space: space, Key: []byte(key), Value: []byte("value")}}); err != nil {
					t.Fatal(err)
				}
			}
			eventually := func(what string, ok func() bool) {
				t.Helper()
				for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("not " + what)
					}
				}
			}
			for range 20 {
				put()
			}
			eventually("written", func() bool { return k.Written() == found })
			names := k.Names()
			if len(names) == 0 {
				t.Fatal("the state has no objects")
			}
			for _, name := range names {
				if err := objects.DeleteObject(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			gone := errors.New("gone")
			k.Lost(gone)
			if !idle {
				put()
			}
			eventually("whole again", func() bool { return k.Status().Failed == nil && k.Written() == found })
			if err := k.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			compare(t, objects, state, want)
			if !whole {
				t.Error("a state was written that cannot be read")
			}
		})
	}
}
