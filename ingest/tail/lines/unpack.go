package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

const (
	unpackSize = 4096     // holds what tells the format of a file by its beginning
	packedSize = 64 << 10 // of what is packed, read in one go
)

// Unpack is the content of in, unpacked where it begins like gzip (RFC 1952, 2.3.1).
func Unpack(in io.Reader) (text *bufio.Reader, packed bool, err error) {
	text = bufio.NewReaderSize(in, unpackSize)
	begin, err := text.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return text, false, nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(text, packedSize))
	if err != nil {
		return nil, false, fmt.Errorf("unpack: %w", err)
	}
	return bufio.NewReaderSize(z, unpackSize), true, nil
}

// Mark is the mark that some programs write at the beginning of a file in UTF-8. It belongs to
// no line.
const Mark = "\xef\xbb\xbf"

// unmarked is the first line of a file without its mark.
func (s *Splitter) unmarked(line []byte) []byte {
	if s.Numbered && s.Next == 1 || !s.Numbered && s.Next == 0 {
		return bytes.TrimPrefix(line, []byte(Mark))
	}
	return line
}
