package keep

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/isowatch/isowatch/internal/group/store/file"
	isostore "github.com/isowatch/isowatch/store"
)

// TestRefresh: before an owner leaves, a new copy takes the place of a long log, behind a new snapshot of the unit. A short log stays. An
// owner that may not write goes on leaving.
func TestRefresh(t *testing.T) {
	objects, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var k *Keeper
	var may atomic.Bool
	var state atomic.Pointer[[]byte]
	asked := 0
	k, err = New(Options{Objects: objects, Unit: "u.", Name: "u.1", Written: func() {},
		Findings: func([]isostore.Entry) (uint64, bool, bool) { return 0, false, true },
		Fresh:    func() bool { asked++; return asked%3 == 0 },
		Commit: func(data []byte, _ uint64) bool {
			if may.Load() {
				state.Store(&data)
				go k.Done()
			}
			return may.Load()
		}})
	if err != nil {
		t.Fatal(err)
	}
	k.sizes.refresh = 1000
	st, err := isostore.Open(t.TempDir(), isostore.Options{MemTable: 1 << 20, Committed: k.Committed})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k.Start(st)
	want := map[string]string{}
	commit := func(n int) {
		t.Helper()
		for range n {
			key := fmt.Sprint(len(want))
			if err := st.Commit([]isostore.Entry{{Space: space, Key: []byte(key), Value: []byte("value")}}); err != nil {
				t.Fatal(err)
			}
			want[key] = "value"
		}
	}
	commit(200)
	short, cancel := context.WithTimeout(t.Context(), 5*retryPause) // a copy comes meanwhile, and the record that names it does not
	defer cancel()
	if k.Refresh(short) {
		t.Error("there is a new copy, and nothing can be written")
	}
	may.Store(true)
	if asked = 0; !k.Refresh(t.Context()) || asked == 0 {
		t.Errorf("there is no new copy, or it is behind an old snapshot: asked %d times", asked)
	}
	if r, err := readRecord(*state.Load()); err != nil || r.Base == nil || len(r.Pieces) > 0 || len(r.tail) > 0 {
		t.Errorf("the state has %d pieces and %d bytes of log: %v", len(r.Pieces), len(r.tail), err)
	}
	commit(100)
	if !k.Refresh(t.Context()) {
		t.Error("there is no second copy")
	}
	commit(5)
	if asked = 0; k.Refresh(t.Context()) || asked > 0 {
		t.Error("a short log makes a new copy")
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare(t, objects, *state.Load(), want)
	if k.Refresh(t.Context()) {
		t.Error("a keeper that has ended makes a copy")
	}
}

// fullObjects takes no object any more.
type fullObjects struct{ *file.Store }

func (fullObjects) PutObject(context.Context, string, []byte) error { return errors.New("it is full") }

// TestRefreshFails: an owner whose copy cannot be written does not wait for another one.
func TestRefreshFails(t *testing.T) {
	objects, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var k *Keeper
	k, err = New(Options{Objects: fullObjects{objects}, Unit: "u.", Name: "u.1", Written: func() {},
		Findings: func([]isostore.Entry) (uint64, bool, bool) { return 0, false, false },
		Commit:   func([]byte, uint64) bool { go k.Done(); return true }})
	if err != nil {
		t.Fatal(err)
	}
	st, err := isostore.Open(t.TempDir(), isostore.Options{MemTable: 1 << 20, Committed: k.Committed})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k.sizes.refresh = 1
	k.Start(st)
	if err := st.Commit([]isostore.Entry{{Space: space, Key: []byte("k")}}); err != nil {
		t.Fatal(err)
	}
	if k.Refresh(t.Context()) || k.Status().Failed == nil {
		t.Errorf("there is a new copy, or its fault is not told: %v", k.Status().Failed)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
