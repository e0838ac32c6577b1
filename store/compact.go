package store

import (
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for linkname

	"github.com/dgraph-io/badger/v4"
)

// compactEvery is how often the store looks whether there is something to compact. After compactRest
// looks in a row without, the compactors rest.
const (
	compactEvery = time.Second
	compactRest  = 5
)

// compactors are Badger's. Each of the two wakes up 20 times a second to look for work, which costs
// 0.4% of a core. So they rest while there is none, and start again when half a memory table was
// written. Badger stops taking tables at fifteen, so that is soon enough.
type compactors struct {
	sync.Mutex
	resting bool
	written atomic.Int64  // bytes since they began to rest, about
	wake    chan struct{} // half a memory table was written
}

// Badger has no option for these: it uses them itself around Flatten. Neither is safe beside the other.
//
//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)

// fill notes that so many bytes were written.
func (s *Store) fill(bytes int64) {
	if s.compactors.written.Add(bytes+EntryOverhead) < s.options.MemTable/2 {
		return
	}
	select {
	case s.compactors.wake <- struct{}{}:
	default:
	}
}

func (s *Store) compactLoop() {
	for s.compactUntilDone() {
		s.rest()
		select {
		case <-s.ctx.Done():
			return
		case <-s.compactors.wake:
			s.resume()
		}
	}
}

// compactUntilDone returns when there was nothing to compact for a while, or false when the store closes.
func (s *Store) compactUntilDone() bool {
	tick := time.NewTicker(s.compactEvery())
	defer tick.Stop()
	for quiet := 0; quiet < compactRest; quiet++ {
		select {
		case <-s.ctx.Done():
			return false
		case <-tick.C:
			if s.compacting() {
				quiet = -1
			}
		}
	}
	return true
}

func (s *Store) compactEvery() time.Duration {
	if s.options.compactEvery > 0 {
		return s.options.compactEvery
	}
	return compactEvery
}

// compacting says whether a level is due, or half a memory table came since the last look.
func (s *Store) compacting() bool {
	if s.compactors.written.Swap(0) >= s.options.MemTable/2 {
		return true
	}
	for _, level := range s.db.Levels() {
		if level.Score >= 1 {
			return true
		}
	}
	return false
}

func (s *Store) rest() {
	s.compactors.Lock()
	defer s.compactors.Unlock()
	if s.compactors.resting {
		return
	}
	select {
	case <-s.compactors.wake: // of what was compacted
	default:
	}
	s.compactors.written.Store(0)
	s.compactors.resting = true
	stopCompactions(s.db)
}

func (s *Store) resume() {
	s.compactors.Lock()
	defer s.compactors.Unlock()
	if s.compactors.resting {
		startCompactions(s.db)
		s.compactors.resting = false
	}
}

// flattenTree is Badger's Flatten, which stops the compactors and starts them again.
func (s *Store) flattenTree() error {
	s.compactors.Lock()
	defer s.compactors.Unlock()
	err := s.db.Flatten(1)
	if s.compactors.resting {
		stopCompactions(s.db)
	}
	return err
}
