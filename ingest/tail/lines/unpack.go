package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	unpackSize = 4096     // holds what tells the format of a file by its beginning
	packedSize = 64 << 10 // of what is packed, read in one go
)

// How packed content begins: gzip by RFC 1952, 2.3.1, zstd by RFC 8878, 3.1.1.
const (
	gzipBegin = "\x1f\x8b"
	zstdBegin = "\x28\xb5\x2f\xfd"
)

// windowMost is the most bytes that zstd may look back: 128 MiB, as with its own tool.
const windowMost = 128 << 20

// PackedBy names what text is packed by, by how it begins: gzip or zstd; "": it is not packed.
func PackedBy(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte(gzipBegin)):
		return "gzip"
	case bytes.HasPrefix(text, []byte(zstdBegin)):
		return "zstd"
	}
	return ""
}

// CutPacked cuts the ending off the name of a packed file: .gz or .zst.
func CutPacked(name string) (unpacked string, packed bool) {
	if before, ok := strings.CutSuffix(name, ".zst"); ok {
		return before, true
	}
	return strings.CutSuffix(name, ".gz")
}

// Unpack is the content of in, unpacked where it begins like gzip or zstd.
func Unpack(in io.Reader) (text *bufio.Reader, packed bool, err error) {
	text = bufio.NewReaderSize(in, unpackSize)
	begin, err := text.Peek(2) // a stream may hold no more yet
	if string(begin) == zstdBegin[:2] {
		begin, err = text.Peek(len(zstdBegin))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	var z io.Reader
	switch PackedBy(begin) {
	case "":
		return text, false, nil
	case "gzip":
		z, err = gzip.NewReader(bufio.NewReaderSize(text, packedSize))
	default: // in this goroutine, and without what must be closed
		var d *zstd.Decoder
		d, err = zstd.NewReader(text, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowMost))
		z = zstdReader{d}
	}
	if err != nil {
		return nil, false, fmt.Errorf("unpack: %w", err)
	}
	return bufio.NewReaderSize(z, unpackSize), true, nil
}

// zstdReader names zstd in errors, which the library does not.
type zstdReader struct{ from *zstd.Decoder }

func (z zstdReader) Read(p []byte) (int, error) {
	n, err := z.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("zstd: %w", err)
	}
	return n, err
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
