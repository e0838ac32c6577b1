package keep

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/store/file"
	"github.com/isowatch/isowatch/internal/testrun"
	isostore "github.com/isowatch/isowatch/store"
)

const space isostore.Space = 'x'

// TestKeeper: whatever the sizes, and while writes fail, a store that is made of a state that was written
// holds what the unit's store held at some instant before, and of the last one what it held in the end. The objects are those that it names.
func TestKeeper(t *testing.T) {
	for name, s := range map[string]sizes{
		"as released":      defaultSizes,
		"many objects":     {tail: 200, log: 1 << 20, base: 1 << 30, pieces: 1 << 20, write: 100},
		"many copies":      {tail: 200, log: 1 << 20, base: 2000, pieces: 10, write: 100},
		"the log is lost":  {tail: 200, log: 300, base: 5000, pieces: 10, write: 100},
		"only few pieces":  {tail: 100, log: 1 << 20, base: 1 << 30, pieces: 3, write: 50},
		"all in one write": {tail: 1 << 20, log: 1 << 20, base: 1 << 30, pieces: 3, write: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(testrun.Size(2, 5)) {
				keepRandomly(t, s, seed)
			}
		})
	}
}

func keepRandomly(t *testing.T, s sizes, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	objects, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	fails, state, through := false, []byte(nil), uint64(0)
	want := map[string]string{}
	held, writes := map[string]bool{fmt.Sprint(want): true}, 0 // by the unit's store so far
	for life := range 3 {                                      // each goes on with the state of the one before
		var k *Keeper
		o := Options{
			Objects: objects, Unit: "u.", Name: fmt.Sprintf("u.%d", life), State: state, Through: through, Written: func() {},
			Findings: func(e []isostore.Entry) (uint64, bool, bool) { return 0, false, string(e[0].Value) == "urgent" },
			Commit: func(data []byte, n uint64) bool {
				mu.Lock()
				defer mu.Unlock()
				if fails {
					return false
				}
				if writes++; writes%5 == 0 {
					if got, err := contentOf(objects, data); err != nil || !held[fmt.Sprint(got)] {
						t.Errorf("seed %d, life %d: a state holds %v (%v), which the unit's store never did", seed, life, got, err)
					}
				}
				state, through = data, n
				go k.Done()
				return true
			},
		}
		if k, err = New(o); err != nil {
			t.Fatal(err)
		}
		k.sizes = s
		st, err := isostore.Open(t.TempDir(), isostore.Options{MemTable: 1 << 20, Committed: k.Committed})
		if err != nil {
			t.Fatal(err)
		}
		if life > 0 {
			restoreQuietly(t, k, st, o.State)
		}
		k.Start(st)
		for range 200 {
			key, value := fmt.Sprint(rng.IntN(30)), fmt.Sprint(rng.Uint64())
			if rng.IntN(10) == 0 {
				value = "urgent"
			}
			e := isostore.Entry{Space: space, Key: []byte(key), Value: []byte(value), Delete: rng.IntN(5) == 0}
			if want[key] = value; e.Delete {
				delete(want, key)
			}
			mu.Lock()
			held[fmt.Sprint(want)] = true
			if rng.IntN(40) == 0 {
				fails = !fails
			}
			mu.Unlock()
			if err := st.Commit([]isostore.Entry{e}); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(150) == 0 { // as an owner that is about to end does
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(int(2*retryPause))))
				k.Refresh(ctx)
				cancel()
			}
		}
		mu.Lock()
		fails = false
		mu.Unlock()
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		compare(t, objects, state, want)
	}
}

// restoreQuietly fills the store before the keeper hears of commits.
func restoreQuietly(t *testing.T, k *Keeper, st *isostore.Store, state []byte) {
	t.Helper()
	if err := Restore(t.Context(), k.o.Objects, state, st); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log, k.broken, k.from = nil, false, k.record.end()
}

