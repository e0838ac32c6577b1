package oracle

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// TestElementTwice: two transactions that leave one element in a set do not conflict. The first ended before
// the second began, which did not see it: at generalized snapshot isolation its snapshot may be older.
func TestElementTwice(t *testing.T) {
	read := workload.Op{Kind: event.Read, Key: "x", Other: workload.Other{Data: event.Set}}
	add := workload.Op{Kind: event.Add, Key: "x", Value: 1}
	remove := workload.Op{Kind: event.Remove, Key: "x", Value: 1}
	for name, c := range map[string]struct {
		second workload.Op
		holds  bool
	}{"add": {add, true}, "remove": {remove, false}} {
		h := History{
			{ID: "T1", Status: event.Committed, Start: 10, End: 20, Ops: []workload.Op{add}},
			{ID: "T2", Status: event.Committed, Start: 30, End: 40, Ops: []workload.Op{read, c.second}},
		}
		holds, err := PossibleAt(h, "generalized-snapshot-isolation")
		if err != nil || holds != c.holds {
			t.Errorf("%s: an order exists: %v, want %v (%v)", name, holds, c.holds, err)
		}
	}
}
