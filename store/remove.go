package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// removeBatch is how many keys one transaction of DeleteRange removes.
const removeBatch = 4096

// debt counts removals since the tree was last flattened. Badger keeps tombstones, and the
// records that they hide, until a compaction happens to meet both.
type debt struct {
	sync.Mutex
	tombstones, bytes uint64
}

// DeleteRange removes the records of the space with from <= key < to, in
// batches; a nil bound is open. It is not atomic: after a crash a part of the
// range may be left, always its end.
func (s *Store) DeleteRange(sp Space, from, to []byte) error {
	if err := s.writable(); err != nil {
		return fmt.Errorf("delete range: %w", err)
	}
	if err := checkSpace(sp); err != nil {
		return fmt.Errorf("delete range: %w", err)
	}
	first, limit := spaceRange(sp, from, to)
	if err := s.remove(first, limit); err != nil {
		return fmt.Errorf("delete range: %w", err)
	}
	return nil
}

// remove deletes the database's own keys in [first, limit), and ends early with
// ErrClosed when the store is closing.
func (s *Store) remove(first, limit []byte) error {
	full := errors.New("batch is full")
	for {
		if s.closed.Load() {
			return ErrClosed
		}
		var keys [][]byte
		var dead uint64
		err := s.scanKeys(first, limit, func(item *badger.Item) error {
			if len(keys) == removeBatch {
				return full
			}
			keys = append(keys, item.KeyCopy(nil))
			dead += uint64(item.EstimatedSize())
			return nil
		})
		if err != nil && !errors.Is(err, full) {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		if err := s.removeKeys(keys, dead); err != nil {
			return err
		}
		if len(keys) < removeBatch {
			return nil
		}
		first = append(keys[len(keys)-1], 0) // do not seek over the fresh tombstones again
	}
}

func (s *Store) removeKeys(keys [][]byte, dead uint64) error {
	s.debt.Lock()
	tombstones, bytes := s.debt.tombstones+uint64(len(keys)), s.debt.bytes+dead
	s.writes.RLock()
	err := s.db.Update(func(txn *badger.Txn) error {
		for _, key := range keys {
			if err := txn.Delete(key); err != nil {
				return err
			}
		}
		return txn.Set(ownKey(debtRecord), debtValue(tombstones, bytes))
	})
	s.writes.RUnlock()
	if err == nil {
		s.debt.tombstones, s.debt.bytes = tombstones, bytes
		s.dirty.Store(true)
		s.fill(int64(len(keys)) * (EntryOverhead + 16))
	}
	s.debt.Unlock()
	if errors.Is(err, badger.ErrTxnTooBig) && len(keys) > 1 { // a small memory table, or long keys
		half := len(keys) / 2
		if err := s.removeKeys(keys[:half], dead/2); err != nil {
			return err
		}
		return s.removeKeys(keys[half:], dead-dead/2)
	}
	return err
}

func debtValue(tombstones, bytes uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, tombstones), bytes)
}

func (s *Store) loadDebt() error {
	value, err := s.get(ownKey(debtRecord))
	if err != nil || value == nil {
		return err
	}
	if len(value) != 16 {
		return fmt.Errorf("%w: debt record of %d bytes", ErrFormat, len(value))
	}
	s.debt.tombstones = binary.BigEndian.Uint64(value)
	s.debt.bytes = binary.BigEndian.Uint64(value[8:])
	return nil
}
