package window

import (
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// TestLeftOut: T7 saw two versions of x, which is one violation; what the order of their
// writers adds is no witness that the verifier accepts. It is counted, and no verdict rests
// on it.
func TestLeftOut(t *testing.T) {
	levels, err := isolation.ParseLevels("snapshot-isolation,strong-session-snapshot-isolation,serializable,strong-session-serializable")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := check(t, Config{Unbounded: true, Contract: Contract{Complete: true}, Levels: levels}, `
{"txn":"T7","session":"s2","seq":2,"start":1069000000,"end":1119000000,"status":"committed","ops":[{"op":"r","key":"x","value":2},{"op":"r","key":"x","value":4}]}
{"txn":"T8","session":"s0","seq":2,"start":1070000000,"end":1141000000,"status":"committed","ops":[{"op":"w","key":"x","value":4},{"op":"r","key":"z","value":null}]}
{"txn":"T5","start":1032000000,"end":1147000000,"status":"committed","ops":[{"op":"w","key":"x","value":2},{"op":"w","key":"z","value":9}]}`)
	if m.Counters.LeftOut == 0 || m.Counters.Unverified != 0 {
		t.Errorf("%d left out, %d unverified (%v)", m.Counters.LeftOut, m.Counters.Unverified, m.finder.unverified)
	}
	for _, l := range levels {
		if v, why := m.Verdict(l); v != Violated {
			t.Errorf("%v: %s (%s)", l, v, why)
		}
	}
}
