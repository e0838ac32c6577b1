package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/zeebo/xxh3"
)

// The marker is a file with the number of the last commit that was synced, and a checksum. Badger's
// logs end where a record is wrong, as a crash leaves them. So a log that is cut, emptied or removed is an
// older store, and not an error. The marker shows it: a commit that was synced is there. It is
// written in place, after each sync of the rest, and never says more than is on disk. A record in
// the store says that there is a marker; stores of older versions have none.

const (
	markerName = "SYNCED"
	markerSize = 16
)

// marker is the open file. The zero value has none.
type marker struct {
	file    *os.File
	written uint64
}

func (m *marker) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// readMarker is the commit that the marker names; there is none, or it is damaged.
func readMarker(dir string) (seq uint64, there bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if len(text) != markerSize || binary.BigEndian.Uint64(text[8:]) != xxh3.Hash(text[:8]) {
		return 0, true, fmt.Errorf("%w: %s holds no number of a commit", ErrDamaged, markerName)
	}
	return binary.BigEndian.Uint64(text), true, nil
}

func markerText(seq uint64) []byte {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, markerSize), seq)
	return binary.BigEndian.AppendUint64(text, xxh3.Hash(text))
}

// checkMarker compares the marker with the commits. It comes before the check of the format,
// which takes an emptied store for a new one.
func (s *Store) checkMarker() error {
	if s.options.InMemory {
		return nil
	}
	seq, there, err := readMarker(s.dir)
	if err != nil {
		return err
	}
	promised, err := s.get(ownKey(markerRecord))
	switch {
	case err != nil:
		return err
	case !there && promised != nil:
		return fmt.Errorf("%w: %s is missing", ErrDamaged, markerName)
	case s.commit.seq < seq:
		return fmt.Errorf("%w: commit %d was synced, and the last one that is there is %d", ErrDamaged, seq, s.commit.seq)
	}
	s.marker.written = seq
	return nil
}

// openMarker opens the marker for writing, and makes it where there is none. It is on disk before
// the store says that it is there.
func (s *Store) openMarker() error {
	if s.options.ReadOnly || s.options.InMemory {
		return nil
	}
	path := filepath.Join(s.dir, markerName)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = s.makeMarker(path)
	}
	if err != nil {
		return err
	}
	s.marker.file = file
	promised, err := s.get(ownKey(markerRecord))
	if err == nil && promised == nil {
		err = s.db.Update(func(txn *badger.Txn) error { return txn.Set(ownKey(markerRecord), []byte{1}) })
	}
	return err
}

// makeMarker makes the marker under another name first: a crash leaves no empty one.
func (s *Store) makeMarker(path string) (*os.File, error) {
	next := path + ".next"
	file, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(markerText(0))
	if err = errors.Join(err, file.Sync()); err == nil {
		err = os.Rename(next, path)
	}
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(next))
	}
	return file, nil
}

// mark writes that commits up to seq are synced. On a full disk nothing is written: the marker then names an earlier commit.
func (s *Store) mark(seq uint64) error {
	m := &s.marker
	if m.file == nil || seq == m.written {
		return nil
	}
	if _, err := m.file.WriteAt(markerText(seq), 0); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return nil
		}
		return err
	}
	m.written = seq
	return nil
}

// gone is [ErrGone] where the store is no longer at its place, and [ErrUnwritable] where its
// folder can no longer be written to. Badger works on without them, on files that no longer have a
// name, and all of it would be lost.
func (s *Store) gone() error {
	if s.options.InMemory || s.marker.file == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.dir, badger.ManifestFilename)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	ours, err := s.marker.file.Stat()
	if err != nil {
		return err
	}
	switch there, err := os.Stat(filepath.Join(s.dir, markerName)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	case !os.SameFile(ours, there):
		return fmt.Errorf("%w: another store is at %s", ErrGone, s.dir)
	}
	if err := writable(s.dir); err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return nil
}
