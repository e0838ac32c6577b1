package event

import "testing"

// What is packed is told by what to do about it.
func TestPackedRecord(t *testing.T) {
	var b Batch
	var d Decoder
	d.DecodeMessage(&b, Position{}, []byte("\x1f\x8b\x08\x00rest"))
	if len(b.Bad) != 1 || b.Bad[0].Reason != "gzip: unpack it first" {
		t.Errorf("%+v", b.Bad)
	}
}
