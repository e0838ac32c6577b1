package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Get is the value under key, as a copy; nil when there is none. An empty value
// is not nil.
func (s *Store) Get(sp Space, key []byte) ([]byte, error) {
	if err := checkSpace(sp); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	value, err := s.get(spaceKey(sp, key))
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return value, nil
}

func (s *Store) get(key []byte) ([]byte, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	value := []byte{}
	err := s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		return valueOf(item, func(v []byte) error { value = append(value, v...); return nil })
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// valueOf calls fn with the value. Badger v4.9.6 gives an empty one where it cannot read the value
// log, and no error. The size that it says is off by some bytes there.
func valueOf(item *badger.Item, fn func([]byte) error) error {
	return item.Value(func(value []byte) error {
		const off = 16
		if want := item.ValueSize(); int64(len(value)) < want-off || int64(len(value)) > want+off {
			return fmt.Errorf("%w: a value of some %d bytes cannot be read from the value log", ErrDamaged, want)
		}
		return fn(value)
	})
}

// Scan calls fn for each record of the space with from <= key < to, in key
// order; a nil bound is open. It sees the state at its start. key and value are
// valid in fn only. It ends at the first error of fn and returns it.
func (s *Store) Scan(sp Space, from, to []byte, fn func(key, value []byte) error) error {
	return s.scanSpace(sp, from, to, false, fn)
}

// ScanReverse is Scan from the last key to the first.
func (s *Store) ScanReverse(sp Space, from, to []byte, fn func(key, value []byte) error) error {
	return s.scanSpace(sp, from, to, true, fn)
}

func (s *Store) scanSpace(sp Space, from, to []byte, reverse bool, fn func(key, value []byte) error) error {
	if err := checkSpace(sp); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	first, limit := spaceRange(sp, from, to)
	return s.scan(first, limit, reverse, func(key, value []byte) error {
		return fn(key[1:], value)
	})
}

// scan goes over the database's own keys in [first, limit).
func (s *Store) scan(first, limit []byte, reverse bool, fn func(key, value []byte) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return s.db.View(func(txn *badger.Txn) error {
		// Values are up to 0.5 MiB; fetching 100 of them ahead, as Badger does by
		// default, would take 50 MiB for a reader that wants one.
		// Badger reads one record ahead. The prefix keeps it within the space: behind it may lie a
		// record that each step writes, with thousands of versions in memory.
		var within []byte
		if !reverse { // from a limit outside of the prefix it would find nothing
			within = sharedPrefix(first, limit)
		}
		it := txn.NewIterator(badger.IteratorOptions{Reverse: reverse, Prefix: within})
		defer it.Close()
		if reverse {
			it.Seek(limit)
			if it.Valid() && bytes.Equal(it.Item().Key(), limit) {
				it.Next() // the bound is exclusive
			}
		} else {
			it.Seek(first)
		}
		for ; it.Valid(); it.Next() {
			item := it.Item()
			key := item.Key()
			if reverse && bytes.Compare(key, first) < 0 || !reverse && bytes.Compare(key, limit) >= 0 {
				return nil
			}
			if err := valueOf(item, func(value []byte) error { return fn(key, value) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// sharedPrefix is the first byte of all keys in [first, limit), nothing where they have several.
func sharedPrefix(first, limit []byte) []byte {
	if len(first) == 0 || len(limit) == 0 || limit[0] != first[0] && !(limit[0] == first[0]+1 && len(limit) == 1) {
		return nil
	}
	return first[:1:1]
}

// scanKeys goes over keys in [first, limit) without reading values; a nil limit
// is open.
func (s *Store) scanKeys(first, limit []byte, fn func(*badger.Item) error) error {
	return s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		for it.Seek(first); it.Valid(); it.Next() {
			if limit != nil && bytes.Compare(it.Item().Key(), limit) >= 0 {
				return nil
			}
			if err := fn(it.Item()); err != nil {
				return err
			}
		}
		return nil
	})
}
