package window

import "testing"

// TestDuplicateRecords: what a client says of itself beside the transaction, its name
// and trace, does not make a second report a contradiction; an operation does.
func TestDuplicateRecords(t *testing.T) {
	whole := Config{Unbounded: true, Contract: Contract{Complete: true}}
	m, eff := check(t, whole, `
{"txn":"T1","status":"committed","name":"pay","trace_id":"a","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T1","status":"committed","name":"retry","trace_id":"b","ops":[{"op":"w","key":"x","value":1}]}`)
	if m.Totals().Duplicates != 1 || m.Totals().Contradictory != 0 || len(eff.Findings) != 0 {
		t.Errorf("another name: %d duplicates, %d contradictory, findings %v", m.Totals().Duplicates, m.Totals().Contradictory, eff.Findings)
	}
	m, _ = check(t, whole, `
{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":2}]}`)
	if m.Totals().Duplicates != 0 || m.Totals().Contradictory != 1 {
		t.Errorf("another value: %d duplicates, %d contradictory", m.Totals().Duplicates, m.Totals().Contradictory)
	}
}
