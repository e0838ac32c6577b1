package history

import (
	"bytes"
	"fmt"
)

// jsonScanner reads the JSON that other checkers write, where it is known what stands where. It
// does not judge JSON: a part that it passes over may be anything with balanced brackets.
type jsonScanner struct {
	data []byte
	i    int
	fail func(at int, what string) error
}

// want says what is wrong here.
func (l *jsonScanner) want(format string, args ...any) error {
	return l.fail(l.i, fmt.Sprintf(format, args...))
}

func (l *jsonScanner) space() {
	for l.i < len(l.data) && isSpace(l.data[l.i]) {
		l.i++
	}
}

// take passes c and what is white before and behind it.
func (l *jsonScanner) take(c byte) bool {
	l.space()
	if l.i == len(l.data) || l.data[l.i] != c {
		return false
	}
	l.i++
	l.space()
	return true
}

// word reads a string without escapes, or a bare word such as true.
func (l *jsonScanner) word() []byte {
	l.space()
	from := l.i
	if l.take('"') {
		n := bytes.IndexByte(l.data[from+1:], '"')
		if n < 0 {
			return nil
		}
		l.i = from + n + 2
		return l.data[from+1 : from+1+n]
	}
	for l.i < len(l.data) && l.data[l.i]|0x20 >= 'a' && l.data[l.i]|0x20 <= 'z' {
		l.i++
	}
	return l.data[from:l.i]
}

// integer reads a number; nothing is a "nil" or null in its place.
func (l *jsonScanner) integer() (n int64, nothing bool, err error) {
	l.space()
	n, used := leadingInteger(l.data[l.i:])
	if l.i += used; used > 0 {
		return n, false, nil
	}
	switch string(l.word()) {
	case "nil", "null":
		return 0, true, nil
	}
	return 0, false, l.want("an integer within 64 bits is expected")
}

// list reads an array, each of whose elements item reads.
func (l *jsonScanner) list(item func() error) error {
	if !l.take('[') {
		return l.want("'[' is expected")
	}
	if l.take(']') {
		return nil
	}
	for more := true; more; more = l.take(',') {
		if err := item(); err != nil {
			return err
		}
	}
	if !l.take(']') {
		return l.want("',' or ']' is expected")
	}
	return nil
}

// object reads an object, each of whose values field reads, given its name.
func (l *jsonScanner) object(field func(name []byte) error) error {
	if !l.take('{') {
		return l.want("'{' is expected")
	}
	if l.take('}') {
		return nil
	}
	for more := true; more; more = l.take(',') {
		name := l.word()
		if !l.take(':') {
			return l.want("a name and ':' are expected")
		}
		if err := field(name); err != nil {
			return err
		}
	}
	if !l.take('}') {
		return l.want("',' or '}' is expected")
	}
	return nil
}

// pass goes behind a value that means nothing here.
func (l *jsonScanner) pass() error {
	l.space()
	from, depth := l.i, 0
	for ; l.i < len(l.data); l.i++ {
		switch c := l.data[l.i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return l.passed(from)
			}
			depth--
		case ',':
			if depth == 0 {
				return l.passed(from)
			}
		case '"':
			for l.i++; l.i < len(l.data) && l.data[l.i] != '"'; l.i++ {
				if l.data[l.i] == '\\' {
					l.i++
				}
			}
		}
	}
	l.i = min(l.i, len(l.data))
	if depth > 0 {
		return l.want("the file ends within a value")
	}
	return l.passed(from)
}

func (l *jsonScanner) passed(from int) error {
	if l.i == from {
		return l.want("a value is expected")
	}
	return nil
}
