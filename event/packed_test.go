package event

import "testing"

// What is packed is told by what to do about it.
func TestPackedRecord(t *testing.T) {
	for text, want := range map[string]string{"\x1f\x8b\x08\x00rest": "gzip: unpack it first", "\x28\xb5\x2f\xfd\x04rest": "zstd: unpack it first"} {
		var b Batch
		var d Decoder
		d.DecodeMessage(&b, Position{}, []byte(text))
		if len(b.Bad) != 1 || b.Bad[0].Reason != want {
			t.Errorf("%s: %+v", want, b.Bad)
		}
	}
}
