package event

import (
	"strings"
	"testing"
)

// TestRecordTimed: what a record's beginning says of its times is what the whole of it says.
func TestRecordTimed(t *testing.T) {
	for _, c := range []struct {
		fields string
		timed  bool
	}{{`"start":5,"end":7,`, true}, {"", false}, {`"stale":true,"session":"s","seq":3,`, false}, {`"stale":true,"session":"s","seq":3,"start":5,"end":7,`, true}} {
		var d Decoder
		var b Batch
		d.DecodeMessage(&b, Position{}, []byte(strings.ReplaceAll(`{"txn":"T","status":"committed",FIELDS"ops":[{"op":"r","key":"x","value":1}]}`, "FIELDS", c.fields)))
		rec := AppendRecord(nil, &b, &b.Txns[0])
		r, err := ReadRecord(rec)
		if got := RecordTimed(rec); err != nil || got != c.timed || got != (r.Flags&HasTimes != 0) {
			t.Errorf("%q: timed %v, want %v (%v)", c.fields, got, c.timed, err)
		}
	}
	if RecordTimed(nil) || RecordTimed([]byte{1}) {
		t.Error("a record that is cut off has times")
	}
}
