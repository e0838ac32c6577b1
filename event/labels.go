package event

import "encoding/binary"

// Labels are kept as their names and values one behind the other, each as its
// length, a varint, and its bytes.

// labels reads the field labels, an object that was scanned before. Only strings
// count, and only within the limits; all else is passed over.
func (d *Decoder) labels(b *Batch, t token) (Span, bool) {
	switch t.class {
	case absent:
		return Span{}, true
	case isObject:
	default:
		return Span{}, d.fail(int(t.off), "labels is not an object")
	}
	from := len(b.Data)
	count := 0
	for i := d.space(int(t.off) + 1); d.at(i) != '}' && count < MaxLabels; {
		name, _ := d.name(i)
		value, _ := d.value(d.space(d.space(int(name.end))+1), 2)
		if value.class == isString && d.label(b, name, value) {
			count++
		}
		if i = d.space(int(value.end)); d.at(i) == ',' {
			i = d.space(i + 1)
		}
	}
	return spanFrom(b, from), true
}

// label appends one label to b.Data, unless it is beyond the limits.
func (d *Decoder) label(b *Batch, name, value token) bool {
	n := d.nameText(name)
	if len(n) == 0 || len(n) > MaxLabelText {
		return false
	}
	before := len(b.Data)
	b.Data = appendBytes(b.Data, n)
	if v := d.nameText(value); len(v) <= MaxLabelText {
		b.Data = appendBytes(b.Data, v)
		return true
	}
	b.Data = b.Data[:before]
	return false
}

// spanFrom names what was appended to b.Data since it had the length from.
func spanFrom(b *Batch, from int) Span {
	if len(b.Data) == from {
		return Span{}
	}
	return Span{uint32(from), uint32(len(b.Data) - from)}
}

// readLabels reads the labels of a compact record.
func readLabels(r *recordReader) Span {
	s, _ := r.present()
	if r.err != nil {
		return Span{}
	}
	off := s.Off - r.base
	for text := r.rec[off : off+s.Len]; len(text) > 0; {
		var name []byte
		var whole bool
		if name, text, whole = nextText(text); whole && len(name) > 0 {
			_, text, whole = nextText(text)
		}
		if !whole || len(name) == 0 {
			r.fail("labels are damaged")
			return Span{}
		}
	}
	return s
}

// nextText is the text that b begins with, and what follows it.
func nextText(b []byte) (text, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n)], b[size+int(n):], true
}

// labelsOf are the labels that s names, nil when there are none. The last of two
// with one name counts, as in Protobuf; JSON has no two.
func (b *Batch) labelsOf(s Span) map[string]string {
	if s.Len == 0 {
		return nil
	}
	of := make(map[string]string, 2)
	for text := b.Bytes(s); len(text) > 0; {
		var name, value []byte
		name, text, _ = nextText(text)
		value, text, _ = nextText(text)
		of[string(name)] = string(value)
	}
	return of
}

// Label is the value of the label of t that is called name, "" without it.
func (b *Batch) Label(t *Txn, name string) string {
	value := ""
	for text := b.Bytes(t.Labels); len(text) > 0; {
		var n, v []byte
		n, text, _ = nextText(text)
		v, text, _ = nextText(text)
		if string(n) == name {
			value = string(v)
		}
	}
	return value
}

// protoLabels writes the labels that were met in a record to b.Data, where they are
// one text.
func (d *Decoder) protoLabels(b *Batch) Span {
	from := len(b.Data)
	for _, f := range d.labelFields[:min(len(d.labelFields), MaxLabels)] {
		b.Data = appendBytes(b.Data, b.Bytes(f.name))
		b.Data = appendBytes(b.Data, b.Bytes(f.value))
	}
	return spanFrom(b, from)
}

// protoLabel is one entry of labels, as it stands in Batch.Data.
type protoLabel struct{ name, value Span }

var labelFieldNames = []string{"", "key", "value"} // of a map's entry

func (l *protoLabel) text(num uint32) *Span {
	if num == 1 {
		return &l.name
	}
	return &l.value
}

// protoLabel notes one entry of labels, unless it is beyond the limits.
func (d *Decoder) protoLabel(f *wireField, at int) bool {
	if f.wire != wireBytes {
		return d.fail(at, "labels has another wire type")
	}
	var mask uint64
	var label protoLabel
	for i := int(f.off); i < int(f.end); {
		var x wireField
		next := d.wire(&x, i, int(f.end))
		if next < 0 {
			return false
		}
		if x.num <= 2 && !(d.once(&mask, &x, i, wireBytes, labelFieldNames) && d.protoText(label.text(x.num), &x)) {
			return false
		}
		i = next
	}
	if 0 < label.name.Len && label.name.Len <= MaxLabelText && label.value.Len <= MaxLabelText {
		d.labelFields = append(d.labelFields, label)
	}
	return true
}
