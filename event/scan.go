package event

import (
	"encoding/binary"
	"math/bits"

	"github.com/isowatch/isowatch/event/record"
)

// class is the kind of a JSON value. Its first byte tells it.
type class uint8

const (
	absent class = iota
	isNull
	isBool // true or false: the first byte tells which
	isNumber
	isString
	isArray
	isObject
)

// token is a value's place in the record. A string's quotes are part of it.
type token struct {
	off, end uint32
	class    class
	// dirty: the text is not canonical as written, because it holds an escape
	// or white space between its parts.
	dirty bool
}

// at is the byte at i, or 0, which no JSON text holds, behind the end.
func (d *Decoder) at(i int) byte {
	if uint(i) < uint(len(d.rec)) {
		return d.rec[i]
	}
	return 0
}

// space is the first offset from i on that is not white space.
func (d *Decoder) space(i int) int {
	for {
		switch d.at(i) {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
}

// value scans the value that starts at i. depth is the number of containers
// around it.
func (d *Decoder) value(i, depth int) (token, bool) {
	switch c := d.at(i); c {
	case '"':
		end, dirty := d.str(i)
		return token{uint32(i), uint32(end), isString, dirty}, end > 0
	case '{':
		end, dirty := d.skipObject(i, depth+1)
		return token{uint32(i), uint32(end), isObject, dirty}, end > 0
	case '[':
		end, dirty := d.elements(i, depth+1, nil)
		return token{uint32(i), uint32(end), isArray, dirty}, end > 0
	case 't':
		return d.literal(i, "true", isBool)
	case 'f':
		return d.literal(i, "false", isBool)
	case 'n':
		return d.literal(i, "null", isNull)
	default:
		if c == '-' || c-'0' <= 9 {
			end := d.number(i)
			return token{uint32(i), uint32(end), isNumber, false}, end > 0
		}
		return token{}, d.fail(i, "a value is expected")
	}
}

func (d *Decoder) literal(i int, word string, c class) (token, bool) {
	end := i + len(word)
	if end > len(d.rec) || string(d.rec[i:end]) != word {
		return token{}, d.fail(i, "a value is expected")
	}
	return token{uint32(i), uint32(end), c, false}, true
}

// number returns the offset behind the number at i, or -1.
func (d *Decoder) number(i int) int {
	if d.at(i) == '-' {
		i++
	}
	first := d.at(i)
	if first-'0' > 9 {
		return d.failAt(i, "a digit is expected")
	}
	i++
	if first != '0' {
		i = d.digits(i)
	} else if d.at(i)-'0' <= 9 {
		return d.failAt(i, "a number has a leading zero")
	}
	if d.at(i) == '.' {
		start := i + 1
		if i = d.digits(start); i == start {
			return d.failAt(i, "a digit is expected")
		}
	}
	if c := d.at(i); c == 'e' || c == 'E' {
		i++
		if c := d.at(i); c == '+' || c == '-' {
			i++
		}
		start := i
		if i = d.digits(start); i == start {
			return d.failAt(i, "a digit is expected")
		}
	}
	return i
}

func (d *Decoder) digits(i int) int {
	for d.at(i)-'0' <= 9 {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that a string may not pass over: the quote, the
// backslash, control characters. Only the lowest mark is exact, since a borrow
// runs upwards from it.
func special(w uint64) uint64 {
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs
}

// str returns the offset behind the string whose quote is at i, or -1, and
// whether the string holds an escape. UTF-8 was checked for the whole record.
func (d *Decoder) str(i int) (end int, escaped bool) {
	buf := d.rec
	for i++; ; {
		if i+8 <= len(buf) {
			m := special(binary.LittleEndian.Uint64(buf[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch c := d.at(i); {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			if i = d.escape(i); i < 0 {
				return -1, true
			}
			escaped = true
		case i >= len(buf):
			return d.failAt(i, "the record ends within a string"), false
		case c < ' ':
			return d.failAt(i, "a control character within a string"), false
		default:
			i++
		}
	}
}

// escape returns the offset behind the escape at i, or -1. An unpaired
// surrogate has no UTF-8 and would make different strings equal: refused.
func (d *Decoder) escape(i int) int {
	switch d.at(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		r, ok := d.hex4(i + 2)
		if !ok {
			return d.failAt(i, "four hexadecimal digits are expected after \\u")
		}
		if r < 0xD800 || r > 0xDFFF {
			return i + 6
		}
		if r <= 0xDBFF && d.at(i+6) == '\\' && d.at(i+7) == 'u' {
			if low, ok := d.hex4(i + 8); ok && 0xDC00 <= low && low <= 0xDFFF {
				return i + 12
			}
		}
		return d.failAt(i, "an unpaired surrogate")
	}
	return d.failAt(i, "an unknown escape")
}

func (d *Decoder) hex4(i int) (rune, bool) {
	if i+4 > len(d.rec) {
		return 0, false
	}
	return record.Hex4(d.rec[i:])
}

// elements scans the array whose bracket is at i and returns the offset behind
// it, or -1. With a batch it appends the elements' places to b.Elems.
func (d *Decoder) elements(i, depth int, b *Batch) (end int, dirty bool) {
	if depth > MaxDepth {
		return d.failAt(i, "nested more than 32 deep"), false
	}
	next := d.space(i + 1)
	dirty = next != i+1
	if i = next; d.at(i) == ']' {
		return i + 1, dirty
	}
	for {
		v, ok := d.value(i, depth)
		if !ok {
			return -1, false
		}
		if b != nil {
			if d.tooMany(b) {
				return d.failAt(i, tooManyElems), false
			}
			b.Elems = append(b.Elems, Elem{Value: Span{d.base + v.off, v.end - v.off}})
		}
		after := d.space(int(v.end))
		c := d.at(after)
		if c == ']' {
			return after + 1, dirty || v.dirty || after != int(v.end)
		}
		if c != ',' {
			return d.failAt(after, "',' or ']' is expected"), false
		}
		i = d.space(after + 1)
		dirty = dirty || v.dirty || after != int(v.end) || i != after+1
	}
}

const tooManyElems = "more elements in arrays than the memory has room for"

// tooMany says whether the record has as many elements as it may.
func (d *Decoder) tooMany(b *Batch) bool { return d.MaxElems > 0 && len(b.Elems)-d.elems >= d.MaxElems }

// skipObject scans the object whose brace is at i: a part of a value, or an unknown field. It
// returns the offset behind the object, or -1.
func (d *Decoder) skipObject(object, depth int) (end int, dirty bool) {
	if depth > MaxDepth {
		return d.failAt(object, "nested more than 32 deep"), false
	}
	names := d.names.open()
	i := d.space(object + 1)
	dirty = i != object+1
	if d.at(i) == '}' {
		return i + 1, dirty
	}
	for {
		name, ok := d.name(i)
		if !ok {
			return -1, false
		}
		if !d.names.add(d.nameText(name), names) {
			return d.failTwice(name), false
		}
		colon := d.space(int(name.end))
		if d.at(colon) != ':' {
			return d.failAt(colon, "':' is expected"), false
		}
		start := d.space(colon + 1)
		v, ok := d.value(start, depth)
		if !ok {
			return -1, false
		}
		after := d.space(int(v.end))
		dirty = dirty || name.dirty || v.dirty || colon != int(name.end) ||
			start != colon+1 || after != int(v.end)
		c := d.at(after)
		if c == '}' {
			d.names.close(names)
			return after + 1, dirty
		}
		if c != ',' {
			return d.failAt(after, "',' or '}' is expected"), false
		}
		i = d.space(after + 1)
		dirty = dirty || i != after+1
	}
}

// name scans the field name at i.
func (d *Decoder) name(i int) (token, bool) {
	if d.at(i) != '"' {
		return token{}, d.fail(i, "a field name is expected")
	}
	end, dirty := d.str(i)
	return token{uint32(i), uint32(end), isString, dirty}, end > 0
}

// nameText is the unescaped text of a name, valid until the next call.
func (d *Decoder) nameText(name token) []byte {
	text := d.rec[name.off+1 : name.end-1]
	if !name.dirty {
		return text
	}
	d.scratch = record.AppendUnescaped(d.scratch[:0], text)
	return d.scratch
}
