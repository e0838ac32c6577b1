package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// maxRaw is how many bytes of a bad record are kept.
const maxRaw = 64 << 10

// Decoder turns records into batches. The zero Decoder is ready; it keeps
// scratch memory between records, so one goroutine uses it at a time.
type Decoder struct {
	// Source is given to records that name no source; "": DefaultSource.
	Source string
	// Only makes records of other sources bad ones.
	Only bool
	// MaxElems is how many elements the arrays of a record may have together, 24 bytes each in a batch. 0: any number.
	MaxElems int
	// Long is the longest key, and the longest value of a register, that stays as it is. A short text takes the place
	// of a longer one, and names its length and its hash. Only hashes are compared anyway. 0: all stay.
	Long int

	elems int    // of the batch before the record
	rec   []byte // the record being scanned
	base  uint32 // where its copy begins in Batch.Data

	top, cur, row fields // of the record, of the operation, of a range's row
	names         nameSet
	scratch       []byte
	fallback      Span // where the source of a record that names none was last written

	proto       protoOperation
	labelFields []protoLabel // of the record

	wrapped bool // within an envelope

	numOps  int // operations of the record so far
	op      int // operation being read, -1 outside
	errAt   int
	errWhat string
}

// fields are the known fields of one object, by name.
type fields struct {
	mask uint64 // bit f: the object has field f
	tok  [numFields]token
	// firstElem is the first element of "value", when that is an array, in
	// Batch.Elems.
	firstElem uint32
}

// get is the field's value, of class absent without the field.
func (f *fields) get(id field) token {
	if f.mask>>id&1 == 0 {
		return token{}
	}
	return f.tok[id]
}

// opt is the field's value, where null says the same as no field.
func (f *fields) opt(id field) token {
	t := f.get(id)
	if t.class == isNull {
		return token{}
	}
	return t
}

