package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// The store's own records, in space 0. Integers in keys are big endian, so that
// key order is number order.
const (
	formatRecord   = 'f' // format
	sequenceRecord = 'q' // slot uint16 -> sequence number uint64, see ringSize
	currentRecord  = 'c' // current, as JSON: the flip
	trailerRecord  = 't' // generation uint64 -> trailer, as JSON
	markerRecord   = 'm' // the folder has a marker
	debtRecord     = 'd' // tombstones and dead bytes since the last flatten, 8 bytes each
)

// format is the value of the format record. A change of layout that an older
// version would misread changes it.
const format = "isowatch-store 3"

func ownKey(kind byte, suffix ...byte) []byte {
	return append([]byte{0, kind}, suffix...)
}

func generationKey(kind byte, gen uint64) []byte {
	return binary.BigEndian.AppendUint64(ownKey(kind), gen)
}

func spaceKey(sp Space, key []byte) []byte {
	return append([]byte{byte(sp)}, key...)
}

// spaceRange are the bounds of a range in the database's own keys; a nil from
// or to is the start or end of the space.
func spaceRange(sp Space, from, to []byte) (first, limit []byte) {
	first = spaceKey(sp, from)
	if to == nil {
		return first, []byte{byte(sp) + 1}
	}
	return first, spaceKey(sp, to)
}

func checkSpace(sp Space) error {
	if sp == 0 || sp == '!' || sp == 0xff {
		return fmt.Errorf("space %#02x is reserved", byte(sp))
	}
	return nil
}

// checkFormat reads the format record; a new store gets one.
func (s *Store) checkFormat() error {
	have, err := s.get(ownKey(formatRecord))
	if err != nil {
		return err
	}
	if string(have) == format {
		return nil
	}
	var earlier, own int
	if _, err := fmt.Sscanf(string(have)+" "+format, "isowatch-store %d isowatch-store %d", &earlier, &own); err == nil && earlier < own {
		return fmt.Errorf("%w: %w: %q, this version reads %q", ErrFormat, ErrOlder, have, format)
	}
	if have != nil {
		return fmt.Errorf("%w: %q, this version reads %q", ErrFormat, have, format)
	}
	empty, err := s.empty()
	switch {
	case err != nil:
		return err
	case !empty:
		return fmt.Errorf("%w: a Badger database of another program", ErrFormat)
	case s.options.ReadOnly:
		return ErrEmpty
	}
	return s.db.Update(func(txn *badger.Txn) error {
		return txn.Set(ownKey(formatRecord), []byte(format))
	})
}

func (s *Store) empty() (bool, error) {
	stop := errors.New("not empty")
	err := s.scanKeys(nil, nil, func(*badger.Item) error { return stop })
	if errors.Is(err, stop) {
		return false, nil
	}
	return err == nil, err
}
