package window

import "testing"

// TestLateUnknownWriterStaysCounted: a read outlives its reader as the reason
// why an unknown outcome counts, also when another value of that transaction
// turns out to have two possible writers.
func TestLateUnknownWriterStaysCounted(t *testing.T) {
	cfg := Config{Window: For(0), Lateness: For(0), Contract: Contract{Complete: true}}
	const reader = `
{"txn":"T1","start":992,"end":1000,"session":"a","seq":1,"status":"committed","ops":[{"op":"r","key":"x","value":3}]}
{"txn":"T2","start":1000,"end":1002,"status":"unknown","ops":[{"op":"w","key":"y","value":1}]}`
	for name, writer := range map[string]string{
		"one value": `
{"txn":"T3","start":1000,"end":1002,"session":"a","seq":2,"status":"unknown","ops":[{"op":"w","key":"x","value":3}]}`,
		"and one that two wrote": `
{"txn":"T3","start":1000,"end":1002,"session":"a","seq":2,"status":"unknown","ops":[{"op":"w","key":"x","value":3},{"op":"w","key":"y","value":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, eff := check(t, cfg, reader+writer)
			if m.Counters.Horizon != 1 || len(eff.Findings) == 0 {
				t.Errorf("T3 wrote what T1, retired, had read: %d horizon edges, %d findings", m.Counters.Horizon, len(eff.Findings))
			}
		})
	}
}
