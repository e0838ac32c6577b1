// Package store keeps opaque records on disk in Badger: atomic commits, ordered
// scans, and snapshots by generation. It knows nothing of what a record means.
//
// This holds after a crash of the process, at any instant. A [Store.Commit] that returned is
// there. One that did not is there as a whole or not at all. With [Options.Fsync] the same
// holds after a power cut. Without it the store syncs every second. A power cut may then lose
// the last commits. It may also lose one before others that survived: [Open] detects that, and
// fails with [ErrHole].
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/ristretto/v2/z"
)

// Space is the first byte of every key: one per kind of record, defined by the
// caller. Space 0 is the store's own, and '!' is Badger's.
type Space byte

// Entry is one change: Value is stored under Key, or Key is removed.
type Entry struct {
	Space      Space
	Key, Value []byte
	Delete     bool
}

var (
	// ErrLocked: another process has the folder open.
	ErrLocked = errors.New("store is in use by another process")
	// ErrTooBig: the entries do not fit one transaction. See [TooBigError].
	ErrTooBig = errors.New("commit is too big")
	// ErrFormat: the folder holds something that this version cannot read.
	ErrFormat = errors.New("unknown store format")
	// ErrOlder comes with ErrFormat: the layout is one that a release before has read.
	ErrOlder = errors.New("an older layout")
	// ErrEmpty: nothing was written to the folder yet, as when its first writer was killed
	// while it opened it. Only a read-only Open returns it.
	ErrEmpty = errors.New("store holds nothing yet")
	// ErrHole: a power cut lost a commit older than the last one that survived.
	// The folder must be given up and rebuilt from the input.
	ErrHole = errors.New("store lost commits in a power cut")
	// ErrGone: the files were removed or moved away while the store was open.
	ErrGone = errors.New("the store's files were removed or moved away while they were in use")
	// ErrUnwritable: the folder can no longer be written to.
	ErrUnwritable = errors.New("the store's folder can no longer be written to")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrReadOnly: a change was asked of a store opened read-only.
	ErrReadOnly = errors.New("store is read-only")
)

// Options say how a store is opened. The zero value is for the service.
type Options struct {
	// ReadOnly opens beside other readers, never beside a writer.
	ReadOnly bool
	// Fsync syncs every commit to disk before it returns. Default: sync every
	// second.
	Fsync bool
	// Unsynced: the folder is a cache of what is kept elsewhere, and nobody opens it again after a crash of the machine.
	// Nothing is synced.
	Unsynced bool
	// Logger receives what Badger says, and failures of the upkeep. nil: nothing
	// is logged.
	Logger *slog.Logger
	// MemTable is the size of one in-memory table in bytes, at least 1 MiB; it
	// fixes the largest commit, 15% of it. 0: 28 MiB, a largest commit of 4.4 MB
	// and 45,875 entries.
	MemTable int64
	// Resident is how much of mapped files may stay in the memory of this process, bytes, the
	// program's own included. Beyond it the pages of tables go. 0: any amount.
	Resident int64
	// LockWait is how long Open waits for another process to leave the folder,
	// as when a container is replaced. 0: not at all.
	LockWait time.Duration
	// Committed, unless nil, is given what each commit changed, once it is made, in the order of commits. It must not
	// block, and must keep nothing.
	Committed func(entries []Entry)
	// InMemory keeps all but the chunks of snapshots in memory; what was committed ends
	// with Close. For tests of what stands on a store: opening and closing one costs a
	// tenth, since no file is made, mapped and synced.
	InMemory bool

	compactEvery time.Duration // 0: compactEvery
}

// Store is an open folder. Its methods may be called from any goroutine.
type Store struct {
	db      *badger.DB
	dir     string
	options Options
	log     *slog.Logger

	commit struct { // serialises Commit, so that sequence numbers follow the order on disk
		sync.Mutex
		seq uint64 // of the last commit
	}
	made     atomic.Uint64 // commit.seq, for syncs
	marker   marker
	snapshot struct {
		sync.Mutex
		current current // the generation that LoadSnapshot returns
		dirty   bool    // older generations or dropped ranges are still on disk
	}
	debt       debt
	counts     counters
	compactors compactors
	writes     sync.RWMutex // held for reading by each write
	calmed     calmed
	untouched  atomic.Int64
	pool       *z.AllocatorPool // Badger's, which it no longer uses: see dropPool

	syncing sync.Mutex // held for a sync: while it runs, the next one must still find the store dirty

	dirty  atomic.Bool           // something was written since the last sync
	failed atomic.Pointer[error] // the first failed sync, [ErrGone], [ErrUnwritable] or [ErrDamaged]: nothing may be acknowledged after it
	broken chan struct{}         // closed when failed is set
	clean  chan struct{}         // wakes the upkeep after a flip

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  sync.Once
	closed atomic.Bool
}

