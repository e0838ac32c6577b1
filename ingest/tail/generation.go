package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// errTruncated means that the file no longer holds what was read from it.
var errTruncated = errors.New("the file was truncated")

// generation is one file of a path, held open: neither rename nor deletion
// takes it away before it is read.
type generation struct {
	path    string // where it was found
	file    *os.File
	inode   inode
	content io.Reader // what the file is compressed from; nil: it is not compressed
	first   []byte    // of the content as read, fingerprintMost at most; empty where reading began later
	copied  bool      // a copy made before a truncation
	at      int64     // bytes of the content read
	id      identity  // with a fingerprint from the first line on
	split   lines.Splitter

	gaps       []ingest.Gap // before its next message
	quiet      int          // turns without new bytes since the last ones
	quietSince time.Time
}

// open opens the file at path to read on from byte next, or from line next
// with line numbers.
func open(path string, o *Options, next int64) (*generation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	g := &generation{path: path, file: f, split: lines.Splitter{Max: o.MaxLine, Numbered: o.LineNumbers, Next: next}}
	if !o.LineNumbers {
		g.at = next
	}
	if err := g.begin(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

func (g *generation) begin() error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", g.path)
	}
	g.inode = inodeOf(info)
	g.id = identity{inode: g.inode, hash: xxh3.Hash(nil)}
	content, packed, err := lines.Unpack(whole(g.file))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", g.path, err)
	case !packed:
		return nil
	}
	g.first = make([]byte, fingerprintMost)
	n, err := readFull(content, g.first)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", g.path, err)
	}
	g.first = g.first[:n]
	g.content = io.MultiReader(bytes.NewReader(g.first), content)
	_, err = io.CopyN(io.Discard, g.content, g.at)
	return err
}

// whole is the content of f, read without moving its offset.
func whole(f *os.File) io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }

// static reports that the file does not grow.
func (g *generation) static() bool { return g.content != nil || g.copied }

// hasContent reports that the file is not empty.
func (g *generation) hasContent() bool {
	info, err := g.file.Stat()
	return err == nil && info.Size() > 0
}

// read takes up to readSize bytes and returns the lines that they complete, and whether the end
// was reached. Bytes count only if the file's beginning is the same after they were read. A
// file that was truncated and has grown again beyond the position gives errTruncated.
func (g *generation) read() (messages []ingest.Message, atEnd bool, err error) {
	var space []byte
	n := 0
	if g.content != nil {
		space = g.split.Space(readSize)
		n, err = readFull(g.content, space)
		atEnd = err == io.EOF
		if err != nil && !atEnd {
			return nil, false, fmt.Errorf("%s: %w", g.path, err)
		}
	} else if space, atEnd, err = g.readPlain(); err != nil {
		return nil, false, err
	} else {
		n = len(space)
	}
	if g.at == int64(len(g.first)) && g.at < fingerprintMost {
		g.first = append(g.first, space[:min(n, fingerprintMost-int(g.at))]...)
	}
	g.at += int64(n)
	messages = g.split.Take(n)
	g.identify()
	return messages, atEnd, nil
}

// readPlain returns the bytes that it read into room of the splitter. It takes no more room
// than there are bytes. A file at rest should hold no memory, and a single line should not hold
// a large buffer.
func (g *generation) readPlain() (read []byte, atEnd bool, err error) {
	info, err := g.file.Stat()
	if err != nil {
		return nil, false, err
	}
	left := info.Size() - g.at
	if left < 0 {
		return nil, false, errTruncated
	}
	space := g.split.Space(int(min(left, readSize)))
	n, err := g.file.ReadAt(space, g.at)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	return space[:n], left <= readSize, g.verify()
}

// readFull is io.ReadFull with other errors: io.EOF at the end of r even after some bytes, and
// any other error as r gives it.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	return n, err
}

// verify compares the first bytes with the fingerprint.
func (g *generation) verify() error {
	if !g.id.known() {
		return nil
	}
	hash, err := g.hash(g.id.n)
	if err == io.EOF || err == io.ErrUnexpectedEOF || err == nil && hash != g.id.hash {
		return errTruncated
	}
	return err
}

// identify gives the generation its identity once its first line is known. It takes the bytes
// that were read, since the file may be another one by now. Where reading began behind them
// they are read for it, and a failure leaves that to the next call.
func (g *generation) identify() {
	if g.id.known() || g.split.Numbered || g.split.Next == 0 {
		return
	}
	n := int(min(g.split.Next, fingerprintMost))
	if len(g.first) >= n {
		g.id = identity{inode: g.inode, n: n, hash: xxh3.Hash(g.first[:n])}
	} else if hash, err := g.hash(n); err == nil {
		g.id = identity{inode: g.inode, n: n, hash: hash}
	}
}

// hash is the fingerprint of the first n bytes.
func (g *generation) hash(n int) (uint64, error) {
	if g.content != nil {
		return fingerprint(bytes.NewReader(g.first), n)
	}
	return fingerprint(io.NewSectionReader(g.file, 0, int64(n)), n)
}

func (g *generation) cursor() ingest.Cursor {
	if g.split.Numbered {
		return ingest.Cursor{Next: g.split.Next}
	}
	return ingest.Cursor{Next: g.split.Next, Identity: g.id.String()}
}

func (g *generation) close() { _ = g.file.Close() }
