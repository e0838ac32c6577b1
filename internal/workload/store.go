package workload

import (
	"slices"
	"sync"
)

// Bugs are the isolation faults of a [Store]: for each, the chance that a
// transaction suffers it. The zero Bugs make the store strictly serializable.
type Bugs struct {
	LostUpdate float64 // commits although a key that it writes changed since its snapshot
	WriteSkew  float64 // commits although a key that it only read changed since its snapshot
	StaleRead  float64 // read-only, on a snapshot up to maxLag commits old
	DirtyRead  float64 // sees registers that others have written and not committed

	// Apparent keeps to bugs that the clients' answers show, if all are answered. Only updates
	// that were read are lost. Only two transactions that each changed what the other one had
	// read are skewed. A value that is read before its commit is never committed. Stale
	// snapshots are so old that the client has most likely met newer ones.
	Apparent bool
}

// Stats count what a store did. A bug is counted when it made a difference: a
// commit that should have failed, or a read that returned another version.
type Stats struct {
	Commits, Conflicts                              int64
	LostUpdates, WriteSkews, StaleReads, DirtyReads int64
}

// maxLag is how many commits a stale snapshot lies back at most; versions that
// no such snapshot can see are dropped.
const maxLag = 256

// Store is an in-memory multi-version store of registers, lists and counters. A transaction
// reads the snapshot of its begin and validates all that it touched when it commits. So without
// Bugs it happens at the instant of its commit (read-only: of its begin). Safe for concurrent
// use.
type Store struct {
	bugs Bugs

	mu    sync.Mutex
	seq   int64 // commits so far
	cells map[string]*cell
	stats Stats
	value int64 // last unique value given out
}

// cell is one key.
type cell struct {
	versions []cellVersion // oldest first
	pending  []pendingWrite
}

type cellVersion struct {
	seq   int64 // the commit that installed it
	by    *Tx   // that committed it
	value int64
	list  []int64
}

// pendingWrite is a register write that its transaction has not committed.
type pendingWrite struct {
	tx    *Tx
	value int64
}

// NewStore returns an empty store with the given bugs.
func NewStore(bugs Bugs) *Store {
	return &Store{bugs: bugs, cells: map[string]*cell{}}
}

// Suffer changes the bugs, of transactions that begin from now on.
func (s *Store) Suffer(bugs Bugs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bugs = bugs
}

// Stats counts the work of the store so far.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// NextValue is a value that the store has not given out before.
func (s *Store) NextValue() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value++
	return s.value
}

// Forget takes a key out that no transaction uses any more: it holds nothing then.
func (s *Store) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, key)
}

func (s *Store) cell(key string) *cell {
	c := s.cells[key]
	if c == nil {
		c = &cell{}
		s.cells[key] = c
	}
	return c
}

// at is the version that a snapshot sees; the zero version is the initial one.
func (c *cell) at(snapshot int64) cellVersion {
	for i := len(c.versions) - 1; i >= 0; i-- {
		if c.versions[i].seq <= snapshot {
			return c.versions[i]
		}
	}
	return cellVersion{}
}

// since are the versions that a snapshot does not see yet.
func (c *cell) since(snapshot int64) []cellVersion {
	i := len(c.versions)
	for i > 0 && c.versions[i-1].seq > snapshot {
		i--
	}
	return c.versions[i:]
}

// latest is the newest version.
func (c *cell) latest() cellVersion {
	if len(c.versions) == 0 {
		return cellVersion{}
	}
	return c.versions[len(c.versions)-1]
}

// install adds a version and drops those that no snapshot reaches any more: all
// before the newest one that is older than every permitted snapshot.
func (c *cell) install(v cellVersion, oldest int64) {
	c.versions = append(c.versions, v)
	drop := 0
	for drop+1 < len(c.versions) && c.versions[drop+1].seq <= oldest {
		drop++
	}
	c.versions = slices.Delete(c.versions, 0, drop)
}
