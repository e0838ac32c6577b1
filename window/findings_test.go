package window

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/isolation"
)

// TestBesides: what R missed refutes serializable with W1, whose append W2 did not see, and a
// level in real time with W1 alone, which was over. The finding tells both cycles.
func TestBesides(t *testing.T) {
	_, eff := check(t, Config{Levels: isolation.Encoded(), Unbounded: true, Contract: Contract{Complete: true}}, `
{"txn":"W1","session":"a","seq":0,"start":0,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"x","value":1}]}
{"txn":"W2","session":"b","seq":0,"start":0,"end":9,"status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"x","value":2}]}
{"txn":"R","session":"c","seq":0,"start":20,"end":30,"status":"committed","ops":[{"op":"r","key":"x","value":[2]}]}`)
	for _, f := range eff.Findings {
		if f.Anomaly != "G2-item" || !slices.Contains(f.Refutes, "strong-read-atomic") {
			continue
		}
		first, second, both := strings.Cut(f.Explanation, "\n\nBesides, ")
		if !both || !strings.Contains(first, "W2 < R") || !strings.Contains(second, "because W1 had ended 11ns before R began") || strings.Contains(second, "W2") {
			t.Errorf("refutes %v, and explains\n%s", f.Refutes, f.Explanation)
		}
		return
	}
	t.Errorf("no cycle refutes both: %+v", eff.Findings)
}
