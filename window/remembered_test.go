package window

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestDecodedRecords uses numbers again, for other transactions and in the same slot.
func TestDecodedRecords(t *testing.T) {
	raw := func(id, value string) []byte {
		var b event.Batch
		var d event.Decoder
		r := event.Record{ID: id, Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Write, Key: "x", Value: value}}}
		d.Decode(&b, event.Position{}, event.AppendJSON(nil, &r))
		if len(b.Txns) == 0 {
			t.Fatal(b.Bad)
		}
		return event.AppendRecord(nil, &b, &b.Txns[0])
	}
	d := &decodedRecords{}
	for _, c := range []struct {
		n   uint32
		raw []byte
	}{
		{1, raw("a", "1")}, {1, raw("a", "1")}, {1, raw("b", "1")}, {1 + decodedSlots, raw("c", "2")}, {1, raw("b", "1")},
		{2, raw("long", string(bytes.Repeat([]byte{'7'}, 2*decodedMost)))}, {2, raw("a", "3")}, {3, raw("d", "1")},
	} {
		got, err := d.read(c.n, c.raw)
		if err != nil {
			t.Fatal(err)
		}
		want, err := event.ReadRecord(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("transaction %d is %+v, want %+v", c.n, got, want)
		}
		for range 2 {
			if text := d.text(&got); !bytes.Equal(text, event.AppendJSON(nil, &want)) {
				t.Errorf("the text of %s is %s", want.ID, text)
			}
		}
	}
}
