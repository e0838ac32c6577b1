//go:build integration

package live

import (
	"testing"

	"github.com/isowatch/isowatch/finding"
)

// TestUnexcused: only a record of the same source that came behind the lateness excuses a withdrawal, and
// only one that the monitor took back for it.
func TestUnexcused(t *testing.T) {
	gone := func(source, anomaly string) alerted {
		var f alerted
		f.Source, f.Anomaly, f.State = source, anomaly, string(finding.Withdrawn)
		return f
	}
	took := []alerted{gone("a", "G1a"), gone("a", "lost-update"), gone("b", "lost-update")}
	for _, x := range []struct {
		late, causes map[string]float64
		repeated     float64
		want         int
	}{
		{map[string]float64{}, map[string]float64{"late-record": 3}, 0, 3}, // nothing came late
		{map[string]float64{"a": 1}, map[string]float64{"late-record": 3}, 0, 1},
		{map[string]float64{"a": 1, "b": 1}, map[string]float64{"late-record": 2, "other": 1}, 0, 1},
		{map[string]float64{"a": 1, "b": 1}, map[string]float64{"late-record": 3}, 0, 0},
		{map[string]float64{}, map[string]float64{"repetition": 1}, 1, 2}, // of the G1a alone
		{map[string]float64{}, map[string]float64{"other": 3}, 0, 3},
	} {
		if back := unexcused(took, x.late, x.causes, x.repeated); len(back) != x.want {
			t.Errorf("late %v, causes %v: %d are not excused, want %d", x.late, x.causes, len(back), x.want)
		}
	}
}
