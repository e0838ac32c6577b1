// Package storetest holds every store of a group to the same tests.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/store"
)

// snapshotSetting is the environment variable with the MiB of the snapshot that is written and read back. It has 100
// without.
const snapshotSetting = "ISOWATCH_SNAPSHOT"

// Conform runs the tests. open opens the same store each time, as another member does.
func Conform(t *testing.T, open func(*testing.T) store.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func(*testing.T) store.Store){
		"records": records, "one of many wins": race, "nothing is skipped": count, "lists": lists, "probe": probe, "objects": objects, "snapshot": snapshot, "members": members,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "objects" { // it lists all objects that there are, before the others begin
				t.Parallel() // each has names of its own, and waits for the store
			}
			test(t, open)
		})
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func records(t *testing.T, open func(*testing.T) store.Store) {
	s, other, ctx := open(t), open(t), t.Context()
	const key = "records/a=2Eb"
	_, err := s.Get(ctx, key)
	wantErr(t, "get of nothing", err, group.ErrNotFound)
	_, err = s.Update(ctx, key, []byte("x"), "1")
	wantErr(t, "update of nothing", err, group.ErrConflict)
	_, err = s.Update(ctx, key, []byte("x"), "")
	wantErr(t, "update of no version", err, group.ErrConflict)
	one, err := s.Create(ctx, key, []byte("one"))
	must(t, err)
	_, err = other.Create(ctx, key, []byte("two"))
	wantErr(t, "second create", err, group.ErrConflict)
	got, err := other.Get(ctx, key)
	must(t, err)
	if got.Key != key || string(got.Data) != "one" || got.Version != one {
		t.Fatalf("got %+v", got)
	}
	two, err := other.Update(ctx, key, []byte("two"), one)
	must(t, err)
	if two == one {
		t.Fatal("a new value has the old version")
	}
	_, err = s.Update(ctx, key, []byte("three"), one)
	wantErr(t, "update of an old version", err, group.ErrConflict)
	if got, err = s.Get(ctx, key); err != nil || string(got.Data) != "two" || got.Version != two {
		t.Fatalf("got %+v, %v", got, err)
	}
	wantErr(t, "delete of an old version", s.Delete(ctx, key, one), group.ErrConflict)
	must(t, s.Delete(ctx, key, two))
	_, err = other.Get(ctx, key)
	wantErr(t, "get after delete", err, group.ErrNotFound)
	_, err = other.Update(ctx, key, []byte("four"), two)
	wantErr(t, "update after delete", err, group.ErrConflict)
	again, err := other.Create(ctx, key, []byte("again"))
	must(t, err)
	_, err = s.Update(ctx, key, []byte("five"), two)
	wantErr(t, "update of a version before the delete", err, group.ErrConflict)
	must(t, s.Delete(ctx, key, again))
}

