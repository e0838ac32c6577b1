package verify

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// overDeleted are two that read x = 1: W wrote it, D deleted it.
func overDeleted() *finding.Witness {
	record := func(id string, change event.RecordOp) event.Record {
		change.Key = "x"
		return event.Record{ID: id, Status: event.Committed, Ops: []event.RecordOp{{Kind: event.Read, Key: "x", Value: "1"}, change}}
	}
	return &finding.Witness{
		Anomaly: finding.Divergence, Key: "x", Value: "1",
		Txns:  []event.Record{record("W", event.RecordOp{Kind: event.Write, Value: "2"}), record("D", event.RecordOp{Kind: event.Delete})},
		Edges: []finding.Dependency{{From: 0, To: 1, Label: finding.RW, Key: "x", Shown: -1}, {From: 1, To: 0, Label: finding.RW, Key: "x", Value: "2", Shown: -1}},
	}
}

// TestVerifyRows: where a row is not its key, a write beside a deletion is no lost update;
// two writes are, and two deletions.
func TestVerifyRows(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(w *finding.Witness)
	}{
		{"keys", "", func(w *finding.Witness) { w.Rows = false }},
		{"rows", "deleted the row, and the other one inserted", func(*finding.Witness) {}},
		{"two writes", "", func(w *finding.Witness) { w.Txns[1].Ops[1] = event.RecordOp{Kind: event.Write, Key: "x", Value: "3"} }},
		{"two deletions", "", func(w *finding.Witness) { w.Txns[0].Ops[1] = event.RecordOp{Kind: event.Delete, Key: "x"} }},
		{"written again behind its deletion", "", func(w *finding.Witness) {
			w.Txns[1].Ops = append(w.Txns[1].Ops, event.RecordOp{Kind: event.Write, Key: "x", Value: "3"})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := overDeleted()
			w.Rows = true
			c.change(w)
			switch err := Verify(w); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestVerifyOrderOfRows: no order of writes leads from a deletion to the next insertion.
func TestVerifyOrderOfRows(t *testing.T) {
	record := func(id string, commit int64, ops ...event.RecordOp) event.Record {
		return event.Record{ID: id, Status: event.Committed, Flags: event.HasCommitTS, CommitTS: commit, Ops: ops}
	}
	w := &finding.Witness{
		ByCommit: true,
		Txns: []event.Record{
			record("D", 30, event.RecordOp{Kind: event.Delete, Key: "x"}, event.RecordOp{Kind: event.Write, Key: "y", Value: "1"}),
			record("W", 40, event.RecordOp{Kind: event.Read, Key: "y", Flags: event.NotFound}, event.RecordOp{Kind: event.Write, Key: "x", Value: "2"}),
		},
		Edges: []finding.Dependency{
			{From: 1, To: 0, Label: finding.RW, Key: "y", Value: "1", Shown: -1},
			{From: 0, To: 1, Label: finding.WW, Key: "x", Value: "2", Shown: -1},
		},
	}
	if err := Verify(w); err != nil {
		t.Fatal(err)
	}
	w.Rows = true
	if err := Verify(w); err == nil || !strings.Contains(err.Error(), "inserted another") {
		t.Error(err)
	}
	w.Txns[1].Ops[1] = event.RecordOp{Kind: event.Delete, Key: "x"}
	w.Edges[1].Value = ""
	if err := Verify(w); err != nil && strings.Contains(err.Error(), "inserted another") {
		t.Error(err)
	}
}
