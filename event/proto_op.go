package event

import (
	"fmt"
	"unicode/utf8"
)

var opNames = []string{"", "op", "key", "value", "found", "kind", "version", "prev_version", "expected", "seen",
	"success", "from", "to", "desc", "limit", "result"}

// Numbers of an operation's fields that are asked for more than once.
const (
	pKey      = 2
	pValue    = 3
	pFound    = 4
	pExpected = 8
	pSuccess  = 10
)

// protoOperation is an operation that is being read.
type protoOperation struct {
	mask           uint64
	op, kind       uint64
	found, success bool
	value          wireField
	extra          Extra
	texts          [10]wireField // version to seen, by field number
}

// protoOp appends the operation that f holds.
func (d *Decoder) protoOp(b *Batch, f *wireField) bool {
	if d.op = d.numOps; d.numOps == MaxOps {
		return d.fail(int(f.off), "more than 100000 operations")
	}
	b.Ops = append(b.Ops, Op{})
	o := &b.Ops[len(b.Ops)-1]
	p := &d.proto
	p.mask, p.op, p.kind, p.found, p.success = 0, 0, 0, false, false
	p.extra = Extra{FirstRow: uint32(len(b.Rows))}
	end := int(f.end)
	for i := int(f.off); i < end; {
		var g wireField
		next := d.wire(&g, i, end)
		if next < 0 || !d.protoOpField(b, o, p, &g, i) {
			return false
		}
		i = next
	}
	if p.op == 0 || p.op > uint64(Range) {
		return d.fail(end, fmt.Sprintf("op %d is not one of 1 to %d", p.op, Range))
	}
	if p.kind > uint64(lastDataKind) {
		return d.fail(end, fmt.Sprintf("kind %d is not one of 1 to %d", p.kind, lastDataKind))
	}
	o.Kind, o.Data = OpKind(p.op), DataKind(p.kind)
	if o.Kind != Range {
		b.Rows = b.Rows[:p.extra.FirstRow]
	}
	// An empty text is not written on the wire, and a key may be empty.
	if o.Key.Len > 0 || o.Kind != Range {
		o.KeyHash = hashBytes(b.Bytes(o.Key))
	}
	if !d.protoResult(b, o, p, end) {
		return false
	}
	const extra = 1<<6 | 1<<7
	if (p.mask&extra != 0 || o.Kind == CAS || o.Kind == Range) && !d.protoExtra(b, o, p, end) {
		return false
	}
	d.numOps++
	d.op = -1
	return true
}

func (d *Decoder) protoOpField(b *Batch, o *Op, p *protoOperation, f *wireField, at int) bool {
	if f.num >= uint32(len(opNames)) {
		return true
	}
	if f.num == 15 {
		if f.wire != wireBytes {
			return d.fail(at, "result has another wire type")
		}
		return d.protoRow(b, f)
	}
	wire := uint8(wireBytes)
	switch f.num {
	case 1, pFound, 5, pSuccess, 13, 14:
		wire = wireVarint
	}
	if !d.once(&p.mask, f, at, wire, opNames) {
		return false
	}
	switch f.num {
	case 1:
		p.op = f.n
	case pKey:
		return d.protoText(&o.Key, f)
	case pValue:
		p.value = *f
	case pFound:
		p.found = f.n != 0
	case 5:
		p.kind = f.n
	case 6, 7, pExpected, 9:
		p.texts[f.num] = *f
	case pSuccess:
		p.success = f.n != 0
	case 11:
		p.extra.HasFrom = true
		return d.protoText(&p.extra.From, f)
	case 12:
		p.extra.HasTo = true
		return d.protoText(&p.extra.To, f)
	case 13:
		p.extra.Desc = f.n != 0
	case 14:
		p.extra.Limit = int64(f.n)
	}
	return true
}

// protoResult reads what the operation wrote or was answered, by the rules of
// [Decoder.result] and [Decoder.read].
func (d *Decoder) protoResult(b *Batch, o *Op, p *protoOperation, end int) bool {
	said := p.mask>>pFound&1 != 0
	given := p.mask>>pValue&1 != 0
	switch o.Kind {
	case Delete, Range:
		return !given || d.protoIgnored(b, &p.value)
	case Read:
		if said && !p.found && !given {
			o.Flags |= NotFound
			return true
		}
		if !given {
			return d.fail(end, "a read without value or \"found\":false: leave out reads that were not answered")
		}
	default:
		if !given {
			return d.fail(end, "value is missing")
		}
	}
	first := len(b.Elems)
	text, class, ok := d.protoValue(b, &p.value, 3, o.Kind == Read)
	if !ok {
		return false
	}
	switch {
	case o.Kind == Inc && class != isNumber:
		return d.fail(int(p.value.off), "the value of inc is not a number")
	case o.Kind == Read && said && !p.found && class != isNull:
		return d.fail(int(p.value.off), "found is false, and yet there is a value")
	case o.Kind == Read && class == isNull && !p.found:
		o.Flags |= NotFound
		return true
	}
	o.Value = text
	o.ValueHash = hashBytes(b.Bytes(text))
	if o.Kind == Read && class == isArray {
		o.Flags |= IsArray
		o.FirstElem, o.NumElems = uint32(first), uint32(len(b.Elems)-first)
		hashElems(b, b.ElemsOf(o))
	}
	return true
}

