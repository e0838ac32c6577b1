package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// TooBigError tells by how much a commit misses the limits. errors.Is finds
// [ErrTooBig] in it.
type TooBigError struct {
	Entries, Bytes       int64
	MaxEntries, MaxBytes int64
}

func (e *TooBigError) Error() string {
	return fmt.Sprintf("commit of %d entries and %d bytes is too big: the limits are %d and %d",
		e.Entries, e.Bytes, e.MaxEntries, e.MaxBytes)
}

// Is makes errors.Is(e, ErrTooBig) true.
func (e *TooBigError) Is(target error) bool { return target == ErrTooBig }

// EntryOverhead is the number of bytes that Badger adds to an entry's key and value when it
// checks the size of a transaction. They are meta bytes, a value pointer and the version.
const EntryOverhead = 24

// reserve is left of both limits for the store's own record and Badger's
// end-of-transaction mark.
const reserve = 8

// ringSize is how many of the last commits have their sequence number on disk, one a slot. The
// store syncs every second and commits at most some hundred times in that second. So all
// commits that a power cut can lose lie within the ring.
const ringSize = 4096

// Commit makes all the changes or none, in one transaction. A key that comes
// twice gets its last change. Keys and values may be reused once it returned.
func (s *Store) Commit(entries []Entry) error {
	if err := s.writable(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	size, err := s.measure(entries)
	if err != nil {
		return err
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.closed.Load() {
		return fmt.Errorf("commit: %w", ErrClosed)
	}
	started := time.Now()
	if err := s.commitAs(s.commit.seq+1, entries); err != nil {
		if errors.Is(err, badger.ErrTxnTooBig) {
			return s.tooBig(int64(len(entries)), size)
		}
		return fmt.Errorf("commit: %w", err)
	}
	s.commit.seq++
	s.made.Store(s.commit.seq)
	s.dirty.Store(true)
	if s.options.Committed != nil {
		s.options.Committed(entries)
	}
	s.owe(entries)
	s.fill(size)
	s.counts.committed(entries, size, time.Since(started))
	return nil
}

// commitAs writes entries together with the sequence number seq.
func (s *Store) commitAs(seq uint64, entries []Entry) error {
	s.writes.RLock()
	defer s.writes.RUnlock()
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	keys := 0
	for i := range entries {
		keys += 1 + len(entries[i].Key)
	}
	arena := make([]byte, 0, keys) // Badger holds on to keys until the commit is done
	for i := range entries {
		e := &entries[i]
		start := len(arena)
		arena = append(append(arena, byte(e.Space)), e.Key...)
		key := arena[start:len(arena):len(arena)]
		var err error
		if e.Delete {
			err = txn.Delete(key)
		} else {
			err = txn.Set(key, e.Value)
		}
		if err != nil {
			return err
		}
	}
	if err := txn.Set(sequenceKey(seq), binary.BigEndian.AppendUint64(nil, seq)); err != nil {
		return err
	}
	return txn.Commit()
}

// owe adds the tombstones of a commit to the debt, in memory. The next removal writes it down,
// and a crash before that only delays the next flatten.
func (s *Store) owe(entries []Entry) {
	var tombstones uint64
	for i := range entries {
		if entries[i].Delete {
			tombstones++
		}
	}
	if tombstones == 0 {
		return
	}
	s.debt.Lock()
	defer s.debt.Unlock()
	s.debt.tombstones += tombstones
}

// measure is the size that Badger will find, from above.
func (s *Store) measure(entries []Entry) (int64, error) {
	var size int64
	for i := range entries {
		e := &entries[i]
		if err := checkSpace(e.Space); err != nil {
			return 0, fmt.Errorf("commit: entry %d: %w", i, err)
		}
		if len(e.Key) > 32<<10 {
			return 0, fmt.Errorf("commit: entry %d: key of %d bytes, at most %d", i, len(e.Key), 32<<10)
		}
		size += int64(len(e.Key) + len(e.Value) + EntryOverhead)
	}
	if most, bytes := s.Limits(); int64(len(entries)) > most || size > bytes {
		return 0, s.tooBig(int64(len(entries)), size)
	}
	return size, nil
}

// Limits are the most entries that one commit takes, and the most bytes: of keys and
// values, and [EntryOverhead] for each.
func (s *Store) Limits() (entries, bytes int64) {
	return s.db.MaxBatchCount() - reserve, s.db.MaxBatchSize() - reserve*EntryOverhead
}

func (s *Store) tooBig(entries, size int64) error {
	most, bytes := s.Limits()
	return &TooBigError{Entries: entries, Bytes: size, MaxEntries: most, MaxBytes: bytes}
}

func sequenceKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint16(ownKey(sequenceRecord), uint16(seq%ringSize))
}

// loadSequence reads the ring and checks that no number below the last one is missing. Badger
// writes a memory table's log through a shared mapping and does not sync it when the table is
// full. The system may write the next table's log to disk first. A power cut in between leaves
// later commits without earlier ones.
func (s *Store) loadSequence() error {
	var ring [ringSize]uint64
	var last uint64
	first, limit := ownKey(sequenceRecord), ownKey(sequenceRecord+1)
	err := s.scan(first, limit, false, func(key, value []byte) error {
		if len(key) != 4 || len(value) != 8 {
			return fmt.Errorf("%w: sequence record of %d bytes", ErrFormat, len(value))
		}
		slot, seq := binary.BigEndian.Uint16(key[2:]), binary.BigEndian.Uint64(value)
		if slot >= ringSize || seq%ringSize != uint64(slot) {
			return fmt.Errorf("%w: sequence number %d in slot %d", ErrFormat, seq, slot)
		}
		ring[slot] = seq
		last = max(last, seq)
		return nil
	})
	if err != nil {
		return err
	}
	for seq := last; seq > 0 && seq+ringSize > last; seq-- {
		if ring[seq%ringSize] != seq {
			return fmt.Errorf("%w: commit %d is missing, %d is there", ErrHole, seq, last)
		}
	}
	s.commit.seq = last
	s.made.Store(last)
	return nil
}
