package workload

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// one is a store of which every transaction suffers what bugs name.
func one(bugs Bugs) (*Store, *rand.Rand) {
	return NewStore(bugs), rand.New(rand.NewPCG(1, 1))
}

// put commits a register write by itself.
func put(t *testing.T, s *Store, rng *rand.Rand, key string, v int64) {
	t.Helper()
	tx := s.Begin(false, rng)
	tx.Write(key, v)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreReadsItsSnapshot(t *testing.T) {
	s, rng := one(Bugs{})
	put(t, s, rng, "x", 1)
	old := s.Begin(true, rng)
	put(t, s, rng, "x", 2)
	if o := old.Read("x"); o.Value != 1 {
		t.Errorf("a snapshot taken before the second write reads %s", o.Text())
	}
	if o := s.Begin(true, rng).Read("x"); o.Value != 2 {
		t.Errorf("a later one reads %s", o.Text())
	}
	if o := s.Begin(true, rng).Read("y"); !o.Absent {
		t.Errorf("a key never written reads %s", o.Text())
	}
}

func TestStoreReadsItsOwnWrites(t *testing.T) {
	s, rng := one(Bugs{})
	tx := s.Begin(false, rng)
	tx.Write("x", 1)
	tx.Write("x", 2)
	tx.Append("l", 3)
	if o := tx.Read("x"); o.Value != 2 {
		t.Errorf("after writing 2: %s", o.Text())
	}
	if o := tx.ReadList("l"); len(o.List) != 1 || o.List[0] != 3 {
		t.Errorf("after appending 3: %s", o.Text())
	}
	if o := s.Begin(true, rng).Read("x"); !o.Absent {
		t.Errorf("another transaction sees the uncommitted %s", o.Text())
	}
}

// TestStoreConflicts runs two transactions side by side; the second to commit
// must fail but for the bug that overlooks the kind of conflict.
func TestStoreConflicts(t *testing.T) {
	update := func(tx *Tx, key string) { tx.Read(key); tx.Write(key, 9) }
	for _, c := range []struct {
		name       string
		first, own func(*Tx)
		bugs       Bugs
		want       error
		stats      Stats
	}{
		{"lost update prevented", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { update(tx, "x") }, Bugs{},
			ErrConflict, Stats{Commits: 1, Conflicts: 1}},
		{"lost update", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { update(tx, "x") }, Bugs{LostUpdate: 1},
			nil, Stats{Commits: 2, LostUpdates: 1}},
		{"lost update not overlooked by the other bug", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { update(tx, "x") }, Bugs{WriteSkew: 1},
			ErrConflict, Stats{Commits: 1, Conflicts: 1}},
		{"write skew prevented", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Read("x"); update(tx, "y") }, Bugs{},
			ErrConflict, Stats{Commits: 1, Conflicts: 1}},
		{"write skew", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Read("x"); update(tx, "y") }, Bugs{WriteSkew: 1},
			nil, Stats{Commits: 2, WriteSkews: 1}},
		{"write skew not overlooked by the other bug", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Read("x"); update(tx, "y") }, Bugs{LostUpdate: 1},
			ErrConflict, Stats{Commits: 1, Conflicts: 1}},
		{"lists conflict too", func(tx *Tx) { tx.Append("l", 1) }, func(tx *Tx) { tx.ReadList("l"); tx.Append("m", 2) }, Bugs{},
			ErrConflict, Stats{Commits: 1, Conflicts: 1}},
		{"readers never conflict", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Read("x"); tx.Read("y") }, Bugs{},
			nil, Stats{Commits: 2}},
		{"no conflict on other keys", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { update(tx, "y") }, Bugs{},
			nil, Stats{Commits: 2}},
	} {
		s, rng := one(c.bugs)
		a, b := s.Begin(false, rng), s.Begin(false, rng)
		c.first(a)
		c.own(b)
		if err := a.Commit(); err != nil {
			t.Errorf("%s: the first commit fails: %v", c.name, err)
		}
		if err := b.Commit(); !errors.Is(err, c.want) {
			t.Errorf("%s: the second commit gives %v, want %v", c.name, err, c.want)
		}
		if got := s.Stats(); got != c.stats {
			t.Errorf("%s: stats %+v, want %+v", c.name, got, c.stats)
		}
	}
}

func TestStoreDirtyRead(t *testing.T) {
	s, rng := one(Bugs{DirtyRead: 1})
	put(t, s, rng, "x", 1)
	writer := s.Begin(false, rng)
	writer.Write("x", 2)
	reader := s.Begin(true, rng)
	if o := reader.Read("x"); o.Value != 2 {
		t.Errorf("a dirty reader reads %s, want the uncommitted 2", o.Text())
	}
	writer.Abort()
	if o := s.Begin(true, rng).Read("x"); o.Value != 1 {
		t.Errorf("after the abort: %s, want 1", o.Text())
	}
	if got := s.Stats().DirtyReads; got != 1 {
		t.Errorf("%d dirty reads counted, want 1", got)
	}
}

