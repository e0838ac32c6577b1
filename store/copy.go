package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// A copy is a row of parts. Each begins with its kind. The same form holds what was committed since, so
// a copy with commits behind it is a copy too.
const (
	partCommit   = 'c' // count; for each: space, 1 if it is removed, key, value
	partSnapshot = 's' // generation, meta; its chunks follow
	partChunk    = 'k'
	partEnd      = 'e' // of the snapshot's chunks
)

// maxPart bounds a key, a value or a chunk of a copy: a larger one is damage.
const maxPart = 64 << 20

// AppendCommit appends what Commit was given, in the form of a copy.
func AppendCommit(dst []byte, entries []Entry) []byte {
	dst = binary.AppendUvarint(append(dst, partCommit), uint64(len(entries)))
	for i := range entries {
		e := &entries[i]
		removed := byte(0)
		if e.Delete {
			removed = 1
		}
		dst = appendBytes(append(dst, byte(e.Space), removed), e.Key)
		dst = appendBytes(dst, e.Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Copy is all that is committed at one instant, and the snapshot that counts then.
type Copy struct {
	txn  *badger.Txn
	now  current
	file *os.File // of the snapshot; nil: there is none
}

// Copy begins a copy. marked is called at its instant: no commit is under way then. The copy must be closed before
// the store.
func (s *Store) Copy(marked func()) (*Copy, error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.closed.Load() {
		return nil, fmt.Errorf("copy: %w", ErrClosed)
	}
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	c := &Copy{now: s.snapshot.current}
	if c.now.Gen != 0 {
		var err error
		if c.file, err = os.Open(s.generationPath(c.now.Gen)); err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
	}
	c.txn = s.db.NewTransaction(false)
	marked()
	return c, nil
}

// Close ends the copy.
func (c *Copy) Close() error {
	c.txn.Discard()
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// Bytes is the size of the snapshot's state.
func (c *Copy) Bytes() int64 { return c.now.Bytes }

// Write writes the copy.
func (c *Copy) Write(ctx context.Context, to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<20)
	if c.file != nil {
		if err := c.writeSnapshot(ctx, w); err != nil {
			return fmt.Errorf("copy: snapshot %d: %w", c.now.Gen, err)
		}
	}
	it := c.txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	var part []byte
	for it.Rewind(); it.Valid(); it.Next() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		key := it.Item().Key()
		if len(key) == 0 || checkSpace(Space(key[0])) != nil {
			continue // the store's own: a store that is made of the copy has its own
		}
		err := valueOf(it.Item(), func(value []byte) error {
			part = AppendCommit(part[:0], []Entry{{Space: Space(key[0]), Key: key[1:], Value: value}})
			_, err := w.Write(part)
			return err
		})
		if err != nil {
			return fmt.Errorf("copy: %w", err)
		}
	}
	return w.Flush()
}

func (c *Copy) writeSnapshot(ctx context.Context, w *bufio.Writer) error {
	head := binary.AppendUvarint([]byte{partSnapshot}, c.now.Gen)
	if _, err := w.Write(appendBytes(head, c.now.Meta)); err != nil {
		return err
	}
	var chunks uint32
	r := bufio.NewReaderSize(c.file, 1<<20)
	for chunk := []byte(nil); ; {
		var err error
		chunk, _, err = readChunk(r, chunk)
		if errors.Is(err, io.EOF) {
			break
		} else if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		chunks++
		if _, err := w.Write(appendBytes([]byte{partChunk}, chunk)); err != nil {
			return err
		}
	}
	if chunks != c.now.Chunks {
		return fmt.Errorf("%w: it has %d chunks of %d", ErrDamaged, chunks, c.now.Chunks)
	}
	return w.WriteByte(partEnd)
}

// Restore commits a copy, and the commits behind it, to an empty store.
func (s *Store) Restore(ctx context.Context, from io.Reader) error {
	r := &copyReader{r: bufio.NewReaderSize(from, 1<<20)}
	entries, bytes := s.Limits()
	var batch []Entry
	size := int64(0)
	flush := func() error {
		err := s.Commit(batch)
		batch, size = batch[:0], 0
		return err
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		kind, err := r.r.ReadByte()
		if errors.Is(err, io.EOF) {
			if len(batch) > 0 {
				return flush()
			}
			return nil
		} else if err != nil {
			return err
		}
		switch kind {
		case partSnapshot:
			err = s.restoreSnapshot(r)
		case partCommit:
			for n := r.number(); n > 0 && r.err == nil; n-- {
				e := Entry{Space: Space(r.byte()), Delete: r.byte() == 1, Key: r.bytes(), Value: r.bytes()}
				more := int64(len(e.Key) + len(e.Value) + EntryOverhead)
				if len(batch) > 0 && (int64(len(batch)) >= entries || size+more > bytes) {
					if err := flush(); err != nil {
						return err
					}
				}
				batch, size = append(batch, e), size+more
			}
			err = r.err
		default:
			err = fmt.Errorf("%w: a part of the kind %d", ErrFormat, kind)
		}
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
}

func (s *Store) restoreSnapshot(r *copyReader) error {
	gen, meta := r.number(), r.bytes()
	failed := r.err
	err := s.WriteSnapshot(gen, func(yield func([]byte) bool) {
		for failed == nil {
			kind := r.byte()
			if failed = r.err; kind == partEnd || failed != nil {
				return
			}
			chunk := r.bytes()
			if failed = r.err; kind != partChunk {
				failed = fmt.Errorf("%w: a chunk of the kind %d", ErrFormat, kind)
			}
			if failed != nil || !yield(chunk) {
				return
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return s.FlipSnapshot(gen, meta)
}

// copyReader reads parts. The first error stays.
type copyReader struct {
	r   *bufio.Reader
	err error
}

func (r *copyReader) number() uint64 {
	if r.err != nil {
		return 0
	}
	var n uint64
	if n, r.err = binary.ReadUvarint(r.r); r.err != nil {
		r.cut()
	}
	return n
}

func (r *copyReader) byte() byte {
	if r.err != nil {
		return 0
	}
	var b byte
	if b, r.err = r.r.ReadByte(); r.err != nil {
		r.cut()
	}
	return b
}

func (r *copyReader) bytes() []byte {
	n := r.number()
	if r.err == nil && n > maxPart {
		r.err = fmt.Errorf("%w: a part of %d bytes", ErrFormat, n)
	}
	if r.err != nil {
		return nil
	}
	b := slices.Grow([]byte{}, int(n))[:n]
	if _, r.err = io.ReadFull(r.r, b); r.err != nil {
		r.cut()
	}
	return b
}

func (r *copyReader) cut() {
	if errors.Is(r.err, io.EOF) {
		r.err = fmt.Errorf("%w: the copy ends early", ErrDamaged)
	}
}

// EachCommitted calls fn for the entries of a copy and of the commits behind it, in their order. Chunks of snapshots are
// passed over.
func EachCommitted(from io.Reader, fn func(Entry) error) error {
	r := &copyReader{r: bufio.NewReaderSize(from, 1<<20)}
	for {
		kind, err := r.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch kind {
		case partSnapshot:
			r.number()
			r.bytes()
		case partChunk:
			r.bytes()
		case partEnd:
		case partCommit:
			for n := r.number(); n > 0 && r.err == nil; n-- {
				e := Entry{Space: Space(r.byte()), Delete: r.byte() == 1, Key: r.bytes(), Value: r.bytes()}
				if r.err == nil {
					if err := fn(e); err != nil {
						return err
					}
				}
			}
		default:
			return fmt.Errorf("%w: a part of the kind %d", ErrFormat, kind)
		}
		if r.err != nil {
			return r.err
		}
	}
}
