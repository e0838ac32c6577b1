package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

func TestDeleteRange(t *testing.T) {
	tests := []struct {
		from, to []byte
		left     []string
	}{
		{nil, nil, []string{}},
		{[]byte("b"), []byte("c"), []string{"a", "c"}},
		{[]byte("b"), nil, []string{"a"}},
		{nil, []byte("b"), []string{"b", "ba", "c"}},
		{nil, []byte{}, []string{"a", "b", "ba", "c"}},
	}
	for _, c := range tests {
		s := open(t, t.TempDir(), Options{})
		put(t, s, 'q', "before")
		put(t, s, records, "a", "b", "ba", "c")
		put(t, s, 's', "", "after")
		if err := s.DeleteRange(records, c.from, c.to); err != nil {
			t.Fatal(err)
		}
		if got := keysOf(t, s, records, nil, nil, false); !slices.Equal(got, c.left) {
			t.Errorf("DeleteRange(%q, %q) left %q, want %q", c.from, c.to, got, c.left)
		}
		if before, after := keysOf(t, s, 'q', nil, nil, false), keysOf(t, s, 's', nil, nil, false); len(before) != 1 || len(after) != 2 {
			t.Errorf("DeleteRange(%q, %q) left %q and %q of other spaces", c.from, c.to, before, after)
		}
		s.Close()
	}
}

// More keys than one batch holds, and a batch than one small transaction holds.
func TestDeleteRangeInBatches(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{MemTable: 1 << 20})
	const n = 2*removeBatch + 100
	var entries []Entry
	for i := range n {
		entries = append(entries, Entry{Space: records, Key: fmt.Appendf(nil, "%06d", i), Value: []byte("value")})
		if len(entries) == 1000 || i == n-1 {
			if err := s.Commit(entries); err != nil {
				t.Fatal(err)
			}
			entries = entries[:0]
		}
	}
	if err := s.DeleteRange(records, nil, fmt.Appendf(nil, "%06d", n-1)); err != nil {
		t.Fatal(err)
	}
	left := 0
	if err := s.Scan(records, nil, nil, func(_, _ []byte) error { left++; return nil }); err != nil {
		t.Fatal(err)
	}
	if left != 1 {
		t.Errorf("%d records are left, want 1", left)
	}
	if m := s.Metrics(); m.Tombstones != n-1 || m.DeadBytes < n*5 {
		t.Errorf("debt of %d tombstones and %d bytes after removing %d records", m.Tombstones, m.DeadBytes, n-1)
	}
	s.Close()
	s = open(t, dir, Options{})
	if m := s.Metrics(); m.Tombstones != n-1 {
		t.Errorf("debt of %d tombstones after a restart, want %d", m.Tombstones, n-1)
	}
}

// What came and went in key order takes no space after a flatten. Badger starts its compactors with the store: one that is
// sooner than the flatten takes tombstones down beside what they hide, and drops neither. So there are several attempts.
func TestFlattenReclaims(t *testing.T) {
	blob := make([]byte, 256<<10)
	for j := range blob {
		blob[j] = byte(j * 2654435761 >> 11)
	}
	for attempt := 1; ; attempt++ {
		tables, before := flattened(t, blob)
		if tables <= 1<<20 {
			return
		}
		if attempt == 5 {
			t.Fatalf("tables of %d bytes after removing everything (%d bytes on disk before)", tables, before)
		}
	}
}

// flattened are the bytes of a store that held 30 MiB, removed all and was flattened, and those on disk before.
func flattened(t *testing.T, blob []byte) (tables, before int64) {
	dir := t.TempDir()
	s := open(t, dir, Options{MemTable: 4 << 20})
	for i := range 120 {
		for j := range blob { // it must not compress
			blob[j] ^= byte(i * j * j >> 7)
		}
		if err := s.Commit([]Entry{{Space: records, Key: fmt.Appendf(nil, "%06d", i), Value: blob}}); err != nil {
			t.Fatal(err)
		}
	}
	before = s.Metrics().TreeBytes
	s.rest()
	if err := s.DeleteRange(records, nil, nil); err != nil {
		t.Fatal(err)
	}
	s.Close() // writes the tombstones out as a table, so that they meet what they hide
	s = open(t, dir, Options{MemTable: 4 << 20})
	debt := s.Metrics()
	if err := s.flatten(debt.Tombstones, debt.DeadBytes); err != nil {
		t.Fatal(err)
	}
	after := s.Metrics()
	if after.Tombstones != 0 || after.DeadBytes != 0 || after.Flattens != 1 {
		t.Errorf("after the flatten: %+v", after)
	}
	tables = tableBytes(s)
	s.Close()
	return tables, before
}

func tableBytes(s *Store) (n int64) {
	for _, level := range s.db.Levels() {
		n += level.Size
	}
	return n
}

