package window

import (
	"bytes"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Cycles lie close to each other: most share a transaction with one before. So records that were
// decoded for a witness are kept for the next ones. A record is known by its bytes, since numbers
// of transactions are used again.
const (
	decodedSlots = 128
	decodedMost  = 32 << 10 // bytes of a record that is kept
)

// decodedRecords are not part of the state. Nobody changes the operations of a record.
type decodedRecords [decodedSlots]struct {
	raw    []byte
	record event.Record
	text   []byte // as JSON, once it is needed
}

// read decodes the record of transaction n from these bytes, or returns the copy that it kept.
func (d *decodedRecords) read(n uint32, raw []byte) (event.Record, error) {
	slot := &d[n%decodedSlots]
	if len(slot.raw) > 0 && bytes.Equal(slot.raw, raw) {
		return slot.record, nil
	}
	r, err := event.ReadRecord(raw)
	if err == nil && len(raw) <= decodedMost {
		slot.raw, slot.record, slot.text = append(slot.raw[:0], raw...), r, nil
	}
	return r, err
}

// text is the record as JSON.
func (d *decodedRecords) text(r *event.Record) []byte {
	if d == nil || len(r.Ops) == 0 {
		return event.AppendJSON(nil, r)
	}
	for i := range d {
		slot := &d[i]
		if len(slot.record.Ops) == 0 || &slot.record.Ops[0] != &r.Ops[0] {
			continue
		}
		if slot.text == nil {
			slot.text = slices.Clip(event.AppendJSON(nil, &slot.record))
		}
		return slot.text
	}
	return event.AppendJSON(nil, r)
}
