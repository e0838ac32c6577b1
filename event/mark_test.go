package event

import (
	"strings"
	"testing"
)

// A mark keeps its place among transactions when one that was put together of its pieces
// comes between them.
func TestMarkKeepsItsPlace(t *testing.T) {
	const records = `{"type":"begin","txn":"p"}
{"txn":"a","status":"committed","ops":[]}
{"type":"mark","name":"first","start":1}
{"type":"commit","txn":"p"}
{"txn":"b","status":"committed","ops":[]}
{"type":"mark","name":"second","start":2}
{"type":"begin","txn":"q"}
{"type":"abort","txn":"q"}
{"type":"mark","name":"third","start":3}`
	var d Decoder
	var b Batch
	d.DecodeMessage(&b, Position{}, []byte(records))
	new(Assembler).Add(&b)
	b.Parts = nil
	want := `{"txn":"a","status":"committed","ops":[]}
{"txn":"p","status":"committed","ops":[]}
{"txn":"b","status":"committed","ops":[]}
{"txn":"q","status":"aborted","ops":[]}
behind 1: {"type":"mark","name":"first","start":1}
behind 3: {"type":"mark","name":"second","start":2}
behind 4: {"type":"mark","name":"third","start":3}`
	if got := show(&b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The Protobuf form says the same as the JSON form.
func TestMarkInProto(t *testing.T) {
	mark := func(fields ...[]byte) []byte { return pf(2, join(append(fields, pf(16, 5))...)) }
	at := func(num int, ns int64) []byte { return appendProtoTime(nil, num, ns, true) }
	message := join(
		mark(pf(14, "fault"), pf(3, "orders"), pf(4, "e1"), pf(pText, "exit code 1"), at(7, 10), at(8, 20)),
		mark(pf(14, "fault"), at(7, 30)),
		mark(at(7, 30)), mark(pf(14, "fault")), mark(pf(14, "fault"), at(7, 2), at(8, 1)), mark(pf(14, "fault"), at(7, 2), pf(9, pf(1, 1))),
	)
	var d Decoder
	var b Batch
	d.DecodeMessage(&b, Position{}, message)
	var reasons []string
	for _, bad := range b.Bad {
		reasons = append(reasons, bad.Reason[strings.Index(bad.Reason, ": ")+2:])
	}
	b.Bad = nil
	got := show(&b) + "\n" + strings.Join(reasons, "\n")
	want := `behind 0: {"type":"mark","source":"orders","epoch":"e1","name":"fault","text":"exit code 1","start":10,"end":20}
behind 0: {"type":"mark","name":"fault","start":30}
name is missing or empty: a mark needs one
start is missing: a mark needs one
end is before start
`
	if !strings.HasPrefix(got, want) || len(reasons) != 4 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
