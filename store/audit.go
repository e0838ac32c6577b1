package store

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Audit reads everything that is stored: the checksum of every block of every
// table, every value, every chunk of the current snapshot. fn, when it is not
// nil, sees each record of the caller's spaces in key order and may refuse it.
// The first fault ends the audit.
func (s *Store) Audit(ctx context.Context, fn func(sp Space, key, value []byte) error) error {
	if s.closed.Load() {
		return fmt.Errorf("audit: %w", ErrClosed)
	}
	if !s.options.InMemory {
		if err := checkTables(ctx, s.dir, badgerOptions(s.dir, s.options)); err != nil {
			return fmt.Errorf("audit: tables: %w", err)
		}
	}
	err := s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := auditItem(it.Item(), fn); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	s.snapshot.Lock()
	now := s.snapshot.current
	s.snapshot.Unlock()
	if now.Gen == 0 {
		return nil
	}
	if err := s.readGeneration(now.Gen, now.trailer, func([]byte) error { return ctx.Err() }); err != nil {
		return fmt.Errorf("audit: snapshot %d: %w", now.Gen, err)
	}
	return nil
}

func auditItem(item *badger.Item, fn func(sp Space, key, value []byte) error) error {
	key := item.Key()
	if len(key) == 0 {
		return fmt.Errorf("record without a key")
	}
	return valueOf(item, func(value []byte) error {
		if key[0] == 0 || fn == nil {
			return nil
		}
		if err := fn(Space(key[0]), key[1:], value); err != nil {
			return fmt.Errorf("space %#02x, key %x: %w", key[0], key[1:], err)
		}
		return nil
	})
}
