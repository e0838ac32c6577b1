package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// file is a rotating file.
type file struct {
	path     string
	maxBytes int64
	keep     int

	f    *os.File
	size int64
	buf  []byte
}

// File is a sink that appends to the file at path, one record a line. Before it would
// grow beyond maxBytes it is renamed to path.1, path.1 to path.2 and so on, and keep
// of these are kept. `monitor run --tail` follows that; it must have read the oldest
// before it goes. Each process needs a file of its own. The folder must be there.
func File(path string, maxBytes int64, keep int) (Sink, error) {
	if maxBytes < 1 || keep < 1 {
		return nil, fmt.Errorf("capture: file %s: %d bytes and %d old files: both must be at least 1", path, maxBytes, keep)
	}
	s := &file{path: path, maxBytes: maxBytes, keep: keep}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *file) open() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	s.f = f
	if s.size, err = s.endLine(); err != nil {
		return errors.Join(fmt.Errorf("capture: %w", err), s.Close())
	}
	return nil
}

// endLine ends the last line, which a process may have left half-written, and returns
// the file's size.
func (s *file) endLine() (int64, error) {
	info, err := s.f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	last := make([]byte, 1)
	if _, err := s.f.ReadAt(last, info.Size()-1); err != nil {
		return 0, err
	}
	if last[0] == '\n' {
		return info.Size(), nil
	}
	_, err = s.f.Write([]byte{'\n'})
	return info.Size() + 1, err
}

// Write appends lines. The files take turns between them, so that each line is whole.
func (s *file) Write(_ context.Context, lines [][]byte) error {
	for len(lines) > 0 {
		if s.f == nil {
			if err := s.open(); err != nil {
				return err
			}
		}
		n := s.fit(lines)
		if n == 0 {
			if err := s.rotate(); err != nil {
				return err
			}
			continue
		}
		if err := s.append(lines[:n]); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// fit is how many of lines the file takes; at least one if it is empty.
func (s *file) fit(lines [][]byte) int {
	size := s.size
	for i, line := range lines {
		if size += int64(len(line)) + 1; size > s.maxBytes && (i > 0 || s.size > 0) {
			return i
		}
	}
	return len(lines)
}

func (s *file) append(lines [][]byte) error {
	s.buf = s.buf[:0]
	for _, line := range lines {
		s.buf = append(append(s.buf, line...), '\n')
	}
	if _, err := s.f.Write(s.buf); err != nil {
		// When the file is next opened, the part that was written is cut off, or ended as a
		// line.
		return errors.Join(fmt.Errorf("capture: %w", err), s.f.Truncate(s.size), s.Close())
	}
	s.size += int64(len(s.buf))
	return nil
}

// rotate renames the files and begins a new one.
func (s *file) rotate() error {
	if err := s.Close(); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	for i := s.keep - 1; i >= 1; i-- {
		if err := os.Rename(s.old(i), s.old(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("capture: %w", err)
		}
	}
	if err := os.Rename(s.path, s.old(1)); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return s.open()
}

func (s *file) old(i int) string { return fmt.Sprintf("%s.%d", s.path, i) }

// Close closes the file.
func (s *file) Close() error {
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}

// Writer is a sink that writes one record a line to w, such as standard output, and
// never closes it. After an error of w records may be there twice, or cut.
func Writer(w io.Writer) Sink { return &writer{w: w} }

type writer struct {
	w   io.Writer
	buf []byte
}

func (s *writer) Write(_ context.Context, lines [][]byte) error {
	s.buf = s.buf[:0]
	for _, line := range lines {
		s.buf = append(append(s.buf, line...), '\n')
	}
	_, err := s.w.Write(s.buf)
	return err
}

func (s *writer) Close() error { return nil }