// DecodeMessage reads the records of one message, JSON one a line, or Records of
// isowatch.proto, and appends to b what each of them is. Blank lines are skipped;
// pos.Sub counts the records.
func (d *Decoder) DecodeMessage(b *Batch, pos Position, msg []byte) {
	if IsProto(msg) {
		d.decodeProto(b, pos, msg)
		return
	}
	for len(msg) > 0 {
		line := msg
		if n := bytes.IndexByte(msg, '\n'); n >= 0 {
			line, msg = msg[:n], msg[n+1:]
		} else {
			msg = nil
		}
		if blank(line) {
			continue
		}
		d.Decode(b, pos, line)
		pos.Sub++
	}
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// Decode reads one record in JSON and appends to b exactly one Txn, one Part, one
// Mark, or, where the record is wrong, one BadRecord.
func (d *Decoder) Decode(b *Batch, pos Position, rec []byte) {
	before := markOf(b)
	d.rec, d.op, d.errAt, d.errWhat, d.elems = rec, -1, 0, "", len(b.Elems)
	d.names.reset()
	if d.checked(b, rec) && d.record(b, pos) && d.shorten(b, &before, len(rec)) {
		return
	}
	before.restore(b)
	d.bad(b, pos, rec)
}

// checked tells whether rec can be scanned at all, and copies it into b.Data.
func (d *Decoder) checked(b *Batch, rec []byte) bool {
	switch {
	case len(rec) > MaxRecord:
		return d.fail(MaxRecord, "the record is longer than 16 MiB")
	case uint64(len(b.Data))+2*uint64(len(rec))+maxRaw > math.MaxUint32:
		return d.fail(0, "the batch holds 4 GiB")
	case !utf8.Valid(rec):
		return d.fail(invalidUTF8(rec), "invalid UTF-8")
	}
	d.base = uint32(len(b.Data))
	b.Data = append(b.Data, rec...)
	return true
}

func invalidUTF8(rec []byte) int {
	for i := 0; i < len(rec); {
		r, n := utf8.DecodeRune(rec[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(rec)
}

// record scans the whole record and appends what it is.
func (d *Decoder) record(b *Batch, pos Position) bool {
	i := d.space(0)
	if d.at(i) != '{' {
		return d.fail(i, "an object is expected")
	}
	end := d.object(&d.top, i, 1, b)
	if end < 0 {
		return false
	}
	if end = d.space(end); end != len(d.rec) {
		return d.fail(end, "text behind the record")
	}
	if d.top.mask>>fSpecVersion&1 != 0 && d.top.mask>>fOps&1 == 0 {
		return d.envelope(b, pos)
	}
	if d.top.opt(fType).class == absent {
		return d.txn(b, pos)
	}
	if d.isMark() {
		return d.mark(b, pos)
	}
	return d.part(b, pos)
}

// object scans the object whose brace is at the given offset and keeps its
// known fields in f. It returns the offset behind the object, or -1.
func (d *Decoder) object(f *fields, object, depth int, b *Batch) int {
	f.mask = 0
	names := d.names.open()
	i := d.space(object + 1)
	if d.at(i) == '}' {
		return i + 1
	}
	for {
		id, end := d.usualName(i)
		if end < 0 {
			if id, end = d.fieldName(i, names); end < 0 {
				return -1
			}
		}
		if f.mask>>id&1 != 0 {
			return d.failTwice(token{off: uint32(i), end: uint32(end)})
		}
		i = d.space(end)
		if d.at(i) != ':' {
			return d.failAt(i, "':' is expected")
		}
		v, ok := d.field(f, id, d.space(i+1), depth, b)
		if !ok {
			return -1
		}
		if id != noField {
			f.mask |= 1 << id
			f.tok[id] = v
		}
		i = d.space(int(v.end))
		switch d.at(i) {
		case ',':
			i = d.space(i + 1)
		case '}':
			d.names.close(names)
			return i + 1
		default:
			return d.failAt(i, "',' or '}' is expected")
		}
	}
}

// usualName is the field that the name at i spells, and the offset behind the name. The offset
// is -1 if the name is not a usual one: then fieldName is needed.
func (d *Decoder) usualName(i int) (field, int) {
	if i+9 > len(d.rec) || d.rec[i] != '"' {
		return noField, -1
	}
	w := binary.LittleEndian.Uint64(d.rec[i+1:])
	n := bits.TrailingZeros64(special(w)) &^ 7 // bits of the name, 64 without an end
	id := usualFieldOf(w&(1<<n-1), w>>n)
	if id == noField {
		return noField, -1
	}
	return id, i + 2 + n/8
}

// fieldName is the field that the name at i spells, and the offset behind the name, or -1. The
// field is noField for an unknown name that is new to the object.
func (d *Decoder) fieldName(i int, names openObject) (field, int) {
	name, ok := d.name(i)
	if !ok {
		return noField, -1
	}
	text := d.nameText(name)
	id := fieldOf(text)
	if id == noField && !d.names.add(text, names) {
		return noField, d.failTwice(name)
	}
	return id, int(name.end)
}

// field scans the value at i of the field id in an object at the given depth.
func (d *Decoder) field(f *fields, id field, i, depth int, b *Batch) (token, bool) {
	if d.at(i) != '[' || b == nil {
		return d.value(i, depth)
	}
	switch {
	case id == fOps && depth == 1:
		end := d.ops(b, i)
		return token{uint32(i), uint32(end), isArray, false}, end > 0
	case id == fValue:
		f.firstElem = uint32(len(b.Elems))
		end, dirty := d.elements(i, depth+1, b)
		return token{uint32(i), uint32(end), isArray, dirty}, end > 0
	}
	return d.value(i, depth)
}

// fail notes what is wrong at the offset, the first time, and returns false.
func (d *Decoder) fail(at int, what string) bool {
	d.errAt, d.errWhat = at, what
	return false
}

func (d *Decoder) failAt(at int, what string) int {
	d.fail(at, what)
	return -1
}

func (d *Decoder) failTwice(name token) int {
	return d.failAt(int(name.off), fmt.Sprintf("the field %s is given twice", d.quote(name)))
}

// quote shows a value of the record in a reason, cut to 40 bytes.
func (d *Decoder) quote(t token) string {
	text := d.rec[t.off:t.end]
	if len(text) > 40 {
		cut := 40
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		return string(text[:cut]) + "..."
	}
	return string(text)
}

// bad appends rec as a BadRecord with what was last noted by fail.
func (d *Decoder) bad(b *Batch, pos Position, rec []byte) {
	reason := fmt.Sprintf("byte %d: %s", d.errAt, d.errWhat)
	if d.op >= 0 {
		reason = fmt.Sprintf("byte %d, ops[%d]: %s", d.errAt, d.op, d.errWhat)
	}
	switch {
	case bytes.HasPrefix(rec, []byte{0x1f, 0x8b}):
		reason = "gzip: unpack it first"
	case bytes.HasPrefix(rec, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		reason = "zstd: unpack it first"
	}
	b.AddBad(pos, rec, reason)
}

// AddBad appends a dead letter, with raw cut to 64 KiB.
func (b *Batch) AddBad(pos Position, raw []byte, reason string) {
	raw = raw[:min(len(raw), maxRaw)]
	if uint64(len(b.Data)+len(raw)) > math.MaxUint32 {
		raw = nil
	}
	at := Span{uint32(len(b.Data)), uint32(len(raw))}
	b.Data = append(b.Data, raw...)
	b.Bad = append(b.Bad, BadRecord{Pos: pos, Raw: at, Reason: reason})
}

// mark is how far a batch was filled.
type mark struct{ data, txns, ops, elems, extras, rows, parts, marks int }

func markOf(b *Batch) mark {
	return mark{len(b.Data), len(b.Txns), len(b.Ops), len(b.Elems), len(b.Extras), len(b.Rows), len(b.Parts), len(b.Marks)}
}

func (m mark) restore(b *Batch) {
	b.Data, b.Txns, b.Ops = b.Data[:m.data], b.Txns[:m.txns], b.Ops[:m.ops]
	b.Elems, b.Extras, b.Rows = b.Elems[:m.elems], b.Extras[:m.extras], b.Rows[:m.rows]
	b.Parts, b.Marks = b.Parts[:m.parts], b.Marks[:m.marks]
}
