package event

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/event/record"
)

// ops scans the operations of a whole transaction, whose bracket is at i, and
// returns the offset behind them, or -1.
func (d *Decoder) ops(b *Batch, i int) int {
	d.numOps = 0
	if i = d.space(i + 1); d.at(i) == ']' {
		return i + 1
	}
	for {
		d.op = d.numOps
		if d.numOps == MaxOps {
			return d.failAt(i, "more than 100000 operations")
		}
		if d.at(i) != '{' {
			return d.failAt(i, "an operation is not an object")
		}
		end := d.object(&d.cur, i, 3, b)
		if end < 0 || !d.operation(b, &d.cur, end-1) {
			return -1
		}
		d.numOps++
		i = d.space(end)
		switch d.at(i) {
		case ',':
			i = d.space(i + 1)
		case ']':
			d.op = -1
			return i + 1
		default:
			return d.failAt(i, "',' or ']' is expected")
		}
	}
}

func opKindOf(word []byte) OpKind {
	switch string(word) {
	case "r":
		return Read
	case "w":
		return Write
	case "append":
		return Append
	case "add":
		return Add
	case "remove":
		return Remove
	case "inc":
		return Inc
	case "cas":
		return CAS
	case "insert":
		return Insert
	case "delete":
		return Delete
	case "range":
		return Range
	}
	return 0
}

// dataKinds are those that a record can state, and the greatest of them is the last.
var (
	dataKinds    = record.DataKinds()
	lastDataKind = dataKinds[len(dataKinds)-1]
)

func dataKindOf(word []byte) DataKind {
	for _, k := range dataKinds {
		if string(word) == k.String() {
			return k
		}
	}
	return AnyKind
}

// dataKindList is the words of all of them.
func dataKindList() string {
	var words []string
	for _, k := range dataKinds {
		words = append(words, k.String())
	}
	return strings.Join(words, ", ")
}

// operation appends the operation whose fields are in f. brace is the offset
// of the object's brace: where what is missing should have been.
func (d *Decoder) operation(b *Batch, f *fields, brace int) bool {
	b.Ops = append(b.Ops, Op{})
	o := &b.Ops[len(b.Ops)-1]
	op := f.opt(fOp)
	switch op.class {
	case absent:
		return d.fail(brace, "op is missing")
	case isString:
		o.Kind = opKindOf(d.rec[op.off+1 : op.end-1])
	}
	if o.Kind == 0 {
		return d.fail(int(op.off), fmt.Sprintf("op %s is not one of r, w, append, add, remove, insert, inc, delete, cas, range", d.quote(op)))
	}
	if kind := f.opt(fKind); kind.class != absent {
		if kind.class == isString {
			o.Data = dataKindOf(d.rec[kind.off+1 : kind.end-1])
		}
		if o.Data == AnyKind {
			return d.fail(int(kind.off), fmt.Sprintf("kind %s is not one of %s", d.quote(kind), dataKindList()))
		}
	}
	key := f.opt(fKey)
	if key.class == absent && o.Kind != Range {
		return d.fail(brace, "key is missing")
	}
	if key.class != absent {
		var ok bool
		if o.Key, ok = d.text(b, key, "key"); !ok {
			return false
		}
		if o.Key.Len > 0 || o.Kind != Range {
			o.KeyHash = hashBytes(b.Bytes(o.Key))
		}
	}
	if !d.result(b, f, o, brace) {
		return false
	}
	const extra = 1<<fVersion | 1<<fPrevVersion
	if f.mask&extra == 0 && o.Kind != CAS && o.Kind != Range {
		return true
	}
	return d.extra(b, f, o, brace)
}

// result reads what the operation wrote or was answered.
func (d *Decoder) result(b *Batch, f *fields, o *Op, brace int) bool {
	v := f.get(fValue)
	switch o.Kind {
	case Read:
		return d.read(b, f, o, brace)
	case Delete, Range:
		d.dropElems(b, f, v)
		return true
	case Inc:
		if v.class != isNumber && v.class != absent {
			return d.fail(int(v.off), "the value of inc is not a number")
		}
	}
	if v.class == absent {
		return d.fail(brace, "value is missing")
	}
	d.dropElems(b, f, v)
	o.Value = d.canonical(b, v)
	o.ValueHash = hashBytes(b.Bytes(o.Value))
	return true
}

// dropElems forgets the elements of an array that is not the answer to a read.
func (d *Decoder) dropElems(b *Batch, f *fields, v token) {
	if v.class == isArray {
		b.Elems = b.Elems[:f.firstElem]
	}
}

// read reads the answer to a read: nothing found, a stored null, or a value.
func (d *Decoder) read(b *Batch, f *fields, o *Op, brace int) bool {
	v := f.get(fValue)
	found, said, ok := d.boolean(f.opt(fFound), "found")
	switch {
	case !ok:
		return false
	case said && !found:
		if v.class != absent && v.class != isNull {
			return d.fail(int(v.off), "found is false, and yet there is a value")
		}
		o.Flags |= NotFound
		return true
	case v.class == absent:
		return d.fail(brace, "a read without value or \"found\":false: leave out reads that were not answered")
	case v.class == isNull && !said:
		o.Flags |= NotFound
		return true
	}
	o.Value = d.canonical(b, v)
	o.ValueHash = hashBytes(b.Bytes(o.Value))
	if v.class == isArray {
		o.Flags |= IsArray
		d.readElems(b, f, o, v)
	}
	return true
}

// readElems completes the elements of o's value, whose places the scan left at the end of
// b.Elems. If an array had to be rewritten, its elements are found again in its canonical text.
func (d *Decoder) readElems(b *Batch, f *fields, o *Op, v token) {
	if v.dirty {
		b.Elems = b.Elems[:f.firstElem]
		rec, base := d.rec, d.base
		d.rec, d.base = b.Bytes(o.Value), o.Value.Off
		d.elements(0, 1, b)
		d.rec, d.base = rec, base
	}
	o.FirstElem, o.NumElems = f.firstElem, uint32(len(b.Elems))-f.firstElem
	hashElems(b, b.ElemsOf(o))
}

func hashElems(b *Batch, elems []Elem) {
	for i := range elems {
		elems[i].Hash = hashBytes(b.Bytes(elems[i].Value))
	}
}
