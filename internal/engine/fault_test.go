package engine

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
)

// TestDecoderThatPanics: the message is a dead letter, and what the decoder had left of it is gone. Those before
// and behind it are there.
func TestDecoderThatPanics(t *testing.T) {
	var d event.Decoder
	var b event.Batch
	b.Partitions = []string{"p"}
	good := func(id string) []byte {
		return []byte(`{"txn":"` + id + `","status":"committed","ops":[{"op":"w","key":"x","value":[1]}]}`)
	}
	messages := []ingest.Message{{Offset: 7, Value: good("T1")}, {Offset: 8, Value: []byte("some text")}, {Offset: 9, Value: good("T2")}}
	decode := func(b *event.Batch, pos event.Position, text []byte) {
		if string(text) == "some text" {
			d.DecodeMessage(b, pos, append(append(good("T3"), '\n'), good("T4")...))
			panic("a slip of ours")
		}
		d.DecodeMessage(b, pos, text)
	}
	never := func() bool { return false }
	taken, f := decodeUntil(&b, 0, messages, 0, never, decode)
	if taken != 2 || f == nil || len(b.Txns) != 1 {
		t.Fatal(taken, f, len(b.Txns))
	}
	taken, f = decodeUntil(&b, 0, messages, taken, never, decode)
	if taken != 3 || f != nil || len(b.Txns) != 2 || len(b.Ops) != 2 || len(b.Bad) != 1 {
		t.Fatal(taken, f, len(b.Txns), b.Bad)
	}
	if b.Text(b.Txns[0].ID) != "T1" || b.Text(b.Txns[1].ID) != "T2" || string(b.Bytes(b.Bad[0].Raw)) != "some text" || b.Bad[0].Pos.Offset != 8 {
		t.Errorf("%s, %s, %+v", b.Text(b.Txns[0].ID), b.Text(b.Txns[1].ID), b.Bad)
	}
	if taken, _ := decodeUntil(&b, 0, messages, 0, func() bool { return true }, decode); taken != 0 {
		t.Errorf("%d are taken though the step is full", taken)
	}
}
