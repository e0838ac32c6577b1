package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
)

// MaxChunk is the largest chunk of a snapshot in bytes. A snapshot is fastest
// in chunks of 256 KiB to 512 KiB.
const MaxChunk = 1 << 20

// Range names the records of a space with From <= key < To; a nil bound is
// open.
type Range struct {
	Space Space  `json:"space"`
	From  []byte `json:"from"` // no omitempty: an empty bound is not an open one
	To    []byte `json:"to"`
}

// trailer is written behind the last chunk of a generation.
type trailer struct {
	Chunks uint32 `json:"chunks"`
	Bytes  int64  `json:"bytes"`
	Sum    uint64 `json:"sum"` // xxh3 of the chunks' own sums, 8 bytes little endian each
}

// current is the record of the generation that counts.
type current struct {
	Gen  uint64  `json:"gen"` // 0: no snapshot yet
	Meta []byte  `json:"meta,omitempty"`
	Drop []Range `json:"drop,omitempty"` // what the snapshot made superfluous
	trailer
}

// WriteSnapshot writes the chunks of generation gen to a file, beside which commits go on.
// Nothing counts until [Store.FlipSnapshot]. A generation that was written in part is ignored.
// It is removed when gen is written again or a later generation is made current. gen must be
// above the current generation. A chunk may be reused once chunks is asked for the next.
func (s *Store) WriteSnapshot(gen uint64, chunks iter.Seq[[]byte]) error {
	if err := s.writable(); err != nil {
		return fmt.Errorf("write snapshot %d: %w", gen, err)
	}
	if have := s.generation(); gen <= have {
		return fmt.Errorf("write snapshot %d: generation %d is current", gen, have)
	}
	// The trailer first: the rest is not a generation.
	if err := s.remove(generationKey(trailerRecord, gen), generationKey(trailerRecord, gen+1)); err != nil {
		return fmt.Errorf("write snapshot %d: %w", gen, err)
	}
	end, err := s.writeGeneration(gen, chunks)
	if err != nil {
		return fmt.Errorf("write snapshot %d: %w", gen, err)
	}
	value, err := json.Marshal(end)
	if err == nil {
		err = s.set(generationKey(trailerRecord, gen), value)
	}
	if err != nil {
		return fmt.Errorf("write snapshot %d: trailer: %w", gen, err)
	}
	return nil
}

func (s *Store) set(key, value []byte) error {
	s.writes.RLock()
	defer s.writes.RUnlock()
	if err := s.db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) }); err != nil {
		return err
	}
	s.dirty.Store(true)
	return nil
}

// FlipSnapshot makes generation gen, written in full, the current one. meta is
// small and opaque: it names the first delta to replay behind the snapshot.
// drop names records that the snapshot makes superfluous, as the deltas before
// it; nothing may be written into these ranges any more. They and the other
// generations are removed in the background after the flip is on disk, going on
// after a restart.
func (s *Store) FlipSnapshot(gen uint64, meta []byte, drop ...Range) error {
	if err := s.flip(gen, meta, drop); err != nil {
		return fmt.Errorf("flip to snapshot %d: %w", gen, err)
	}
	select {
	case s.clean <- struct{}{}:
	default:
	}
	return nil
}

func (s *Store) flip(gen uint64, meta []byte, drop []Range) error {
	if err := s.writable(); err != nil {
		return err
	}
	for _, r := range drop {
		if err := checkSpace(r.Space); err != nil {
			return err
		}
	}
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	if gen <= s.snapshot.current.Gen {
		return fmt.Errorf("generation %d is current", s.snapshot.current.Gen)
	}
	value, err := s.get(generationKey(trailerRecord, gen))
	if err != nil {
		return err
	}
	if value == nil {
		return errors.New("the generation is not written in full")
	}
	next := current{Gen: gen, Meta: meta, Drop: drop}
	if err := json.Unmarshal(value, &next.trailer); err != nil {
		return fmt.Errorf("trailer: %w", err)
	}
	if s.snapshot.dirty { // what the last flip dropped is not all removed yet
		next.Drop = append(append([]Range{}, s.snapshot.current.Drop...), drop...)
	}
	if value, err = json.Marshal(next); err != nil {
		return err
	}
	if err := s.Sync(); err != nil { // the chunks before what counts on them
		return err
	}
	if err := s.set(ownKey(currentRecord), value); err != nil {
		return err
	}
	s.snapshot.current, s.snapshot.dirty = next, true
	return nil
}

func (s *Store) generation() uint64 {
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	return s.snapshot.current.Gen
}

func (s *Store) loadCurrent() error {
	value, err := s.get(ownKey(currentRecord))
	if err != nil || value == nil {
		return err
	}
	if err := json.Unmarshal(value, &s.snapshot.current); err != nil {
		return fmt.Errorf("%w: snapshot record: %w", ErrFormat, err)
	}
	return nil
}

// LoadSnapshot is the current generation, the meta of its flip, and its chunks
// in order; generation 0 without chunks when there is none. A chunk is valid until the next. One
// that is missing or damaged ends chunks with an error.
func (s *Store) LoadSnapshot() (gen uint64, meta []byte, chunks iter.Seq2[[]byte, error], err error) {
	if s.closed.Load() {
		return 0, nil, nil, fmt.Errorf("load snapshot: %w", ErrClosed)
	}
	s.snapshot.Lock()
	now := s.snapshot.current
	s.snapshot.Unlock()
	chunks = func(yield func([]byte, error) bool) {
		if now.Gen == 0 {
			return
		}
		stop := errors.New("no more chunks wanted")
		err := s.readGeneration(now.Gen, now.trailer, func(chunk []byte) error {
			if !yield(chunk, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(nil, fmt.Errorf("load snapshot %d: %w", now.Gen, err))
		}
	}
	return now.Gen, append([]byte(nil), now.Meta...), chunks, nil
}

// SnapshotBytes is the size of all chunks of the current generation.
func (s *Store) SnapshotBytes() int64 {
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	return s.snapshot.current.Bytes
}

// removeSuperfluous removes the generations below the current one and what its
// flip dropped. It stops when a new flip or Close comes.
func (s *Store) removeSuperfluous() error {
	s.snapshot.Lock()
	now, dirty := s.snapshot.current, s.snapshot.dirty
	s.snapshot.Unlock()
	if !dirty {
		return nil
	}
	if err := s.Sync(); err != nil { // the flip before what counts on it
		return err
	}
	if err := s.removeGenerations(now.Gen); err != nil {
		return err
	}
	for _, r := range now.Drop {
		first, limit := spaceRange(r.Space, r.From, r.To)
		if err := s.remove(first, limit); err != nil {
			return err
		}
	}
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	if s.snapshot.current.Gen == now.Gen {
		s.snapshot.dirty = false
	}
	return nil
}
