package event_test

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// A line of JSON becomes a transaction of a batch. One that does not fit the format is kept with the
// reason.
func ExampleDecoder() {
	var batch event.Batch
	var decoder event.Decoder
	for _, line := range []string{
		`{"txn":"t1","session":"s1","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}`,
		`{"txn":"t2","status":"finished","ops":[]}`,
	} {
		decoder.Decode(&batch, event.Position{}, []byte(line))
	}
	for i := range batch.Txns {
		t := &batch.Txns[i]
		fmt.Printf("%s of session %s:", batch.Text(t.ID), batch.Text(t.Session))
		for _, o := range batch.OpsOf(t) {
			fmt.Printf(" %v %s %s", o.Kind, batch.Text(o.Key), batch.Text(o.Value))
		}
		fmt.Println()
	}
	fmt.Println(batch.Bad[0].Reason)
	// Output:
	// t1 of session s1: r x 1 w x 2
	// byte 21: status "finished" is not one of committed, aborted, unknown
}

// A record is written as a line of JSON.
func ExampleAppendJSON() {
	r := event.Record{ID: "t1", Session: "s1", Status: event.Committed, Ops: []event.RecordOp{
		{Kind: event.Append, Key: "cart", Value: "7"},
	}}
	fmt.Printf("%s\n", event.AppendJSON(nil, &r))
	// Output:
	// {"txn":"t1","session":"s1","status":"committed","ops":[{"op":"append","key":"cart","value":7}]}
}
