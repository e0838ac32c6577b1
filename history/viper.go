package history

import (
	"bytes"
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// Viper's logs: a file J<n>.log a session, a JSON object a transaction:
//
//	{"value": [["w", key, value, true], ["r", key, value, false], ...]}
//
// w, i (insert) and d (delete) write, and what a delete leaves is a value of its
// own that later reads show: so all three are writes of registers here. A range
// ["range", low, high, [{"id", "val"}, ...], [deleted, ...]] reads each row that
// it names. Values that are "nil" or null, and the one value of a key that is read
// and that nobody wrote, are the initial version (Viper lets a benchmark fill the
// store beforehand). So is what a transaction with "isInitial" wrote.

// viperLog reads one such file.
type viperLog struct {
	*plain
	data []byte // the line
	i    int
	line int64
}

func (p *plain) viperFile(data []byte, session uint32) error {
	p.unwrittenInitial = true
	if len(p.names) == 0 {
		p.session(0)
	}
	l := viperLog{plain: p}
	id := int64(1)
	for len(data) > 0 {
		l.line++
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		l.data, l.i, data = line, 0, rest
		if l.space(); l.i == len(l.data) {
			continue
		}
		if err := l.txn(session, id); err != nil {
			return err
		}
		id++
	}
	return nil
}

func (l *viperLog) fail(format string, args ...any) error {
	return atLine(l.line, "byte %d: %s", l.i, fmt.Sprintf(format, args...))
}

func (l *viperLog) space() {
	for l.i < len(l.data) && isSpace(l.data[l.i]) {
		l.i++
	}
}

// take passes c and what is white before and behind it.
func (l *viperLog) take(c byte) bool {
	l.space()
	if l.i == len(l.data) || l.data[l.i] != c {
		return false
	}
	l.i++
	l.space()
	return true
}

// word reads a string without escapes, or a bare word such as true.
func (l *viperLog) word() []byte {
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

// txn reads one line.
func (l *viperLog) txn(session uint32, id int64) error {
	l.begin(session, id, l.line, event.Committed)
	if !l.take('{') {
		return l.fail("an object is expected")
	}
	sets, valued := false, false
	for more := true; more; more = l.take(',') {
		name := string(l.word())
		if !l.take(':') {
			return l.fail("a name and ':' are expected")
		}
		switch name {
		case "value":
			if err := l.list(l.operation); err != nil {
				return err
			}
			valued = true
		case "isInitial":
			sets = string(l.word()) == "true"
		default:
			if l.number() {
				continue
			}
			if l.word() == nil {
				return l.fail("field %q is not known", name)
			}
		}
	}
	if !l.take('}') || l.i != len(l.data) {
		return l.fail("'}' and the end of the line are expected")
	}
	if !valued {
		return l.fail("a transaction without \"value\"")
	}
	l.end()
	if sets {
		l.setInitial(&l.txns[len(l.txns)-1])
	}
	return nil
}

// number passes a number of a field that means nothing here.
func (l *viperLog) number() bool {
	_, used := leadingInteger(l.data[l.i:])
	l.i += used
	return used > 0
}

// list reads an array, each of whose elements item reads.
func (l *viperLog) list(item func() error) error {
	if !l.take('[') {
		return l.fail("'[' is expected")
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
		return l.fail("',' or ']' is expected")
	}
	return nil
}

// integer reads a number; nothing is a "nil", 'nil' or null in its place.
func (l *viperLog) integer() (n int64, nothing bool, err error) {
	l.space()
	n, used := leadingInteger(l.data[l.i:])
	if l.i += used; used > 0 {
		return n, false, nil
	}
	switch string(l.word()) {
	case "nil", "null":
		return 0, true, nil
	}
	return 0, false, l.fail("an integer within 64 bits is expected")
}

func (l *viperLog) operation() error {
	if !l.take('[') {
		return l.fail("an operation is no array")
	}
	name := string(l.word())
	switch name {
	case "r", "w", "i", "d":
	case "range":
		return l.scan()
	default:
		return l.fail("operation %q is none of r, w, i, d, range", name)
	}
	o := plainOp{}
	if name != "r" {
		o.flags = isWrite
	}
	for i, to := range [...]*int64{&o.key, &o.value} {
		if !l.take(',') {
			return l.fail("key and value are expected")
		}
		n, nothing, err := l.integer()
		if err != nil {
			return err
		}
		if nothing && (i == 0 || name != "r") {
			return l.fail("nil where %q needs a number", name)
		}
		if *to = n; nothing {
			o.flags |= initial
		}
	}
	for l.take(',') { // what was read before it, whether it is deleted
		if !l.number() && len(l.word()) == 0 {
			return l.fail("a number, true or false is expected")
		}
	}
	if !l.take(']') {
		return l.fail("']' is expected")
	}
	l.ops = append(l.ops, o)
	return nil
}

// scan reads the rest of a range: its bounds, what it returned, what it found
// deleted, and perhaps a mark.
func (l *viperLog) scan() error {
	r := plainRange{txn: uint32(len(l.txns) - 1), op: uint32(len(l.ops))}
	for _, b := range [...]*plainBound{&r.low, &r.high} {
		if !l.take(',') {
			return l.fail("the bounds of a range are expected")
		}
		n, nothing, err := l.integer()
		if err != nil {
			return err
		}
		*b = plainBound{n, nothing}
	}
	for range 2 {
		if !l.take(',') {
			return l.fail("the rows of a range are expected")
		}
		if err := l.list(l.row); err != nil {
			return err
		}
	}
	if l.take(',') {
		l.word()
	}
	if !l.take(']') {
		return l.fail("']' is expected")
	}
	r.end = uint32(len(l.ops))
	l.ranges = append(l.ranges, r)
	return nil
}

// row reads {"id": key, "val": value, ...} as a read.
func (l *viperLog) row() error {
	if !l.take('{') {
		return l.fail("a row is no object")
	}
	var o plainOp
	var id, val bool
	for more := true; more; more = l.take(',') {
		name := string(l.word())
		if !l.take(':') {
			return l.fail("a name and ':' are expected")
		}
		n, nothing, err := l.integer()
		if err != nil {
			return err
		}
		switch name {
		case "id":
			o.key, id = n, !nothing
		case "val":
			if o.value, val = n, true; nothing {
				o.flags |= initial
			}
		}
	}
	if !l.take('}') {
		return l.fail("'}' is expected")
	}
	if !id || !val {
		return l.fail("a row without id or val")
	}
	l.ops = append(l.ops, o)
	return nil
}
