package isolation

import (
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// TestWithoutCycle: each kind of finding without a cycle has a row with all that is said of it, or is one
// of those that lack knowledge.
func TestWithoutCycle(t *testing.T) {
	horizon := []finding.AnomalyKind{finding.RetiredRead, finding.RetiredReader, finding.RetiredConflict}
	ops := []event.RecordOp{{Kind: event.Read, Key: "x", Value: "1"}}
	w := &witness{Witness: &finding.Witness{Key: "x", Value: "1", Txns: []event.Record{{ID: "A", Ops: ops}, {ID: "B", Ops: ops}}}}
	for _, kind := range finding.AnomalyKinds() {
		row := withoutCycle[kind]
		if slices.Contains(horizon, kind) {
			if row != nil || NameOf(kind).Anomaly != "horizon" {
				t.Errorf("kind %s: a lack of knowledge has a row", kind)
			}
			continue
		}
		if row == nil {
			t.Errorf("kind %s has no row", kind)
			continue
		}
		if row.anomaly != "" && TitleOf(row.anomaly) == "" {
			t.Errorf("kind %s: no anomaly is called %s", kind, row.anomaly)
		}
		if row.text == "" && row.says == nil && kind != finding.Divergence { // told by its edges
			t.Errorf("kind %s says nothing", kind)
		}
		if row.anomaly != "" && row.kind == "" && len(row.weakest) == 0 {
			t.Errorf("kind %s refutes nothing", kind)
		}
		for _, text := range []string{row.text, row.headline} {
			if got := w.fill(text); strings.Contains(got, "$") {
				t.Errorf("kind %s: a blank is left: %s", kind, got)
			}
		}
	}
	if n := len(withoutCycle) + len(horizon); n != len(finding.AnomalyKinds()) {
		t.Errorf("%d rows and lacks, and %d kinds", n, len(finding.AnomalyKinds()))
	}
}
