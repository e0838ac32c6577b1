package window

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// What R missed refutes serializable with W1, whose append W2 did not see, and a level in real
// time with W1 alone, which was over. Two cycles of the same transactions that refute
// different levels are two findings: each refutes what its own edges show.
func TestTwoCyclesOfOneReader(t *testing.T) {
	_, eff := check(t, Config{Levels: isolation.Encoded(), Unbounded: true, Contract: Contract{Complete: true}}, `
{"txn":"W1","session":"a","seq":0,"start":0,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"x","value":1}]}
{"txn":"W2","session":"b","seq":0,"start":0,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"x","value":2}]}
{"txn":"R","session":"c","seq":0,"start":20,"end":30,"status":"committed","ops":[{"op":"r","key":"x","value":[2]}]}`)
	refutes := map[string]string{}
	for _, f := range eff.Findings {
		refutes[f.Anomaly] = strings.Join(f.Refutes, " ")
		if strings.Contains(f.Explanation, "because W1 had ended 11 ns before R began") != slices.Contains(f.Refutes, "strong-read-atomic") {
			t.Errorf("refutes %v, and explains\n%s", f.Refutes, f.Explanation)
		}
	}
	want := map[string]string{"lost-update": "cursor-stability", "G-single-item-realtime": "strong-read-atomic strong-repeatable-read", "G2-item": "repeatable-read update-serializable"}
	if !maps.Equal(refutes, want) {
		t.Errorf("refuted are %v, want %v", refutes, want)
	}
}