// protoIgnored reads a value that says nothing, to find it wrong if it is.
func (d *Decoder) protoIgnored(b *Batch, f *wireField) bool {
	_, _, ok := d.protoValue(b, f, 3, false)
	return ok
}

// protoExtra reads the fields that few operations carry.
func (d *Decoder) protoExtra(b *Batch, o *Op, p *protoOperation, end int) bool {
	x := p.extra
	if o.Kind != Range {
		x = Extra{}
	}
	for _, v := range [...]struct {
		num  int
		text *Span
	}{{6, &x.Version}, {7, &x.PrevVersion}} {
		if p.mask>>v.num&1 == 0 {
			continue
		}
		var ok bool
		if *v.text, ok = d.protoVersion(b, &p.texts[v.num], 3, opNames[v.num]); !ok {
			return false
		}
	}
	x.replacesAnother(b)
	switch o.Kind {
	case CAS:
		if !d.protoCAS(b, o, p, &x, end) {
			return false
		}
	case Range:
		if x.Limit < 0 {
			return d.fail(end, "limit is below 1")
		}
		x.NumRows = uint32(len(b.Rows)) - x.FirstRow
	}
	if x != (Extra{}) || o.Kind == Range {
		o.Flags |= HasExtra
		o.Extra = uint32(len(b.Extras))
		b.Extras = append(b.Extras, x)
	}
	return true
}

// protoVersion reads a version, which a null leaves out.
func (d *Decoder) protoVersion(b *Batch, f *wireField, depth int, name string) (Span, bool) {
	text, class, ok := d.protoValue(b, f, depth, false)
	switch {
	case !ok:
		return Span{}, false
	case class == isNull:
		return Span{}, true
	case class != isNumber && class != isString:
		return Span{}, d.fail(int(f.off), name+" is neither a string nor a number")
	}
	return text, true
}

func (d *Decoder) protoCAS(b *Batch, o *Op, p *protoOperation, x *Extra, end int) bool {
	switch {
	case p.mask>>pSuccess&1 == 0:
		return d.fail(end, "success is missing")
	case p.mask>>pExpected&1 == 0:
		return d.fail(end, "expected is missing")
	}
	if p.success {
		o.Flags |= Success
	}
	var ok bool
	if x.Expected, _, ok = d.protoValue(b, &p.texts[pExpected], 3, false); !ok {
		return false
	}
	x.ExpectedHash = hashBytes(b.Bytes(x.Expected))
	if p.mask>>9&1 != 0 {
		if x.Seen, _, ok = d.protoValue(b, &p.texts[9], 3, false); !ok {
			return false
		}
		x.SeenHash = hashBytes(b.Bytes(x.Seen))
	}
	return true
}

var rowNames = []string{"", "key", "value", "version"}

// protoRow appends a row of a range's result.
func (d *Decoder) protoRow(b *Batch, f *wireField) bool {
	var mask uint64
	var r Row
	for i := int(f.off); i < int(f.end); {
		var g wireField
		next := d.wire(&g, i, int(f.end))
		if next < 0 {
			return false
		}
		if g.num < uint32(len(rowNames)) && !d.once(&mask, &g, i, wireBytes, rowNames) {
			return false
		}
		ok := true
		switch g.num {
		case 1:
			ok = d.protoText(&r.Key, &g)
		case 2:
			r.Value, _, ok = d.protoValue(b, &g, 5, false)
		case 3:
			r.Version, ok = d.protoVersion(b, &g, 5, "version")
		}
		if !ok {
			return false
		}
		i = next
	}
	if mask>>2&1 == 0 {
		return d.fail(int(f.end), "a row of a result needs key and value")
	}
	r.KeyHash, r.ValueHash = hashBytes(b.Bytes(r.Key)), hashBytes(b.Bytes(r.Value))
	b.Rows = append(b.Rows, r)
	return true
}

// utf8At fails unless the text of f is UTF-8.
func (d *Decoder) utf8At(f *wireField) bool {
	return utf8.Valid(d.rec[f.off:f.end]) || d.fail(int(f.off), "invalid UTF-8")
}
