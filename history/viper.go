package history

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
)

// Viper's logs: a file J<n>.log a session, a JSON object a transaction:
//
//	{"value": [["w", key, value, true], ["r", key, value, false], ...]}
//
// w, i (insert) and d (delete) write. A delete leaves a value of its own that later reads show.
// So all three are writes of registers here. A range ["range", low, high, [{"id", "val"}, ...],
// [deleted, ...]] reads each row that it names. Values that are "nil" or null are the initial
// version. So is the one value of a key that is read and that nobody wrote (Viper lets a
// benchmark fill the store beforehand). So are the writes of a transaction with "isInitial".

// viperLog reads one such file.
type viperLog struct {
	*plain
	jsonScanner // of the line
	line        int64
}

func (p *plain) viperFile(data []byte, session uint32) error {
	p.unwrittenInitial = true
	if len(p.names) == 0 {
		p.session(0)
	}
	l := viperLog{plain: p}
	l.fail = func(at int, what string) error { return atLine(l.line, "byte %d: %s", at, what) }
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
		l.tell(line)
		id++
	}
	return nil
}

// txn reads one line.
func (l *viperLog) txn(session uint32, id int64) error {
	l.begin(session, id, l.line, event.Committed)
	sets, valued := false, false
	err := l.object(func(name []byte) error {
		switch string(name) {
		case "value":
			valued = true
			return l.list(l.operation)
		case "isInitial":
			sets = string(l.word()) == "true"
			return nil
		}
		return l.pass()
	})
	switch {
	case err != nil:
		return err
	case l.i != len(l.data):
		return l.want("the end of the line is expected")
	case !valued:
		return l.want("a transaction without \"value\"")
	}
	l.end()
	if sets {
		l.setInitial(&l.txns[len(l.txns)-1])
	}
	return nil
}

func (l *viperLog) operation() error {
	if !l.take('[') {
		return l.want("an operation is not an array")
	}
	name := string(l.word())
	switch name {
	case "r", "w", "i", "d":
	case "range":
		return l.scan()
	default:
		return l.want("operation %q is not one of r, w, i, d, range", name)
	}
	o := plainOp{}
	if name != "r" {
		o.flags = isWrite
	}
	for i, to := range [...]*int64{&o.key, &o.value} {
		if !l.take(',') {
			return l.want("key and value are expected")
		}
		n, nothing, err := l.integer()
		if err != nil {
			return err
		}
		if nothing && (i == 0 || name != "r") {
			return l.want("nil where %q needs a number", name)
		}
		if *to = n; nothing {
			o.flags |= initial
		}
	}
	for l.take(',') { // what was read before it, whether it is deleted
		if err := l.pass(); err != nil {
			return err
		}
	}
	if !l.take(']') {
		return l.want("']' is expected")
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
			return l.want("the bounds of a range are expected")
		}
		n, nothing, err := l.integer()
		if err != nil {
			return err
		}
		*b = plainBound{n, nothing}
	}
	for range 2 {
		if !l.take(',') {
			return l.want("the rows of a range are expected")
		}
		if err := l.list(l.row); err != nil {
			return err
		}
	}
	if l.take(',') {
		if err := l.pass(); err != nil {
			return err
		}
	}
	if !l.take(']') {
		return l.want("']' is expected")
	}
	r.end = uint32(len(l.ops))
	l.ranges = append(l.ranges, r)
	return nil
}

// row reads {"id": key, "val": value, ...} as a read.
func (l *viperLog) row() error {
	var o plainOp
	var id, val bool
	err := l.object(func(name []byte) error {
		switch string(name) {
		case "id", "val":
		default:
			return l.pass()
		}
		n, nothing, err := l.integer()
		if string(name) == "id" {
			o.key, id = n, !nothing
			return err
		}
		if o.value, val = n, true; nothing {
			o.flags |= initial
		}
		return err
	})
	if err == nil && (!id || !val) {
		err = l.want("a row without id or val")
	}
	l.ops = append(l.ops, o)
	return err
}
