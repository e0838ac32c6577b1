// Package lines cuts a stream of bytes into messages, one a line, or one a
// record of Protobuf.
package lines

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/isowatch/isowatch/ingest"
)

// DefaultMax is the longest line that is passed on whole, without its end: the
// largest record that decodes.
const DefaultMax = 16 << 20

// Splitter cuts its input at line feeds. Lines that are empty, or hold a carriage return only,
// give no message. Input that begins like a record of Protobuf is cut by its length instead.
// Use: read into Space, then Take the bytes read; End after the last byte.
type Splitter struct {
	// Max is the longest line passed on whole. A longer one is passed on with its first Max+1
	// bytes, so that the decoder sees that it is too long. The rest is not kept in memory.
	Max int
	// Numbered makes offsets line numbers instead of positions of the line's
	// first byte.
	Numbered bool
	// Next is the offset of the line that the next byte belongs to, or begins.
	// Everything before it has been passed on.
	Next int64

	buf     []byte // the line under way, from its first byte
	scanned int    // no line feed in buf before it
	cut     []byte // not nil: the beginning of a line or record beyond Max
	dropped int64  // bytes of that one behind cut
	missing int64  // not 0: cut is of a record that ends after so many bytes more
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
	var messages []ingest.Message
	if lines := bytes.Count(s.buf[s.scanned:], []byte{'\n'}); lines > 0 {
		messages = make([]ingest.Message, 0, lines)
	}
	rest, waits := s.buf, false
	for len(rest) > 0 && !waits {
		if s.missing > 0 {
			rest = s.drop(rest)
			if s.missing == 0 {
				messages = s.add(messages, nil, 0)
			}
			continue
		}
		if rest[0] == frameTag && s.cut == nil {
			head, body := frame(rest)
			size := head + body
			if body > int64(s.Max) {
				s.missing, s.cut = size, []byte{}
				continue
			}
			if head > 0 && size <= int64(len(rest)) {
				messages = append(messages, ingest.Message{Offset: s.Next, Value: rest[:size:size]})
				s.advance(size)
				rest, s.scanned = rest[size:], 0
				continue
			}
			if head >= 0 {
				waits = true // it has not come as a whole
				continue
			}
		}
		end := bytes.IndexByte(rest[s.scanned:], '\n')
		if end < 0 {
			break
		}
		end += s.scanned
		messages = s.add(messages, rest[:end:end], 1)
		rest, s.scanned = rest[end+1:], 0
	}
	if len(messages) > 0 || len(rest) < len(s.buf) {
		s.buf = append([]byte(nil), rest...)
	}
	if s.scanned = len(s.buf); !waits {
		s.keep()
	}
	return messages
}

// drop takes what rest holds of a record that is too long.
func (s *Splitter) drop(rest []byte) []byte {
	k := int(min(s.missing, int64(len(rest))))
	kept := min(k, s.Max+1-len(s.cut))
	s.cut = append(s.cut, rest[:kept]...)
	s.dropped += int64(k - kept)
	s.missing -= int64(k)
	s.scanned = 0
	return rest[k:]
}

// frameTag begins a record of Protobuf, field 2 of Records in
// event/isowatch.proto. No line of JSON begins with it.
const frameTag = 2<<3 | 2

// frame reads the tag and the length that a record begins with. head is 0 when they have not
// come as a whole, and -1 when the input does not begin with them.
func frame(b []byte) (head, body int64) {
	n, size := binary.Uvarint(b[1:])
	switch {
	case size > 0 && n <= math.MaxInt32:
		return int64(1 + size), int64(n)
	case size == 0 && len(b) <= binary.MaxVarintLen64:
		return 0, 0
	}
	return -1, 0
}

// End passes on a last line without line feed.
func (s *Splitter) End() []ingest.Message {
	if s.Pending() == 0 {
		return nil
	}
	messages := s.add(nil, s.buf, 0)
	s.buf, s.scanned, s.missing = nil, 0, 0
	return messages
}

// add appends the line that ends with tail, behind the part that was cut off before. It moves
// Next behind the line and its line feed (feed is 0 or 1 bytes).
func (s *Splitter) add(messages []ingest.Message, tail []byte, feed int64) []ingest.Message {
	line, length := tail, int64(len(tail))
	if s.cut != nil {
		line, length = s.cut, int64(len(s.cut))+s.dropped+int64(len(tail))
		s.cut, s.dropped = nil, 0
	}
	if len(line) > s.Max+1 {
		line = line[: s.Max+1 : s.Max+1]
	}
	line = s.unmarked(line)
	if len(line) > 0 && !(len(line) == 1 && line[0] == '\r') {
		messages = append(messages, ingest.Message{Offset: s.Next, Value: line})
	}
	s.advance(length + feed)
	return messages
}

// advance moves Next behind a line or record of n bytes.
func (s *Splitter) advance(n int64) {
	if s.Numbered {
		n = 1
	}
	s.Next += n
}

// keep bounds the line under way.
func (s *Splitter) keep() {
	switch {
	case s.cut != nil:
		s.dropped += int64(len(s.buf))
		s.buf, s.scanned = s.buf[:0], 0
	case len(s.buf) > s.Max+1:
		s.cut, s.dropped = s.buf[:s.Max+1:s.Max+1], int64(len(s.buf)-s.Max-1)
		s.buf, s.scanned = nil, 0
	}
}
