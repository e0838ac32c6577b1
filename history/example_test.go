package history_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
)

// A history that was recorded for Elle becomes records of Isowatch.
func ExampleReader() {
	const edn = `{:index 0, :type :invoke, :process 0, :value [[:append x 1] [:r y nil]]}
{:index 1, :type :ok, :process 0, :value [[:append x 1] [:r y []]]}
`
	r := history.Reader{Batch: &event.Batch{}}
	if err := r.Read(history.EDN, strings.NewReader(edn)); err != nil {
		fmt.Println(err)
		return
	}
	for i := range r.Batch.Txns {
		t := r.Batch.Record(&r.Batch.Txns[i])
		fmt.Printf("%s\n", event.AppendJSON(nil, &t))
	}
	// Output:
	// {"txn":"T0","session":"0","seq":0,"status":"committed","start":11,"end":12,"ops":[{"op":"append","key":"x","value":1},{"op":"r","key":"y","value":[]}]}
}

// Records are written for another checker, here for Elle.
func ExampleWrite() {
	err := history.Write(os.Stdout, history.EDN, []event.Record{
		{ID: "t1", Session: "a", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Append, Key: "x", Value: "1"}}},
		{ID: "t2", Session: "b", Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Key: "x", Value: "[1]"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {:type :ok, :process 0, :f :txn, :value [[:append "x" 1]], :index 0}
	// {:type :ok, :process 1, :f :txn, :value [[:r "x" [1]]], :index 1}
}
