package history

import (
	"bytes"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Nearly all records of a history are plain: an invocation, or a completion that succeeded, of a
// transaction that reads, writes and appends integers. They are read in one pass, from the bytes of the file
// to the batch. The readers of nodes and of JSON take everything else. Both ways give the same
// transactions (TestPlain).

// plainRecord is a map of a history, as far as it has been read.
type plainRecord struct {
	typ     byte // 'i' is an invocation, 'o' succeeded
	process []byte
	index   int64
	time    int64
	value   []byte // of an invocation
	has     byte   // bits of the fields that it has
}

const (
	hasType = 1 << iota
	hasProcess
	hasIndex
	hasTime
	hasF
	hasValue
)

// plain takes the map at e.nodes.i, if it is plain.
func (e *elleReader) plain() (taken bool, err error) {
	b, at := e.Batch, e.nodes.i
	data, ops, elems := len(b.Data), len(b.Ops), len(b.Elems)
	x := plainRecord{}
	end := e.plainFields(&x)
	var p *elleProcess
	if end > 0 {
		p = e.processes[string(x.process)]
		if x.typ == 'i' && p != nil && p.open != nil {
			end = 0 // that one will never complete
		}
	}
	if end == 0 {
		b.Data, b.Ops, b.Elems = b.Data[:data], b.Ops[:ops], b.Elems[:elems]
		return false, nil
	}
	if p == nil {
		p = e.process(x.process)
	}
	e.nodes.i = end
	e.ordinal++
	e.reach(at)
	if e.time++; x.has&hasTime != 0 {
		e.time = max(e.time, x.time)
	}
	o := p.open
	if o == nil {
		o = e.begin(p, x.index, x.has&hasIndex != 0)
	}
	if x.typ == 'i' {
		o.request = append(o.request, x.value...)
		o.start, o.invoked = e.time, node{kind: vector, later: true, text: o.request}
		p.open = o
		return true, nil
	}
	p.open = nil
	o.end, o.line = e.time, int64(e.line)
	e.emit.plain(o, ops)
	e.unused = append(e.unused, o)
	return true, e.full()
}

// plain appends o, whose operations are in the batch from first on.
func (e *elleEmitter) plain(o *elleOp, first int) {
	b := e.Batch
	t := e.begin(e.position(o), event.Committed)
	t.FirstOp, t.NumOps = uint32(first), uint32(len(b.Ops)-first)
	from := len(b.Data)
	b.Data = o.appendID(b.Data)
	t.ID = event.Span{Off: uint32(from), Len: uint32(len(b.Data) - from)}
	t.IDHash = event.HashText(b.Data[from:])
	from = len(b.Data)
	b.Data = append(b.Data, o.process.name...)
	t.Session = event.Span{Off: uint32(from), Len: uint32(len(b.Data) - from)}
	t.SessionHash = o.process.hash
	t.Seq, t.Flags = o.seq, event.HasSeq
	if o.start > 0 {
		t.Start, t.End, t.Flags = o.start, o.end, event.HasSeq|event.HasTimes
	}
}

// plainFields reads the map at e.nodes.i, and is where it ends, 0 if it is not plain. The operations of a
// transaction that succeeded are in the batch then.
func (e *elleReader) plainFields(x *plainRecord) int {
	data, i := e.nodes.data, e.nodes.i
	if data[i] != '{' {
		return 0
	}
	for i++; ; {
		if i >= len(data) || data[i] != ':' {
			return 0
		}
		from := i + 1
		for i = from; i < len(data) && data[i]-'a' <= 'z'-'a'; {
			i++
		}
		if i+1 >= len(data) || data[i] != ' ' {
			return 0
		}
		name := data[from:i]
		i++
		bit, end := e.plainField(x, name, i)
		if end == 0 || x.has&bit != 0 {
			return 0
		}
		x.has |= bit
		if i = end; i >= len(data) {
			return 0
		}
		if data[i] == '}' {
			const least = hasType | hasProcess | hasValue
			if x.has&least != least {
				return 0
			}
			return i + 1
		}
		if i = plainGap(data, i); i == 0 {
			return 0
		}
	}
}

// plainGap passes the blank or the comma between two values, and blanks behind it; 0 if there is neither.
func plainGap(data []byte, i int) int {
	if data[i] != ' ' && data[i] != ',' {
		return 0
	}
	for i++; i < len(data) && data[i] == ' '; {
		i++
	}
	return i
}

// plainField reads the field of this name, whose value begins at i. It is the field's bit, and where the
// value ends, 0 if it is not plain.
func (e *elleReader) plainField(x *plainRecord, name []byte, i int) (bit byte, end int) {
	data := e.nodes.data
	switch string(name) {
	case "type":
		word := plainWord(data, i)
		switch string(word) {
		case ":invoke", ":ok":
			x.typ = word[1]
			return hasType, i + len(word)
		}
	case "process":
		_, end = plainInteger(data, i)
		x.process = data[i:max(i, end)]
		return hasProcess, end
	case "index":
		x.index, end = plainInteger(data, i)
		return hasIndex, end
	case "time":
		x.time, end = plainInteger(data, i)
		return hasTime, end
	case "f":
		if n := len(plainWord(data, i)); n > 0 {
			return hasF, i + n
		}
	case "value":
		switch x.typ {
		case 'i':
			if n := skimmed(data[i:]); n > 0 {
				x.value = data[i : i+n]
				return hasValue, i + n
			}
		case 'o':
			return hasValue, e.plainOps(i)
		}
	}
	return 0, 0
}

// plainWord is the keyword at i, nil if it is not plain.
func plainWord(data []byte, i int) []byte {
	if i >= len(data) || data[i] != ':' {
		return nil
	}
	end := i + 1
	for end < len(data) && data[end]-'a' <= 'z'-'a' {
		end++
	}
	if end == i+1 || end == len(data) || !endsPlain(data[end]) {
		return nil
	}
	return data[i:end]
}

// endsPlain says whether c can stand behind a number or a word.
func endsPlain(c byte) bool { return c == ' ' || c == ',' || c == ']' || c == '}' }

// plainDigits are the most of an integer, so that it fits into 64 bits.
const plainDigits = 18

// plainInteger is the integer at i, and where it ends, 0 if it is not plain. It is not negative.
func plainInteger(data []byte, i int) (n int64, end int) {
	for end = i; end < len(data) && data[end]-'0' <= 9; end++ {
		n = n*10 + int64(data[end]-'0')
	}
	switch used := end - i; {
	case used == 0 || used > plainDigits || data[i] == '0' && used > 1 || end == len(data) || !endsPlain(data[end]):
		return 0, 0
	}
	return n, end
}

// plainKey is the text of the integer or the keyword at i that names a key, and where it ends.
func plainKey(data []byte, i int) (text []byte, end int) {
	if data[i] == ':' {
		for end = i + 1; end < len(data) && (data[end]-'a' <= 'z'-'a' || data[end]-'0' <= 9 && end > i+1); {
			end++
		}
		if end == i+1 || end == len(data) || !endsPlain(data[end]) {
			return nil, 0
		}
		return data[i+1 : end], end
	}
	if _, end = plainInteger(data, i); end == 0 {
		return nil, 0
	}
	return data[i:end], end
}

// plainMost is how many bytes of operations are read here: their JSON is shorter than a record may be.
const plainMost = 1 << 20

// plainOps appends the operations of the transaction that begin at i to the batch, and is where they end, 0 if
// they are not plain.
func (e *elleReader) plainOps(i int) int {
	data := e.nodes.data
	first := i
	if i+1 >= len(data) || data[i] != '[' {
		return 0
	}
	for i++; ; {
		if i = e.plainOp(i); i == 0 || i >= len(data) || i-first > plainMost {
			return 0
		}
		if data[i] == ']' {
			return i + 1
		}
		if i = plainGap(data, i); i == 0 {
			return 0
		}
	}
}

// plainOp appends the operation at i, and is where it ends.
func (e *elleReader) plainOp(i int) int {
	data := e.nodes.data
	if i+1 >= len(data) || data[i] != '[' {
		return 0
	}
	word := plainWord(data, i+1)
	kind := event.OpKind(0)
	switch string(word) {
	case ":r":
		kind = event.Read
	case ":w":
		kind = event.Write
	case ":append":
		kind = event.Append
	default:
		return 0
	}
	i = plainGap(data, i+1+len(word))
	if i == 0 || i == len(data) {
		return 0
	}
	key, end := plainKey(data, i)
	if end == 0 {
		return 0
	}
	if i = plainGap(data, end); i == 0 || i+1 >= len(data) {
		return 0
	}
	b := e.Batch
	b.Ops = append(b.Ops, event.Op{})
	o := &b.Ops[len(b.Ops)-1]
	o.Kind, o.Key, o.KeyHash = kind, e.text(key), event.HashText(key)
	switch {
	case data[i] == '[' && kind == event.Read:
		end = e.plainList(o, i)
	case data[i] == 'n' && kind == event.Read:
		if end = i + len("nil"); end >= len(data) || string(data[i:end]) != "nil" {
			return 0
		}
		o.Flags = event.NotFound
	default:
		if _, end = plainInteger(data, i); end > 0 {
			o.Value, o.ValueHash = e.text(data[i:end]), event.HashText(data[i:end])
		}
	}
	if end == 0 || end >= len(data) || data[end] != ']' {
		return 0
	}
	return end + 1
}

// text appends a text to the batch.
func (r *Reader) text(text []byte) event.Span {
	b := r.Batch
	from := len(b.Data)
	b.Data = append(b.Data, text...)
	return event.Span{Off: uint32(from), Len: uint32(len(text))}
}

// plainList reads the list at i as the value of o, and is where it ends.
func (e *elleReader) plainList(o *event.Op, i int) int {
	b := e.Batch
	n := bytes.IndexByte(e.nodes.data[i:min(i+plainMost, len(e.nodes.data))], ']') + 1
	if n == 0 {
		return 0
	}
	o.Value = e.text(e.nodes.data[i : i+n])
	text := b.Bytes(o.Value)
	o.Flags, o.FirstElem = event.IsArray, uint32(len(b.Elems))
	b.Elems = slices.Grow(b.Elems, n/2)
	for at := 1; n > 2; { // of an element
		end, number := at, uint(0)
		for ; text[end]-'0' <= 9; end++ {
			number = number*10 + uint(text[end]-'0')
		}
		if end == at || text[at] == '0' && end > at+1 {
			return 0
		}
		x := event.Elem{Value: event.Span{Off: o.Value.Off + uint32(at), Len: uint32(end - at)}}
		if end <= at+3 {
			if x.Hash = e.hashes[number]; x.Hash == (event.Hash{}) {
				x.Hash = event.HashText(text[at:end])
				e.hashes[number] = x.Hash
			}
		} else {
			x.Hash = event.HashText(text[at:end])
		}
		b.Elems = append(b.Elems, x)
		if text[end] == ']' {
			break
		}
		if text[end] != ' ' && text[end] != ',' {
			return 0
		}
		text[end] = ','
		at = end + 1
	}
	o.NumElems = uint32(len(b.Elems)) - o.FirstElem
	o.ValueHash = event.HashText(text)
	return i + n
}
