package engine

import (
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestDecoderThatPanics: the message is a dead letter, and what the decoder had left of it is gone.
func TestDecoderThatPanics(t *testing.T) {
	var d event.Decoder
	var b event.Batch
	const good = `{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`
	if f := decodeOr(&b, event.Position{}, []byte(good), d.DecodeMessage); f != nil || len(b.Txns) != 1 {
		t.Fatal(f, len(b.Txns))
	}
	f := decodeOr(&b, event.Position{Offset: 1}, []byte("some text"), func(b *event.Batch, pos event.Position, _ []byte) {
		d.DecodeMessage(b, pos, []byte(good+"\n"+good))
		panic("a slip of ours")
	})
	if f == nil || len(b.Txns) != 1 || len(b.Ops) != 1 || len(b.Bad) != 1 || string(b.Bytes(b.Bad[0].Raw)) != "some text" || b.Text(b.Txns[0].ID) != "T1" {
		t.Errorf("%v, %d transactions, %+v", f, len(b.Txns), b.Bad)
	}
}