// race: of many that create or update at once, one wins.
func race(t *testing.T, open func(*testing.T) store.Store) {
	stores := []store.Store{open(t), open(t), open(t), open(t)}
	const key = "race/x"
	var version group.Version
	for round := range 20 {
		var won atomic.Int32
		var winner atomic.Value
		var running sync.WaitGroup
		for i, s := range stores {
			running.Go(func() {
				data := fmt.Appendf(nil, "%d of round %d", i, round)
				v, err := group.Version(""), error(nil)
				if round == 0 {
					v, err = s.Create(t.Context(), key, data)
				} else {
					v, err = s.Update(t.Context(), key, data, version)
				}
				if err == nil {
					won.Add(1)
					winner.Store(v)
				} else if !errors.Is(err, group.ErrConflict) {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		running.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d won", round, won.Load())
		}
		version = winner.Load().(group.Version)
	}
}

// count: several add to one number by compare-and-set, while others list. In the end it is their sum. An
// addition whose outcome was left open may count or not.
func count(t *testing.T, open func(*testing.T) store.Store) {
	const key, each = "count/x", 25
	ctx := t.Context()
	first := open(t)
	_, err := first.Create(ctx, key, []byte("0"))
	must(t, err)
	var adding sync.WaitGroup
	var unsure atomic.Int32
	for range 4 {
		s := open(t)
		adding.Go(func() {
			for added := 0; added < each && ctx.Err() == nil; {
				v, err := s.Get(ctx, key)
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				fmt.Sscan(string(v.Data), &n) // a number that this test wrote
				switch _, err = s.Update(ctx, key, fmt.Append(nil, n+1), v.Version); {
				case err == nil:
					added++
				case !errors.Is(err, group.ErrConflict):
					unsure.Add(1)
					added++
				}
			}
		})
		adding.Go(func() {
			for range each {
				if _, err := s.List(ctx, "count/"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adding.Wait()
	v, err := first.Get(ctx, key)
	must(t, err)
	n := 0
	fmt.Sscan(string(v.Data), &n) // a number that this test wrote
	if n > 4*each || n < 4*each-int(unsure.Load()) {
		t.Errorf("%s, want %d, of which %d may be missing", v.Data, 4*each, unsure.Load())
	}
}

func lists(t *testing.T, open func(*testing.T) store.Store) {
	s, other, ctx := open(t), open(t), t.Context()
	none, err := s.List(ctx, "lists/")
	if err != nil || len(none) != 0 {
		t.Fatalf("%v, %v", none, err)
	}
	versions := map[string]group.Version{}
	var keys []string
	for i := range 300 {
		key := fmt.Sprintf("lists/k%03d-%x", i, rand.Uint32())
		keys = append(keys, key)
		versions[key], err = s.Create(ctx, key, []byte(key))
		must(t, err)
	}
	_, err = s.Create(ctx, "listsbeside/x", []byte("x"))
	must(t, err)
	for i, key := range keys {
		switch i % 3 {
		case 0:
			versions[key], err = s.Update(ctx, key, []byte("new "+key), versions[key])
			must(t, err)
		case 1:
			must(t, s.Delete(ctx, key, versions[key]))
			delete(versions, key)
		}
	}
	for range 2 { // the second time from what was remembered
		for _, s := range []store.Store{s, other} {
			all, err := s.List(ctx, "lists/")
			must(t, err)
			if len(all) != len(versions) || !slices.IsSortedFunc(all, func(a, b group.Value) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) }) {
				t.Fatalf("%d records in a list, want %d in order", len(all), len(versions))
			}
			for _, v := range all {
				if v.Version != versions[v.Key] || !bytes.HasSuffix(v.Data, []byte(v.Key)) {
					t.Fatalf("listed %+v, and its version is %s", v, versions[v.Key])
				}
			}
		}
	}
}

// careless is a store that takes stale writes.
type careless struct{ store.Store }

func (s careless) Update(ctx context.Context, key string, data []byte, _ group.Version) (group.Version, error) {
	v, err := s.Get(ctx, key)
	if err != nil {
		return "", err
	}
	return s.Store.Update(ctx, key, data, v.Version)
}

// overwriting is a store that creates what is there.
type overwriting struct{ store.Store }

func (s overwriting) Create(ctx context.Context, key string, data []byte) (group.Version, error) {
	v, err := s.Store.Create(ctx, key, data)
	if errors.Is(err, group.ErrConflict) {
		return careless(s).Update(ctx, key, data, "")
	}
	return v, err
}

// behind is a store whose first reads are answered by a server that has the key not yet, and then an old record of it.
type behind struct {
	store.Store
	reads *int
}

func (s behind) Get(ctx context.Context, key string) (group.Value, error) {
	v, err := s.Store.Get(ctx, key)
	switch *s.reads++; *s.reads {
	case 1:
		return group.Value{}, group.ErrNotFound
	case 2, 3:
		v.Data, v.Version = []byte("1"), "old"
	}
	return v, err
}

func probe(t *testing.T, open func(*testing.T) store.Store) {
	s, ctx := open(t), t.Context()
	must(t, store.Probe(ctx, s, "good"))
	must(t, store.Probe(ctx, s, "good")) // it leaves nothing behind
	must(t, store.Probe(ctx, behind{s, new(int)}, "behind"))
	wantErr(t, "a store that takes stale writes", store.Probe(ctx, careless{s}, "careless"), store.ErrUnfit)
	wantErr(t, "a store that creates twice", store.Probe(ctx, overwriting{s}, "overwriting"), store.ErrUnfit)
}

func objects(t *testing.T, open func(*testing.T) store.Store) {
	s, ctx := open(t), t.Context()
	_, err := s.GetObject(ctx, "nothing")
	wantErr(t, "get of no object", err, group.ErrNotFound)
	must(t, s.DeleteObject(ctx, "nothing"))
	for _, name := range []string{"a-1", "a-2", "b-1"} {
		must(t, s.PutObject(ctx, name, []byte(name)))
	}
	names, err := s.ListObjects(ctx, "a-")
	if err != nil || !slices.Equal(names, []string{"a-1", "a-2"}) {
		t.Fatalf("%q, %v", names, err)
	}
	must(t, s.DeleteObject(ctx, "a-1"))
	names, err = s.ListObjects(ctx, "")
	if err != nil || !slices.Equal(names, []string{"a-2", "b-1"}) {
		t.Fatalf("%q, %v", names, err)
	}
	data, err := open(t).GetObject(ctx, "b-1")
	if err != nil || string(data) != "b-1" {
		t.Fatalf("%q, %v", data, err)
	}
}

func snapshot(t *testing.T, open func(*testing.T) store.Store) {
	s, ctx := open(t), t.Context()
	size := int64(100)
	if text := os.Getenv(snapshotSetting); text != "" {
		var err error
		size, err = strconv.ParseInt(text, 10, 32)
		must(t, err)
	}
	bytesOf := size << 20
	written, read := sha256.New(), sha256.New()
	began := time.Now()
	m, err := store.Save(ctx, s, "unit-7-1", io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{27}), bytesOf), written))
	must(t, err)
	took := time.Since(began)
	if want := (bytesOf + store.ObjectSize - 1) / store.ObjectSize; int64(len(m.Objects)) != want || m.Bytes != bytesOf {
		t.Fatalf("%d objects of %d bytes, want %d", len(m.Objects), m.Bytes, want)
	}
	began = time.Now()
	must(t, store.Load(ctx, open(t), m, read))
	if !bytes.Equal(read.Sum(nil), written.Sum(nil)) {
		t.Fatal("it is another one")
	}
	t.Logf("%d MiB: written in %v, read in %v", size, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))

	text := []byte("a small one")
	var back bytes.Buffer
	small, err := store.Save(ctx, s, "unit-7-2", bytes.NewReader(text[:10]))
	must(t, err)
	must(t, s.DeleteObject(ctx, small.Objects[0].Name))
	must(t, s.PutObject(ctx, small.Objects[0].Name, text[1:11]))
	wantErr(t, "another object", store.Load(ctx, s, small, &back), store.ErrDamaged)
	must(t, store.Drop(ctx, s, "unit-7-2"))
	wantErr(t, "a missing object", store.Load(ctx, s, small, &back), group.ErrNotFound)
	must(t, store.Drop(ctx, s, "unit-7-1"))
	names, err := s.ListObjects(ctx, "unit-7")
	if err != nil || len(names) != 0 {
		t.Fatalf("%q are left, %v", names, err)
	}
	empty, err := store.Save(ctx, s, "unit-7-3", bytes.NewReader(nil))
	back.Reset()
	if err != nil || store.Load(ctx, s, empty, &back) != nil || back.Len() != 0 || len(empty.Objects) != 0 {
		t.Fatalf("%+v, %v", empty, err)
	}
}