const defaultMemTable = 28 << 20

// Open opens dir, which it creates unless o.ReadOnly is set.
func Open(dir string, o Options) (*Store, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext is Open until ctx ends. It reads all tables: a gigabyte takes 0.2 s from the page cache.
func OpenContext(ctx context.Context, dir string, o Options) (*Store, error) {
	if o.MemTable == 0 {
		o.MemTable = defaultMemTable
	}
	if o.MemTable < 1<<20 {
		return nil, fmt.Errorf("open store %s: memory table of %d bytes, at least %d needed", dir, o.MemTable, 1<<20)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db, err := openWait(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s := &Store{db: db, dir: dir, options: o, log: o.Logger, clean: make(chan struct{}, 1), broken: make(chan struct{})}
	s.compactors.wake = make(chan struct{}, 1)
	if !o.ReadOnly {
		s.pool = dropPool(db, dir)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.load(); err != nil {
		s.cancel()
		err = errors.Join(fmt.Errorf("open store %s: %w", dir, err), s.marker.close(), db.Close())
		s.pool.Release()
		return nil, err
	}
	if !o.ReadOnly {
		s.snapshot.dirty = s.snapshot.current.Gen != 0
		s.startUpkeep()
	}
	return s, nil
}

// load reads the store's own records and checks them.
func (s *Store) load() error {
	for _, step := range []func() error{s.loadSequence, s.checkMarker, s.checkFormat, s.loadCurrent, s.loadDebt, s.openMarker} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// openWait opens the database, waiting up to o.LockWait for its lock.
func openWait(ctx context.Context, dir string, o Options) (*badger.DB, error) {
	const pause = 100 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		db, err := openBadger(ctx, dir, o)
		if !errors.Is(err, ErrLocked) || waited >= o.LockWait {
			return db, err
		}
		if waited == 0 && o.Logger != nil {
			o.Logger.Warn("waiting for another process to leave the data folder", "folder", dir, "err", err, "at-most", o.LockWait)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// openBadger opens the database once. A process that was killed leaves its log of the last
// memory table longer than its content, or empty. Badger refuses that read-only. So such a
// folder is opened for writing first, which replays the log and writes it out.
func openBadger(ctx context.Context, dir string, o Options) (*badger.DB, error) {
	if err := checkAlone(ctx, dir, o); err != nil {
		return nil, describeOpen(dir, err)
	}
	if !o.ReadOnly {
		db, err := openWriting(dir, o)
		return db, describeOpen(dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, badger.ManifestFilename)); err != nil {
		return nil, describeMissing(dir, err)
	}
	db, err := open1(dir, o)
	if err != nil && (strings.Contains(err.Error(), badger.ErrTruncateNeeded.Error()) || hasEmptyLog(dir)) {
		o.ReadOnly = false
		if db, err = openWriting(dir, o); err != nil {
			return nil, describeOpen(dir, fmt.Errorf("its last writer was killed, and its log cannot be replayed: %w", err))
		}
		if err = db.Close(); err != nil {
			return nil, err
		}
		o.ReadOnly = true
		db, err = open1(dir, o)
	}
	return db, describeOpen(dir, err)
}

// openWriting opens the database for writing. A kill can leave the log of a memory
// table empty; Badger refuses it once, having given it its size.
func openWriting(dir string, o Options) (*badger.DB, error) {
	db, err := open1(dir, o)
	if err != nil && strings.Contains(err.Error(), z.NewFile.Error()) {
		db, err = open1(dir, o)
	}
	return db, err
}

// open1 opens the database once. Badger panics on some damages.
func open1(dir string, o Options) (db *badger.DB, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			db, err = nil, fmt.Errorf("%w: %v", ErrDamaged, fault)
		}
	}()
	return badger.Open(badgerOptions(dir, o))
}

// checkAlone checks the files while no other process writes them.
func checkAlone(ctx context.Context, dir string, o Options) error {
	if o.InMemory {
		return nil
	}
	unlock, err := tryLock(dir, o.ReadOnly)
	if err != nil {
		return err
	}
	defer unlock()
	return checkFiles(ctx, dir, badgerOptions(dir, o))
}

func hasEmptyLog(dir string) bool {
	for _, pattern := range []string{"*.mem", "*.vlog"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // fails for a bad pattern only
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Size() == 0 {
				return true
			}
		}
	}
	return false
}

// describeMissing tells two kinds of folders apart: one that Badger has not got round to filling, and
// no store.
func describeMissing(dir string, missing error) error {
	if _, err := os.ReadDir(dir); err != nil || !errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("no store there: %w", errors.Join(missing, err))
	}
	return ErrEmpty // checkFiles has found no file that comes later
}

// describeOpen turns Badger's lock failure, which carries no error value to
// test for (v4.9.6, y.Wrapf formats it away), into ErrLocked.
func describeOpen(dir string, err error) error {
	if err == nil || !errors.Is(err, ErrLocked) && !strings.Contains(err.Error(), "Cannot acquire directory lock") {
		return err
	}
	pid, readErr := os.ReadFile(filepath.Join(dir, "LOCK"))
	if readErr != nil {
		return ErrLocked // a reader, which leaves no pid
	}
	return fmt.Errorf("%w (process %s)", ErrLocked, strings.TrimSpace(string(pid)))
}

// badgerOptions are chosen for one writer of 0.5 MiB blobs and small records, removed in key
// order. Badger keeps up to eight allocators of table builders. Each is as large as the largest
// table that it was used for, compressed copies included. Without compression, and with these
// sizes, that is at most 90 MB each, not 250 (v4.9.6). Blocks that are not compressed need no
// cache, being mapped. Values up to 1 MiB stay in the tree, out of the value log, which has
// lost values in the past (Badger issues 1991 and 2000).
func badgerOptions(dir string, o Options) badger.Options {
	if o.InMemory {
		dir = "" // Badger wants none then
	}
	b := badger.DefaultOptions(dir).
		WithInMemory(o.InMemory).
		WithReadOnly(o.ReadOnly).
		WithSyncWrites(o.Fsync).
		WithLogger(logger{o.Logger}).
		WithMemTableSize(o.MemTable).
		WithNumMemtables(3).
		WithBaseTableSize(min(3<<20, max(o.MemTable/8, 1<<20))).
		WithBlockCacheSize(0).
		WithIndexCacheSize(min(16<<20, o.MemTable)).
		WithValueThreshold(min(1<<20, o.MemTable*15/100)).
		WithValueLogFileSize(64 << 20).
		WithNumCompactors(2).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithVerifyValueChecksum(true).
		WithCompression(options.None)
	b.ChecksumVerificationMode = checksumOnRead
	if o.MemTable < defaultMemTable {
		b.TableSizeMultiplier = 1 // else tables, and their builders, are 32 times as large in the lowest level
	}
	return b
}

// Close ends the upkeep, writes out what is in memory and releases the folder.
// No scan may be under way. Calling it again does nothing.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		s.closed.Store(true)
		s.cancel()
		s.wg.Wait()
		s.commit.Lock() // a commit under way ends first; later ones find closed set
		defer s.commit.Unlock()
		if !s.options.ReadOnly {
			if err = s.gone(); err != nil {
				return // Badger would try for ever to write its table of memory
			}
			err = s.syncFiles()
		}
		err = errors.Join(err, s.db.Close(), s.marker.close())
		s.pool.Release()
	})
	return err
}

// writable is nil when a change may be made.
func (s *Store) writable() error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.options.ReadOnly:
		return ErrReadOnly
	}
	return s.Failure()
}

// Broken is closed when the store fails for good: no later commit is taken. [Store.Failure] tells
// why.
func (s *Store) Broken() <-chan struct{} { return s.broken }

// Failure is the error by which the store failed for good: a failed sync, [ErrGone], [ErrUnwritable] or
// [ErrDamaged]; nil while it works.
func (s *Store) Failure() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail sets the failure, unless there is one.
func (s *Store) fail(err error) {
	if s.failed.CompareAndSwap(nil, &err) {
		close(s.broken)
	}
}