// contentOf is what a store that is made of the state holds.
func contentOf(objects *file.Store, state []byte) (map[string]string, error) {
	got := map[string]string{}
	err := Read(context.Background(), objects, state, func(e isostore.Entry) error {
		if got[string(e.Key)] = string(e.Value); e.Delete {
			delete(got, string(e.Key))
		}
		return nil
	})
	return got, err
}

func compare(t *testing.T, objects *file.Store, state []byte, want map[string]string) {
	t.Helper()
	got, err := contentOf(objects, state)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the state holds %v (%v), want %v", got, err, want)
	}
	r, err := readRecord(state)
	if err != nil {
		t.Fatal(err)
	}
	names, err := objects.ListObjects(t.Context(), "u.")
	if err != nil || len(names) != len(r.names()) {
		t.Errorf("%d objects (%v), and the state names %d", len(names), err, len(r.names()))
	}
}

// TestLaterForm: a state that a later version wrote is refused as such.
func TestLaterForm(t *testing.T) {
	if _, err := New(Options{State: []byte(`{"format":2,"writer":"v9"}` + "\n")}); !errors.Is(err, ErrFormat) {
		t.Errorf("%v, want %v", err, ErrFormat)
	}
	for _, damaged := range []string{"x\n", `{"format":1}`} {
		if _, err := New(Options{State: []byte(damaged)}); err == nil || errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// TestAbort: a keeper that cannot write ends at once.
func TestAbort(t *testing.T) {
	objects, err := file.Open(&url.URL{Scheme: "file", Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(Options{Objects: objects, Unit: "u.", Name: "u.1", Commit: func([]byte, uint64) bool { return false }, Written: func() {},
		Findings: func([]isostore.Entry) (uint64, bool, bool) { return 1, true, true }})
	if err != nil {
		t.Fatal(err)
	}
	st, err := isostore.Open(t.TempDir(), isostore.Options{MemTable: 1 << 20, Committed: k.Committed})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k.Start(st)
	if err := st.Commit([]isostore.Entry{{Space: space, Key: []byte("k")}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); k.Status().Failed == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a write that fails is not told")
		}
	}
	if held := k.Status().Held; held != 1 {
		t.Errorf("%d findings are held, want 1", held)
	}
	k.Abort()
	<-k.done
	if k.Written() != 0 {
		t.Error("a finding counts as written, and nothing was")
	}
}

// TestWantsCopy: what a successor does again is bounded, by less for a small state, and a copy does not come for each of a large one.
func TestWantsCopy(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		copied    int64 // bytes of the copy before
		log       uint64
		last      bool
		fresh     bool
		want, ask bool
	}{
		{copied: 0, log: 64 * mib, fresh: true},
		{copied: 0, log: 65 * mib, fresh: true, want: true, ask: true},
		{copied: 0, log: 65 * mib, ask: true}, // not before the snapshot
		{copied: 0, log: 129 * mib, want: true, ask: true},
		{copied: 0, log: 129 * mib, fresh: true, last: true},
		{copied: 100 * mib, log: 64 * mib, fresh: true},
		{copied: 100 * mib, log: 65 * mib, fresh: true, want: true, ask: true},
		{copied: 800 * mib, log: 399 * mib, fresh: true},
		{copied: 800 * mib, log: 401 * mib, fresh: true, want: true, ask: true},
	} {
		asked := false
		k, err := New(Options{Fresh: func() bool { asked = true; return c.fresh }})
		if err != nil {
			t.Fatal(err)
		}
		if c.copied > 0 {
			k.record.Base = &store.Manifest{Bytes: c.copied}
		}
		k.record.Pieces, k.record.Tail, k.from = []piece{{}}, c.log, c.log
		if got := k.wantsBase(c.last); got != c.want || asked != c.ask {
			t.Errorf("%+v: %v, and it has asked for a snapshot: %v", c, got, asked)
		}
	}
}
