package store

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// GetAll calls fn with the value under each of the keys, in their order, nil where
// there is none, as of one moment. The value is valid in fn only. It ends at the
// first error of fn and returns it. A key that is not there costs a look into
// Badger's filters, one a table; one that is there a block.
func (s *Store) GetAll(sp Space, keys [][]byte, fn func(i int, value []byte) error) error {
	if err := checkSpace(sp); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if s.closed.Load() {
		return fmt.Errorf("get: %w", ErrClosed)
	}
	err := s.db.View(func(txn *badger.Txn) error {
		var key []byte
		for i := range keys {
			key = append(append(key[:0], byte(sp)), keys[i]...)
			item, err := txn.Get(key)
			if errors.Is(err, badger.ErrKeyNotFound) {
				if err := fn(i, nil); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			if err := valueOf(item, func(value []byte) error { return fn(i, value) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	return nil
}
