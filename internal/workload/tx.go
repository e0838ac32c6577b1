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
	ID string // what others call it in a [Bug]

	store    *Store
	snapshot int64
	fault    fault
	bug      Bug // what the fault made a difference to
	doomed   bool
	touched  map[string]use
	writes   []Op  // in program order
	commit   int64 // its own among all, once it is there
}

// use is the work of a transaction on a key.
type use uint8

const (
	reads use = 1 << iota
	writes
)

// Bug is how a fault of the store made a difference to a transaction. The zero Bug is none.
type Bug struct {
	Name  string // "lost update", "write skew", "stale read" or "dirty read"
	Key   string // the first that was read or written wrongly
	Other string // the transaction whose write of Key was overlooked, or seen before its commit
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

// Bug is the fault that made a difference to t.
func (t *Tx) Bug() Bug {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.bug
}

// strike takes note that t's fault made a difference. The store is locked.
func (t *Tx) strike(key string, other *Tx) {
	if t.bug.Name != "" {
		return
	}
	names := [...]string{lostUpdate: "lost update", writeSkew: "write skew", staleRead: "stale read", dirtyRead: "dirty read"}
	t.bug = Bug{Name: names[t.fault], Key: key, Other: other.ID}
}

// Begin starts a transaction on the present snapshot. rng decides whether it
// suffers a bug; the read bugs befall only those begun as readOnly.
func (s *Store) Begin(readOnly bool, rng *rand.Rand) *Tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Tx{store: s, touched: map[string]use{}, snapshot: s.seq}
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
	if t.fault == staleRead {
		least := int64(1)
		if b.Apparent {
			least = maxLag / 2
		}
		t.snapshot = max(0, s.seq-least-rng.Int64N(maxLag-least))
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
	if n := len(c.pending); t.fault == dirtyRead && n > 0 && !c.pending[n-1].tx.doomed {
		s.stats.DirtyReads++
		seen := c.pending[n-1]
		t.strike(key, seen.tx)
		seen.tx.doomed = s.bugs.Apparent
		return Read(key, seen.value)
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
	t.touched[key] |= reads
	if missed := c.since(t.snapshot); t.fault == staleRead && len(missed) > 0 {
		t.store.stats.StaleReads++
		t.strike(key, missed[0].by)
	}
	return c
}

// Write sets a register to v at commit.
func (t *Tx) Write(key string, v int64) Op {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	c := t.store.cell(key)
	c.pending = append(c.pending, pendingWrite{t, v})
	t.touched[key] |= writes
	o := Write(key, v)
	t.writes = append(t.writes, o)
	return o
}

// Append adds v to a list at commit, behind what is there then.
func (t *Tx) Append(key string, v int64) Op {
	t.touched[key] |= writes
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
	t.touched[key] |= writes
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

// Version is the version of t's writes, once it has committed.
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
	if t.doomed || !t.validate() {
		s.stats.Conflicts++
		return ErrConflict
	}
	s.stats.Commits++
	s.seq++
	t.commit = s.seq
	for _, w := range t.writes {
		c := s.cell(w.Key)
		v := cellVersion{seq: s.seq, by: t, value: w.Value}
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

// before is the counter that t adds to: its snapshot's, or its own. The store is locked.
func (t *Tx) before(c *cell) cellVersion {
	if now := c.latest(); now.seq == t.commit {
		return now
	}
	return c.at(t.snapshot)
}

// validate says whether all that t touched is the same as in its snapshot, except what its
// fault overlooks. The store is locked.
func (t *Tx) validate() bool {
	var written, read []string // changed by others
	for key, use := range t.touched {
		if t.store.cell(key).latest().seq <= t.snapshot {
			continue
		}
		if use&writes != 0 {
			written = append(written, key)
		} else {
			read = append(read, key)
		}
	}
	switch {
	case len(written) > 0 && len(read) == 0 && t.fault == lostUpdate:
		return t.overlook(written, &t.store.stats.LostUpdates)
	case len(read) > 0 && len(written) == 0 && t.fault == writeSkew:
		return t.overlook(read, &t.store.stats.WriteSkews)
	}
	return len(written) == 0 && len(read) == 0
}

// overlook says whether t's fault makes it commit although others have changed the keys, and
// counts it then. The store is locked.
func (t *Tx) overlook(keys []string, count *int64) bool {
	for _, key := range keys {
		for _, v := range t.store.cell(key).since(t.snapshot) {
			if !t.store.bugs.Apparent || t.shows(key, v) {
				*count++
				t.strike(key, v.by)
				return true
			}
		}
	}
	return false
}

// shows looks at the answers to t and to the writer of v of key, which t has not seen. It says
// whether they show that t committed nevertheless. Both updated the key, or t writes a key that
// the other one had read. Only registers show it whatever follows.
func (t *Tx) shows(key string, v cellVersion) bool {
	switch {
	case v.list != nil || t.touched[key]&reads == 0:
		return false
	case t.fault == lostUpdate:
		return v.by.touched[key]&reads != 0
	}
	return slices.ContainsFunc(t.writes, func(w Op) bool { return w.Kind == event.Write && v.by.touched[w.Key]&reads != 0 })
}
