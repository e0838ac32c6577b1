package window

import (
	"fmt"
	"strings"
	"testing"
)

// The finding has both records of a transaction, where each is, and what they differ in.
func TestContradictoryRecordsAreBothEvidence(t *testing.T) {
	whole := Config{Unbounded: true, Contract: Contract{Complete: true}}
	_, eff := check(t, whole, `
{"txn":"T1","session":"a","status":"committed","ops":[{"op":"w","key":"x","value":"first"}]}
{"txn":"T1","session":"b","status":"aborted","ops":[{"op":"w","key":"x","value":"second"},{"op":"r","key":"y","value":null}]}`)
	f := eff.Findings[len(eff.Findings)-1]
	if len(f.History) != 2 || !strings.Contains(string(f.History[0]), "first") || !strings.Contains(string(f.History[1]), "second") {
		t.Errorf("the records are %s", f.History)
	}
	if f.Positions["T1"] == "" || f.SecondPositions["T1"] == "" || f.FirstPosition != f.Positions["T1"] || f.LastPosition != f.SecondPositions["T1"] {
		t.Errorf("positions %v and %v, from %s to %s", f.Positions, f.SecondPositions, f.FirstPosition, f.LastPosition)
	}
	const want = "They differ in outcome (committed, then aborted); session (a, then b); number of operations (1, then 2); content of operation 1 (write x)"
	if !strings.Contains(f.Explanation, want) || strings.Contains(f.Explanation, "second\"") {
		t.Errorf("it says: %s", f.Explanation)
	}
}

// A finding carries at most 32 KiB of records, and no transaction with one of its two.
func TestContradictoryRecordsAreBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 8 {
		for j := range 2 {
			fmt.Fprintf(&lines, `{"txn":"T%d","status":"committed","ops":[{"op":"w","key":"x","value":"%d-%s"}]}`+"\n", i, j, strings.Repeat("v", 5<<10))
		}
	}
	_, eff := check(t, Config{Unbounded: true, Contract: Contract{Complete: true}}, lines.String())
	f := eff.Findings[len(eff.Findings)-1]
	size := 0
	for _, record := range f.History {
		size += len(record)
	}
	if len(f.Txns) != 8 || len(f.SecondPositions) != 8 || len(f.History) != 6 || size > maxContradictoryBytes {
		t.Errorf("%d transactions, %d positions, %d records of %d bytes", len(f.Txns), len(f.SecondPositions), len(f.History), size)
	}
}
