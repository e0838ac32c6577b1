package history

import (
	"bytes"
	"errors"
	"io"
)

// pieces are a file whose maps are read while it is read: no more of it is in memory than a piece. A map that goes on
// behind the piece is read once more, with what comes next.
type pieces struct {
	in    io.Reader      // what is behind the piece, nil for nothing
	least int            // bytes of a piece
	lines int64          // before the piece
	held  bool           // nodes name bytes of the piece: they may not be overwritten
	drop  func(from int) // unless nil, is told that the bytes before from go
	rest  *nodeReader    // of values that were left for later
}

const pieceBytes = 256 << 10

// readOn makes the piece begin at from, and adds what comes next to it. It does nothing at the end of the file.
func (r *nodeReader) readOn(from int) error {
	if r.in == nil {
		return nil
	}
	if r.drop != nil {
		r.drop(from)
	}
	r.lines += int64(bytes.Count(r.data[:from], []byte{'\n'}))
	rest, buf := r.data[from:], r.data[:cap(r.data)]
	if r.held || 2*len(rest) >= len(buf) {
		buf = make([]byte, max(r.least, 3*len(rest)))
	}
	copy(buf, rest)
	n, err := io.ReadFull(r.in, buf[len(rest):])
	if err != nil {
		r.in = nil
	}
	r.data, r.i, r.held = buf[:len(rest)+n], 0, false
	r.stack, r.depth = r.stack[:0], 0
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
