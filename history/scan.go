package history

import (
	"bytes"
	"math"
)

// textScanner reads lines of texts and integers. Blank lines are skipped.
type textScanner struct {
	*chunks        // what is behind data, nil for nothing
	data    []byte // behind the line
	whole   []byte // the line
	cur     []byte // the rest of it
	line    int64  // its number, from 1
}

// linesOf are the lines of a file, which hold at most an operation of p each.
func linesOf(p *plain, data []byte) *textScanner {
	p.ops = make([]plainOp, 0, bytes.Count(data, []byte{'\n'})+1)
	return &textScanner{data: data}
}

// next goes to the next line that is not blank.
func (s *textScanner) next() bool {
	for {
		n := bytes.IndexByte(s.data, '\n')
		if n < 0 {
			more := false
			if s.data, more = s.behind(s.data); more {
				continue
			}
			if n = len(s.data); n == 0 {
				return false
			}
		}
		s.line++
		s.whole, s.data = s.data[:n], s.data[min(n+1, len(s.data)):]
		s.cur = s.whole
		for n := len(s.cur); n > 0 && isSpace(s.cur[n-1]); n = len(s.cur) {
			s.cur = s.cur[:n-1]
		}
		if len(s.cur) > 0 {
			return true
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' }

func (s *textScanner) rest() int { return len(s.cur) }

// byte takes one byte, 0 at the end of the line.
func (s *textScanner) byte() byte {
	if len(s.cur) == 0 {
		return 0
	}
	c := s.cur[0]
	s.cur = s.cur[1:]
	return c
}

// integer takes a decimal number within 64 bits.
func (s *textScanner) integer() (int64, bool) {
	n, used := leadingInteger(s.cur)
	s.cur = s.cur[used:]
	return n, used > 0
}

// leadingInteger reads the decimal number that text begins with; used is 0 when
// there is none within 64 bits.
func leadingInteger(text []byte) (n int64, used int) {
	i := 0
	limit := uint64(math.MaxInt64)
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		i, limit = 1, limit+1
	}
	first := i
	u := uint64(0)
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		c := uint64(text[i] - '0')
		if u > (limit-c)/10 {
			return 0, 0
		}
		u = u*10 + c
	}
	if i == first {
		return 0, 0
	}
	if negative {
		return -int64(u), i
	}
	return int64(u), i
}

// until takes the part of the line before c. If the line lacks c, it takes nothing.
func (s *textScanner) until(c byte) []byte {
	n := max(bytes.IndexByte(s.cur, c), 0)
	text := s.cur[:n]
	s.cur = s.cur[n:]
	return text
}

func (s *textScanner) fault(what string) error { return atLine(s.line, "%s", what) }
