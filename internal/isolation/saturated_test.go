package isolation

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TestNameSaturatedInTime: T1 and then T2 wrote x, and R, which began when both were over,
// read what T1 wrote.
func TestNameSaturatedInTime(t *testing.T) {
	record := func(id string, start, end int64, op event.RecordOp) event.Record {
		return event.Record{ID: id, Status: event.Committed, Flags: event.HasTimes, Start: start, End: end, Ops: []event.RecordOp{op}}
	}
	got := NameCycle(&finding.Witness{
		Txns: []event.Record{
			record("T1", 0, 10, event.RecordOp{Kind: event.Write, Key: "x", Value: "1"}),
			record("T2", 20, 30, event.RecordOp{Kind: event.Write, Key: "x", Value: "2"}),
			record("R", 40, 50, event.RecordOp{Kind: event.Read, Key: "x", Value: "1"}),
		},
		Edges: []finding.Dependency{
			{From: 1, To: 0, Label: finding.Saturated, Key: "x", Value: "1", Shown: 2, Past: []finding.Dependency{{From: 1, To: 2, Label: finding.Realtime, Shown: -1}}},
			{From: 0, To: 1, Label: finding.Realtime, Shown: -1},
		},
	})
	if got.Anomaly != "G-single-item-realtime" || strings.Join(LevelNames(got.Weakest), " ") != "strong-read-atomic strong-repeatable-read" {
		t.Errorf("%+v, want a cycle that refutes strong-read-atomic and strong-repeatable-read", got)
	}
}