func TestStoreStaleRead(t *testing.T) {
	s, rng := one(Bugs{StaleRead: 1})
	stale := 0
	for v := int64(1); v <= 2*maxLag; v++ {
		put(t, s, rng, "x", v)
		if o := s.Begin(true, rng).Read("x"); o.Value < v {
			stale++
			if v-o.Value > maxLag {
				t.Fatalf("read %d commits back, the most is %d", v-o.Value, maxLag)
			}
		}
	}
	if got := s.Stats().StaleReads; stale < maxLag || got != int64(stale) {
		t.Errorf("%d stale reads seen and %d counted, want the same and at least %d", stale, got, maxLag)
	}
	if n := len(s.cells["x"].versions); n > maxLag+1 {
		t.Errorf("%d versions are kept, the most that a snapshot can need is %d", n, maxLag+1)
	}
}

// TestStoreApparentBugs: a fault strikes only where the answers show it.
func TestStoreApparentBugs(t *testing.T) {
	update := func(tx *Tx, key string) { tx.Read(key); tx.Write(key, 9) }
	for _, c := range []struct {
		name       string
		first, own func(*Tx)
		bugs       Bugs
		want       Bug
	}{
		{"two updates", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { update(tx, "x") }, Bugs{LostUpdate: 1}, Bug{"lost update", "x", "a"}},
		{"a blind write over another", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Write("x", 9) }, Bugs{LostUpdate: 1}, Bug{}},
		{"an update of what was written blindly", func(tx *Tx) { tx.Write("x", 1) }, func(tx *Tx) { update(tx, "x") }, Bugs{LostUpdate: 1}, Bug{}},
		{"two appends", func(tx *Tx) { tx.ReadList("l"); tx.Append("l", 1) }, func(tx *Tx) { tx.ReadList("l"); tx.Append("l", 2) }, Bugs{LostUpdate: 1}, Bug{}},
		{"each changes what the other one read", func(tx *Tx) { tx.Read("y"); update(tx, "x") }, func(tx *Tx) { tx.Read("x"); update(tx, "y") }, Bugs{WriteSkew: 1}, Bug{"write skew", "x", "a"}},
		{"only one changes what the other one read", func(tx *Tx) { update(tx, "x") }, func(tx *Tx) { tx.Read("x"); update(tx, "y") }, Bugs{WriteSkew: 1}, Bug{}},
	} {
		c.bugs.Apparent = true
		s, rng := one(c.bugs)
		a, b := s.Begin(false, rng), s.Begin(false, rng)
		a.ID, b.ID = "a", "b"
		c.first(a)
		c.own(b)
		if err := a.Commit(); err != nil {
			t.Errorf("%s: the first commit fails: %v", c.name, err)
		}
		if err := b.Commit(); (err == nil) != (c.want != Bug{}) || b.Bug() != c.want {
			t.Errorf("%s: %v and %+v, want %+v", c.name, err, b.Bug(), c.want)
		}
	}
}

// TestStoreRollsBackWhatWasReadDirty: once, and a second reader does not see it any more.
func TestStoreRollsBackWhatWasReadDirty(t *testing.T) {
	s, rng := one(Bugs{DirtyRead: 1, Apparent: true})
	put(t, s, rng, "x", 1)
	writer, reader, late := s.Begin(false, rng), s.Begin(true, rng), s.Begin(true, rng)
	writer.ID = "writer"
	writer.Write("x", 2)
	if o := reader.Read("x"); o.Value != 2 || reader.Bug() != (Bug{"dirty read", "x", "writer"}) {
		t.Errorf("a dirty reader reads %s: %+v", o.Text(), reader.Bug())
	}
	if o := late.Read("x"); o.Value != 1 || late.Bug() != (Bug{}) {
		t.Errorf("a second one reads %s: %+v", o.Text(), late.Bug())
	}
	if err := writer.Commit(); !errors.Is(err, ErrConflict) {
		t.Errorf("what was read dirty is committed: %v", err)
	}
}

func TestStoreSuffers(t *testing.T) {
	s, rng := one(Bugs{})
	put(t, s, rng, "x", 1)
	s.Suffer(Bugs{DirtyRead: 1})
	writer := s.Begin(false, rng)
	writer.Write("x", 2)
	if o := s.Begin(true, rng).Read("x"); o.Value != 2 {
		t.Errorf("with the bug: %s", o.Text())
	}
}
