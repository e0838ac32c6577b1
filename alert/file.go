package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// File appends findings to a file, one JSON object a line. It opens the file for
// each delivery, so that it may be rotated by renaming it.
type File struct{ name, path string }

// NewFile appends to path; name is the sink's.
func NewFile(name, path string) *File { return &File{name, path} }

// Name is the sink's.
func (f *File) Name() string { return f.name }

// Deliver returns when the lines are on disk.
func (f *File) Deliver(_ context.Context, findings []Delivery) error {
	var out []byte
	for i := range findings {
		out = append(append(out, findings[i].JSON...), '\n')
	}
	return f.add(out)
}

// Digest implements [Digester].
func (f *File) Digest(_ context.Context, held []Held) error {
	text, err := digestBody(held)
	if err != nil {
		return err
	}
	return f.add(append(text, '\n'))
}

// add writes behind the last whole line. A line that a full disk or a kill
// cut off is removed first, if it is ours; it comes again.
func (f *File) add(text []byte) error {
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	end, err := wholeLines(file)
	if err == nil {
		var ours bool
		if ours, end, err = cutOff(file, end); err == nil && ours {
			err = file.Truncate(end)
		} else if err == nil && end > 0 {
			text = append([]byte{'\n'}, text...) // behind what somebody else wrote
		}
	}
	if err == nil {
		_, err = file.WriteAt(text, end)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return nil
}

// cutOff says whether what stands behind end is the beginning of one of our lines, and
// where to write: there, or behind it.
func cutOff(file *os.File, end int64) (ours bool, at int64, err error) {
	begin := make([]byte, 2)
	n, err := file.ReadAt(begin, end)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, 0, err
	}
	if n == 0 || bytes.HasPrefix([]byte(`{"`), begin[:n]) {
		return true, end, nil
	}
	info, err := file.Stat()
	if err != nil {
		return false, 0, err
	}
	return false, info.Size(), nil
}

// wholeLines is where the last whole line ends.
func wholeLines(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New(file.Name() + " is not a regular file")
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		n := min(int64(len(buf)), end)
		if _, err := file.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				return end - n + i + 1, nil
			}
		}
		end -= n
	}
	return 0, nil
}
