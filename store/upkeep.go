package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/isowatch/isowatch/internal/pulse"
)

const (
	syncEvery    = time.Second
	lookEvery    = 10 * time.Second // where nothing is synced
	gcEvery      = time.Hour
	auditEvery   = 24 * time.Hour
	flattenEvery = time.Minute // how often the debt is looked at

	// The tree is flattened when this much was removed since the last time. That is enough
	// tombstones that a scan over them is felt (about 100 ms), or more dead bytes than a small
	// disk should carry.
	flattenTombstones = 200_000
	flattenBytes      = 256 << 20
)

// startUpkeep starts what a store does beside its callers: one goroutine syncs,
// one removes and flattens, which may take seconds, and one lets the compactors rest.
func (s *Store) startUpkeep() {
	s.wg.Go(s.syncLoop)
	s.wg.Go(s.cleanLoop)
	s.wg.Go(s.compactLoop)
	if s.options.Resident > 0 && !s.options.InMemory {
		s.wg.Go(s.shedLoop)
	}
}

func (s *Store) syncLoop() {
	every := syncEvery
	if s.options.Unsynced {
		every = lookEvery
		s.calm()
	}
	tick := time.NewTimer(pulse.Next(every))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			tick.Reset(pulse.Next(every))
			s.look()
			if s.options.Unsynced {
				s.calm()
			}
			if err := s.Sync(); err != nil {
				s.log.Error("store: no more commits are taken", "err", err)
				return
			}
		}
	}
}

// look finds out whether the files are still there. Badger works on without them, on files that
// no longer have a name, and all of it would be lost.
func (s *Store) look() {
	if err := s.gone(); err != nil {
		s.fail(err)
	}
}

func (s *Store) cleanLoop() {
	gc, flatten, audit := time.NewTicker(gcEvery), time.NewTicker(flattenEvery), time.NewTicker(auditEvery)
	defer gc.Stop()
	defer audit.Stop()
	defer flatten.Stop()
	s.upkeep("remove old generations", s.removeSuperfluous)
	s.upkeep("flatten", s.flattenIfDue) // a service that is killed every few seconds meets no tick
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.clean:
			s.upkeep("remove old generations", s.removeSuperfluous)
		case <-gc.C:
			s.upkeep("value log collection", s.collectValueLog)
		case <-audit.C:
			s.upkeep("check of tables", s.auditTables)
		case <-flatten.C:
			s.upkeep("flatten", s.flattenIfDue)
		}
	}
}

// auditTables fails the store if a table was damaged under it: reads would find nothing there.
func (s *Store) auditTables() error {
	if s.options.InMemory {
		return nil
	}
	err := checkTables(s.ctx, s.dir, badgerOptions(s.dir, s.options))
	if errors.Is(err, ErrDamaged) {
		s.fail(err)
	}
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

// upkeep runs a job that costs only space when it fails.
func (s *Store) upkeep(name string, job func() error) {
	if err := job(); err != nil && !errors.Is(err, ErrClosed) {
		s.counts.upkeepFailures.Add(1)
		s.log.Warn("store: upkeep failed", "job", name, "err", err)
	}
}

// Sync returns when all that was committed before is on disk. After a failed
// sync the system may have dropped what it could not write, so every later
// commit fails with the same error.
func (s *Store) Sync() error {
	if s.closed.Load() {
		return ErrClosed
	}
	if s.options.ReadOnly {
		return nil
	}
	return s.syncFiles()
}

func (s *Store) syncFiles() error {
	if s.options.Unsynced {
		return s.Failure()
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if err := s.Failure(); err != nil {
		return err
	}
	if !s.dirty.Swap(false) {
		return nil
	}
	started, seq := time.Now(), s.made.Load()
	err := s.syncMemoryLogs()
	if err == nil {
		err = s.db.Sync()
	}
	if err == nil {
		err = s.mark(seq)
	}
	if err != nil {
		err = fmt.Errorf("sync store %s: %w", s.dir, err)
		s.fail(err)
		return err
	}
	s.counts.synced(time.Since(started))
	return nil
}

// syncMemoryLogs syncs the logs of all memory tables. Badger's own Sync leaves
// out those that are full and not yet written out as tables (v4.9.6).
func (s *Store) syncMemoryLogs() error {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, path := range paths { // by number, so oldest first
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue // written out as a table meanwhile, and tables are synced
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) collectValueLog() error {
	for !s.closed.Load() {
		s.writes.RLock() // it moves what is in use
		err := s.db.RunValueLogGC(0.5)
		s.writes.RUnlock()
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ErrClosed
}

// flattenIfDue rewrites the tree when much of it is dead. Records that come and go in key order
// leave tombstones and old values in the lowest level. No compaction picks them up by itself
// (Badger issue 2329).
func (s *Store) flattenIfDue() error {
	s.debt.Lock()
	tombstones, bytes := s.debt.tombstones, s.debt.bytes
	s.debt.Unlock()
	if tombstones < flattenTombstones && bytes < flattenBytes {
		return nil
	}
	return s.flatten(tombstones, bytes)
}

// flatten rewrites the tree and pays off the debt that was there before. Records only in the
// topmost level, at most five memory tables' worth, stay until Badger moves them down.
func (s *Store) flatten(tombstones, bytes uint64) error {
	if err := s.flattenTree(); err != nil {
		return err
	}
	s.debt.Lock()
	defer s.debt.Unlock()
	tombstones, bytes = s.debt.tombstones-tombstones, s.debt.bytes-bytes
	if err := s.set(ownKey(debtRecord), debtValue(tombstones, bytes)); err != nil {
		return err
	}
	s.debt.tombstones, s.debt.bytes = tombstones, bytes
	s.counts.flattened()
	return nil
}
