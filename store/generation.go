package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// The chunks of a generation are a file of their own, beside Badger's. As records they would be
// written again at each level of the tree and removed again within seconds. With snapshots of
// 300 MB, one after every 64 MiB of deltas, that was nine tenths of the tree's work. The tables
// took 2 to 3 GB of memory. Only the trailer and the flip, which make a generation count, are
// in Badger.
//
// A chunk in the file: its length (uint32) and its xxh3 (uint64), little endian,
// and its bytes.
const (
	chunkHeader         = 4 + 8
	generationExtension = ".snapshot"
	// generationSync bytes are written between two syncs, so that the last one does not
	// hold up the sync of commits for seconds.
	generationSync = 32 << 20
)

func (s *Store) generationPath(gen uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", gen, generationExtension))
}

// writeGeneration writes the file of a generation and syncs it. If it fails, the file is
// removed.
func (s *Store) writeGeneration(gen uint64, chunks iter.Seq[[]byte]) (end trailer, err error) {
	path := s.generationPath(gen)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return end, err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	w, sums, unsynced := bufio.NewWriterSize(f, 1<<20), xxh3.New(), 0
	for chunk := range chunks {
		if err := s.writeChunk(w, sums, chunk); err != nil {
			return end, fmt.Errorf("chunk %d: %w", end.Chunks, err)
		}
		end.Chunks++
		end.Bytes += int64(len(chunk))
		if unsynced += len(chunk); unsynced >= generationSync {
			if err := errors.Join(w.Flush(), s.syncFile(f)); err != nil {
				return end, err
			}
			unsynced = 0
		}
	}
	end.Sum = sums.Sum64()
	if err := errors.Join(w.Flush(), s.syncFile(f)); err != nil || s.options.Unsynced {
		return end, err
	}
	return end, syncDir(s.dir)
}

// syncFile waits until f is on disk, where that matters.
func (s *Store) syncFile(f *os.File) error {
	if s.options.Unsynced {
		return nil
	}
	return f.Sync()
}

func (s *Store) writeChunk(w io.Writer, sums io.Writer, chunk []byte) error {
	if err := s.writable(); err != nil {
		return err
	}
	if len(chunk) > MaxChunk {
		return &TooBigError{Entries: 1, Bytes: int64(len(chunk)), MaxEntries: 1, MaxBytes: MaxChunk}
	}
	var head [chunkHeader]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(chunk)))
	binary.LittleEndian.PutUint64(head[4:], xxh3.Hash(chunk))
	_, _ = sums.Write(head[4:]) // a hash does not fail
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(chunk)
	return err
}

// readGeneration calls fn for each chunk of a generation, and checks each, their
// number and their sum. A chunk is valid in fn only.
func (s *Store) readGeneration(gen uint64, want trailer, fn func([]byte) error) error {
	f, err := os.Open(s.generationPath(gen))
	if err != nil {
		return err
	}
	defer f.Close()
	var seen trailer
	r, sums := bufio.NewReaderSize(f, 1<<20), xxh3.New()
	var chunk []byte
	for {
		var sum uint64
		chunk, sum, err = readChunk(r, chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("chunk %d: %w", seen.Chunks, err)
		}
		_, _ = sums.Write(binary.LittleEndian.AppendUint64(nil, sum))
		seen.Chunks++
		seen.Bytes += int64(len(chunk))
		if err := fn(chunk); err != nil {
			return err
		}
	}
	if seen.Sum = sums.Sum64(); seen != want {
		return fmt.Errorf("%d chunks of %d bytes (sum %x) are there, %d of %d (sum %x) were written",
			seen.Chunks, seen.Bytes, seen.Sum, want.Chunks, want.Bytes, want.Sum)
	}
	return nil
}

// readChunk is the next chunk, in the memory of room where it fits, and its checksum, io.EOF at the
// end of the file.
func readChunk(r io.Reader, room []byte) (chunk []byte, sum uint64, err error) {
	var head [chunkHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, 0, errors.New("the file ends within its header")
		}
		return nil, 0, err
	}
	n, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint64(head[4:])
	if n > MaxChunk {
		return nil, 0, fmt.Errorf("length %d, at most %d is written", n, MaxChunk)
	}
	if chunk = room; uint64(cap(chunk)) < uint64(n) {
		chunk = make([]byte, n)
	}
	chunk = chunk[:n]
	if have, err := io.ReadFull(r, chunk); err != nil {
		return nil, 0, fmt.Errorf("the file ends %d bytes early", int(n)-have)
	}
	if have := xxh3.Hash(chunk); have != sum {
		return nil, 0, fmt.Errorf("checksum %x, written with %x", have, sum)
	}
	return chunk, sum, nil
}

// removeGenerations removes the files and trailers of generations below gen.
func (s *Store) removeGenerations(gen uint64) error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		digits, ok := strings.CutSuffix(file.Name(), generationExtension)
		have, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil || have >= gen {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.remove(ownKey(trailerRecord), generationKey(trailerRecord, gen))
}
