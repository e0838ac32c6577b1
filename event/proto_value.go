package event

import (
	"encoding/base64"
	"strconv"

	"github.com/isowatch/isowatch/event/record"
)

// protoValue appends the canonical JSON text of the Value that f holds to
// b.Data and returns it. depth is the number of containers around it. With elems
// the elements of an array are appended to b.Elems.
func (d *Decoder) protoValue(b *Batch, f *wireField, depth int, elems bool) (Span, class, bool) {
	from := len(b.Data)
	c, ok := d.appendProtoValue(b, f, depth, elems)
	return Span{uint32(from), uint32(len(b.Data) - from)}, c, ok
}

func (d *Decoder) appendProtoValue(b *Batch, f *wireField, depth int, elems bool) (class, bool) {
	c := absent
	for i := int(f.off); i < int(f.end); {
		var v wireField
		next := d.wire(&v, i, int(f.end))
		if next < 0 {
			return absent, false
		}
		if v.num >= 1 && v.num <= 8 {
			if c != absent {
				return absent, d.fail(i, "a value is given twice")
			}
			var ok bool
			if c, ok = d.appendOneOf(b, &v, i, depth, elems); !ok {
				return absent, false
			}
		}
		i = next
	}
	if c == absent {
		return absent, d.fail(int(f.end), "a value that is none")
	}
	return c, true
}

// appendOneOf appends the text of v, a field of Value.
func (d *Decoder) appendOneOf(b *Batch, v *wireField, at, depth int, elems bool) (class, bool) {
	wire := uint8(wireBytes)
	switch v.num {
	case 1, 2, 6, 7:
		wire = wireVarint
	}
	if v.wire != wire {
		return absent, d.fail(at, "a value has another wire type")
	}
	switch v.num {
	case 1:
		if v.n == 0 {
			return absent, d.fail(at, "null is false")
		}
		b.Data = append(b.Data, "null"...)
		return isNull, true
	case 2:
		b.Data = strconv.AppendInt(b.Data, int64(v.n>>1)^-int64(v.n&1), 10)
		return isNumber, true
	case 3:
		if !d.utf8At(v) {
			return absent, false
		}
		b.Data = appendQuotedBytes(b.Data, d.rec[v.off:v.end])
		return isString, true
	case 4:
		return d.appendProtoJSON(b, v, depth, elems)
	case 5:
		return isArray, d.appendProtoList(b, v, depth+1, elems)
	case 6:
		b.Data = strconv.AppendBool(b.Data, v.n != 0)
		return isBool, true
	case 7:
		b.Data = strconv.AppendUint(b.Data, v.n, 10)
		return isNumber, true
	default:
		b.Data = append(b.Data, '"')
		b.Data = base64.StdEncoding.AppendEncode(b.Data, d.rec[v.off:v.end])
		b.Data = append(b.Data, '"')
		return isString, true
	}
}

// appendQuotedBytes is appendQuoted, quick where nothing needs an escape.
func appendQuotedBytes(dst, s []byte) []byte {
	for _, c := range s {
		if c < ' ' || c == '"' || c == '\\' {
			return record.AppendQuoted(dst, string(s))
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendProtoJSON appends the canonical form of the JSON text that v is.
func (d *Decoder) appendProtoJSON(b *Batch, v *wireField, depth int, elems bool) (class, bool) {
	if !d.utf8At(v) {
		return absent, false
	}
	rec := d.rec
	d.rec = rec[:v.end] // offsets still count from the record's beginning
	defer func() { d.rec = rec }()
	start := d.space(int(v.off))
	t, ok := d.value(start, depth)
	if !ok {
		return absent, false
	}
	if end := d.space(int(t.end)); end != int(v.end) {
		return absent, d.fail(end, "text behind a value")
	}
	from := len(b.Data)
	if t.dirty {
		b.Data = record.AppendCanonical(b.Data, d.rec[t.off:t.end])
	} else {
		b.Data = append(b.Data, d.rec[t.off:t.end]...)
	}
	if elems && t.class == isArray {
		base := d.base
		d.rec, d.base = b.Data[from:], uint32(from)
		d.elements(0, 1, b)
		d.base = base
	}
	return t.class, true
}

func (d *Decoder) appendProtoList(b *Batch, v *wireField, depth int, elems bool) bool {
	if depth > MaxDepth {
		return d.fail(int(v.off), "nested more than 32 deep")
	}
	b.Data = append(b.Data, '[')
	first := true
	for i := int(v.off); i < int(v.end); {
		var e wireField
		next := d.wire(&e, i, int(v.end))
		if next < 0 {
			return false
		}
		if e.num == 1 {
			if e.wire != wireBytes {
				return d.fail(i, "a value has another wire type")
			}
			if !first {
				b.Data = append(b.Data, ',')
			}
			first = false
			from := len(b.Data)
			if _, ok := d.appendProtoValue(b, &e, depth, false); !ok {
				return false
			}
			if elems {
				if d.tooMany(b) {
					return d.fail(0, tooManyElems)
				}
				b.Elems = append(b.Elems, Elem{Value: Span{uint32(from), uint32(len(b.Data) - from)}})
			}
		}
		i = next
	}
	b.Data = append(b.Data, ']')
	return true
}
