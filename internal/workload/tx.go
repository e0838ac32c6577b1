package workload

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// ErrConflict is returned by [Tx.Commit] when another transaction changed what
// this one touched. Nothing of it took effect.
var ErrConflict = errors.New("workload: conflict with a concurrent transaction")

// Tx is a transaction of a [Store]. It belongs to one goroutine, and ends with
// Commit or Abort.
type Tx struct {
	store    *Store
	snapshot int64
	fault    fault
	struck   bool            // the fault made a difference
	touched  map[string]bool // keys read and written; true: written
	writes   []Op            // in program order
	commit   int64           // its own among all, once it is there
}

// fault is the bug that a transaction suffers.
type fault uint8

const (
	noFault fault = iota
	lostUpdate
	writeSkew
	staleRead
	dirtyRead
)

// Bug is the fault that made a difference to t, in words; "" for none.
func (t *Tx) Bug() string {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.struck {
		return ""
	}
	return [...]string{noFault: "", lostUpdate: "lost update", writeSkew: "write skew", staleRead: "stale read", dirtyRead: "dirty read"}[t.fault]
}

// Begin starts a transaction on the present snapshot. rng decides whether it
// suffers a bug; the read bugs befall only those begun as readOnly.
func (s *Store) Begin(readOnly bool, rng *rand.Rand) *Tx {
	t := &Tx{store: s, touched: map[string]bool{}}
	b, u := s.bugs, rng.Float64()
	switch {
	case readOnly && u < b.StaleRead:
		t.fault = staleRead
	case readOnly && u < b.StaleRead+b.DirtyRead:
		t.fault = dirtyRead
	case !readOnly && u < b.LostUpdate:
		t.fault = lostUpdate
	case !readOnly && u < b.LostUpdate+b.WriteSkew:
		t.fault = writeSkew
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.snapshot = s.seq
	if t.fault == staleRead {
		t.snapshot = max(0, s.seq-1-rng.Int64N(maxLag-1))
	}
	return t
}

// Read reads a register and returns the operation with its result.
func (t *Tx) Read(key string) Op {
	for i := len(t.writes) - 1; i >= 0; i-- {
		if t.writes[i].Key == key {
			return Read(key, t.writes[i].Value)
		}
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c := t.touch(key)
	if n := len(c.pending); t.fault == dirtyRead && n > 0 {
		s.stats.DirtyReads++
		t.struck = true
		return Read(key, c.pending[n-1].value)
	}
	if v := c.at(t.snapshot); v.seq > 0 {
		return Read(key, v.value)
	}
	return ReadAbsent(key)
}

// ReadList reads a list and returns the operation with its result.
func (t *Tx) ReadList(key string) Op {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	list := slices.Clone(t.touch(key).at(t.snapshot).list)
	for _, w := range t.writes {
		if w.Key == key {
			list = append(list, w.Value)
		}
	}
	return ReadList(key, list...)
}

// touch notes a read of key for validation. The store is locked.
func (t *Tx) touch(key string) *cell {
	c := t.store.cell(key)
	if !t.touched[key] {
		t.touched[key] = false
	}
	if t.fault == staleRead && c.latest().seq > t.snapshot {
		t.store.stats.StaleReads++
		t.struck = true
	}
	return c
}

// Write sets a register to v at commit.
func (t *Tx) Write(key string, v int64) Op {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	c := t.store.cell(key)
	c.pending = append(c.pending, pendingWrite{t, v})
	t.touched[key] = true
	o := Write(key, v)
	t.writes = append(t.writes, o)
	return o
}

// Append adds v to a list at commit, behind what is there then.
func (t *Tx) Append(key string, v int64) Op {
	t.touched[key] = true
	o := Append(key, v)
	t.writes = append(t.writes, o)
	return o
}

// Inc adds n to a counter at commit, and returns the version of the one that it replaces, 0 for
// nothing.
func (t *Tx) Inc(key string, n int64) (replaced int64) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	replaced = t.store.cell(key).at(t.snapshot).seq
	t.touched[key] = true
	t.writes = append(t.writes, Op{Kind: event.Inc, Key: key, Value: n})
	return replaced
}

// Count reads a counter. own says that t has added to it: its version is then [Tx.Version].
func (t *Tx) Count(key string) (value, version int64, own bool) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	v := t.touch(key).at(t.snapshot)
	for _, w := range t.writes {
		if w.Key == key {
			v.value, own = v.value+w.Value, true
		}
	}
	return v.value, v.seq, own
}

// Version is that of what t has written, once it has committed.
func (t *Tx) Version() int64 { return t.commit }

// Abort ends t without effect.
func (t *Tx) Abort() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.withdraw()
}

// withdraw takes t's uncommitted writes out of sight. The store is locked.
func (t *Tx) withdraw() {
	for _, w := range t.writes {
		c := t.store.cell(w.Key)
		c.pending = slices.DeleteFunc(c.pending, func(p pendingWrite) bool { return p.tx == t })
	}
}

// Commit makes t's writes visible at once, or returns ErrConflict.
func (t *Tx) Commit() error {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	t.withdraw()
	if len(t.writes) == 0 {
		s.stats.Commits++
		return nil
	}
	if !t.validate() {
		s.stats.Conflicts++
		return ErrConflict
	}
	s.stats.Commits++
	s.seq++
	t.commit = s.seq
	for _, w := range t.writes {
		c := s.cell(w.Key)
		v := cellVersion{seq: s.seq, value: w.Value}
		if w.Kind == event.Append {
			v.list = append(slices.Clone(c.latest().list), w.Value)
		}
		if w.Kind == event.Inc {
			v.value += t.before(c).value
		}
		c.install(v, s.seq-maxLag)
	}
	return nil
}

// before is the counter that t adds to: that of its snapshot, or its own. The store is locked.
func (t *Tx) before(c *cell) cellVersion {
	if now := c.latest(); now.seq == t.commit {
		return now
	}
	return c.at(t.snapshot)
}

// validate says whether nothing that t touched has changed since its snapshot,
// but for what its fault overlooks. The store is locked.
func (t *Tx) validate() bool {
	written, read := false, false // changed by others
	for key, wrote := range t.touched {
		if t.store.cell(key).latest().seq > t.snapshot {
			written, read = written || wrote, read || !wrote
		}
	}
	switch {
	case written && !read && t.fault == lostUpdate:
		t.store.stats.LostUpdates++
		t.struck = true
		return true
	case read && !written && t.fault == writeSkew:
		t.store.stats.WriteSkews++
		t.struck = true
		return true
	}
	return !written && !read
}