func TestFlattenOnlyWhenDue(t *testing.T) {
	for _, c := range []struct {
		tombstones, bytes uint64
		want              uint64
	}{
		{0, 0, 0}, {flattenTombstones - 1, flattenBytes - 1, 0}, {flattenTombstones, 0, 1}, {0, flattenBytes, 1},
	} {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		s.cancel() // ends the upkeep, which would flatten as well
		s.wg.Wait()
		s.debt.tombstones, s.debt.bytes = c.tombstones, c.bytes
		if err := s.flattenIfDue(); err != nil {
			t.Fatal(err)
		}
		if got := s.Metrics().Flattens; got != c.want {
			t.Errorf("debt %d, %d: %d flattens, want %d", c.tombstones, c.bytes, got, c.want)
		}
		if err := s.set(ownKey(debtRecord), debtValue(c.tombstones, c.bytes)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, dir, Options{}) // as after a kill: the first look is at the start
		for deadline := time.Now().Add(10 * time.Second); s.Metrics().Flattens < c.want && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if got := s.Metrics().Flattens; got != c.want {
			t.Errorf("debt %d, %d at the start: %d flattens, want %d", c.tombstones, c.bytes, got, c.want)
		}
		s.Close()
	}
}

func TestValueLogCollection(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := s.collectValueLog(); err != nil { // nothing to collect is no failure
		t.Error(err)
	}
}

// A memory table lost in a power cut while a later one survived is a missing
// number in the ring.
func TestHole(t *testing.T) {
	for _, c := range []struct {
		commits int
		lost    uint64 // as Badger would show it: the slot's previous number, or nothing
		hole    bool
	}{
		{10, 0, false}, {10, 9, true}, {10, 1, true},
		{ringSize + 10, 0, false}, {ringSize + 10, ringSize + 9, true}, {ringSize + 10, 12, true},
	} {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		for i := range c.commits {
			if err := s.Commit([]Entry{{Space: records, Key: fmt.Append(nil, i)}}); err != nil {
				t.Fatal(err)
			}
		}
		err := s.db.Update(func(txn *badger.Txn) error {
			switch {
			case c.lost == 0:
				return nil
			case c.lost <= ringSize:
				return txn.Delete(sequenceKey(c.lost))
			}
			old := c.lost - ringSize
			return txn.Set(sequenceKey(old), []byte{0, 0, 0, 0, 0, 0, byte(old >> 8), byte(old)})
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir, Options{})
		if errors.Is(err, ErrHole) != c.hole || (err == nil) == c.hole {
			t.Errorf("%d commits, %d lost: Open = %v", c.commits, c.lost, err)
		}
		if err == nil {
			if again.commit.seq != uint64(c.commits) {
				t.Errorf("goes on behind %d, want %d", again.commit.seq, c.commits)
			}
			again.Close()
		}
	}
}

func TestNoCommitAfterAFailedSync(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a")
	broken := errors.New("input/output error")
	s.failed.Store(&broken)
	if err := s.Commit([]Entry{{Space: records, Key: []byte("b")}}); !errors.Is(err, broken) {
		t.Errorf("Commit = %v, want the failure of the sync", err)
	}
	if err := s.Sync(); !errors.Is(err, broken) {
		t.Errorf("Sync = %v, want the failure of the first one", err)
	}
	if got := keysOf(t, s, records, nil, nil, false); !slices.Equal(got, []string{"a"}) {
		t.Errorf("keys %q", got)
	}
}

// A cache is not synced, and tells a failure all the same.
func TestUnsynced(t *testing.T) {
	s := open(t, t.TempDir(), Options{Unsynced: true})
	put(t, s, records, "a")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if m := s.Metrics(); m.Syncs != 0 || m.Bytes != s.Committed() || m.Bytes == 0 {
		t.Errorf("%d syncs, and %d bytes or %d", m.Syncs, m.Bytes, s.Committed())
	}
	broken := errors.New("it is gone")
	s.failed.Store(&broken)
	if err := s.Sync(); !errors.Is(err, broken) {
		t.Errorf("Sync = %v, want the failure", err)
	}
}

func TestMetrics(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a", "b", "c")
	if err := s.Commit([]Entry{{Space: records, Key: []byte("a"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	m := s.Metrics()
	if m.Commits != 2 || m.Entries != 4 || m.Deletes != 1 || m.Syncs == 0 || m.LastCommit <= 0 || m.MaxCommit < m.LastCommit {
		t.Errorf("%+v", m)
	}
	// The log of a fresh memory table is 64 MiB long and nearly empty.
	if m.TreeBytes <= 0 || m.TreeBytes > 16<<20 || m.ValueLogBytes > 1<<20 {
		t.Errorf("on disk: tree %d, value log %d; lengths counted instead of blocks?", m.TreeBytes, m.ValueLogBytes)
	}
}

func TestDeletesOfCommitsAreOwed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a", "b", "c")
	if err := s.Commit([]Entry{{Space: records, Key: []byte("a"), Delete: true}, {Space: records, Key: []byte("b"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	if n := s.Metrics().Tombstones; n != 2 {
		t.Errorf("debt of %d tombstones, want 2", n)
	}
}
