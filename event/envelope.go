package event

import (
	"encoding/base64"

	"github.com/isowatch/isowatch/event/record"
)

// envelope reads the record that a CloudEvent in structured mode carries: the object in data,
// or the bytes in data_base64, JSON or one Records message. The envelope's own attributes say
// nothing here: its source is a producer, not a database, and its time does not come from a
// client.
func (d *Decoder) envelope(b *Batch, pos Position) bool {
	if d.wrapped {
		return d.fail(0, "a CloudEvent within a CloudEvent")
	}
	d.wrapped = true
	defer func() { d.wrapped = false }()
	data, bytes := d.top.opt(fData), d.top.opt(fDataBase64)
	switch {
	case data.class == isObject && bytes.class == absent:
		rec, base := d.rec, d.base
		d.rec, d.base = rec[data.off:data.end], base+data.off
		d.names.reset()
		ok := d.record(b, pos)
		d.rec, d.base = rec, base
		if !ok {
			d.errAt += int(data.off)
		}
		return ok
	case data.class == absent && bytes.class == isString:
		return d.envelopeBytes(b, pos, bytes)
	case data.class == absent && bytes.class == absent:
		return d.fail(len(d.rec), "a CloudEvent without data")
	}
	return d.fail(int(max(data.off, bytes.off)), "the data of a CloudEvent is neither an object nor data_base64")
}

// envelopeBytes reads the record in data_base64. An error names the place of the field.
func (d *Decoder) envelopeBytes(b *Batch, pos Position, t token) bool {
	text := d.rec[t.off+1 : t.end-1]
	if t.dirty {
		text = record.AppendUnescaped(nil, text)
	}
	inside, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return d.fail(int(t.off), "data_base64 is not base64")
	}
	rec, base := d.rec, d.base
	defer func() { d.rec, d.base = rec, base }()
	if !IsProto(inside) {
		d.rec = inside
		d.names.reset()
		if d.checked(b, inside) && d.record(b, pos) {
			return true
		}
	} else if n := RecordsPrefix(inside); n != len(inside) {
		return d.fail(int(t.off), "data_base64 is not one record")
	} else {
		d.rec = inside
		var f wireField
		d.wire(&f, 0, len(inside))
		d.rec = inside[f.off:f.end]
		if d.protoFits(b, d.rec) && d.protoRecord(b, pos) {
			return true
		}
	}
	return d.fail(int(t.off), "data_base64: "+d.errWhat)
}
