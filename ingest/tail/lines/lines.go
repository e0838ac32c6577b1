// Package lines cuts a stream of bytes into messages, one a line.
package lines

import (
	"bytes"
	"slices"

	"github.com/isowatch/isowatch/ingest"
)

// DefaultMax is the longest line that is passed on whole, without its end: the
// largest record that decodes.
const DefaultMax = 16 << 20

// Splitter cuts what is read into it at line feeds. Lines that are empty, or
// hold a carriage return only, give no message. Use: read into Space, then Take
// what was read; End after the last byte.
type Splitter struct {
	// Max is the longest line passed on whole. Of a longer one the first Max+1
	// bytes are, so that the decoder sees that it is too long; the rest is not
	// kept in memory.
	Max int
	// Numbered makes offsets line numbers instead of positions of the line's
	// first byte.
	Numbered bool
	// Next is the offset of the line that the next byte belongs to, or begins.
	// Everything before it has been passed on.
	Next int64

	buf     []byte // the line under way, from its first byte
	scanned int    // no line feed in buf before it
	cut     []byte // not nil: the beginning of a line beyond Max
	dropped int64  // bytes of that line behind cut
}

// Space is room for n bytes behind what is kept.
func (s *Splitter) Space(n int) []byte {
	s.buf = slices.Grow(s.buf, n)
	return s.buf[len(s.buf) : len(s.buf)+n]
}

// Pending is the number of bytes taken that belong to no message yet.
func (s *Splitter) Pending() int64 { return int64(len(s.cut)) + s.dropped + int64(len(s.buf)) }

// Reset forgets the line under way and sets the offset of the next byte.
func (s *Splitter) Reset(next int64) {
	*s = Splitter{Max: s.Max, Numbered: s.Numbered, Next: next}
}

// Take cuts the first n bytes of the Space given last. The messages share one
// buffer, which is the caller's from then on.
func (s *Splitter) Take(n int) []ingest.Message {
	s.buf = s.buf[:len(s.buf)+n]
	last := bytes.LastIndexByte(s.buf[s.scanned:], '\n')
	if last < 0 {
		s.keep()
		return nil
	}
	whole, rest := s.buf[:s.scanned+last+1], s.buf[s.scanned+last+1:]
	messages := make([]ingest.Message, 0, bytes.Count(whole, []byte{'\n'}))
	for len(whole) > 0 {
		end := bytes.IndexByte(whole, '\n')
		messages = s.add(messages, whole[:end:end], 1)
		whole = whole[end+1:]
	}
	s.buf = append([]byte(nil), rest...)
	s.keep()
	return messages
}

// End passes on a last line without line feed.
func (s *Splitter) End() []ingest.Message {
	if s.Pending() == 0 {
		return nil
	}
	messages := s.add(nil, s.buf, 0)
	s.buf, s.scanned = nil, 0
	return messages
}

// add appends the line that ends with tail, behind what was cut off before, and
// moves Next behind it and its line feed (feed is 0 or 1 bytes).
func (s *Splitter) add(messages []ingest.Message, tail []byte, feed int64) []ingest.Message {
	line, length := tail, int64(len(tail))
	if s.cut != nil {
		line, length = s.cut, int64(len(s.cut))+s.dropped+int64(len(tail))
		s.cut, s.dropped = nil, 0
	}
	if len(line) > s.Max+1 {
		line = line[: s.Max+1 : s.Max+1]
	}
	if len(line) > 0 && !(len(line) == 1 && line[0] == '\r') {
		messages = append(messages, ingest.Message{Offset: s.Next, Value: line})
	}
	if s.Numbered {
		s.Next++
	} else {
		s.Next += length + feed
	}
	return messages
}

// keep bounds the line under way.
func (s *Splitter) keep() {
	s.scanned = len(s.buf)
	switch {
	case s.cut != nil:
		s.dropped += int64(len(s.buf))
		s.buf, s.scanned = s.buf[:0], 0
	case len(s.buf) > s.Max+1:
		s.cut, s.dropped = s.buf[:s.Max+1:s.Max+1], int64(len(s.buf)-s.Max-1)
		s.buf, s.scanned = nil, 0
	}
}
