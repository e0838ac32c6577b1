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

// A session that is not one client's says why: its transactions need not overlap.
func TestNotSequentialSaysWhy(t *testing.T) {
	const timed, both = event.HasTimes, event.HasTimes | event.HasSeq
	for _, c := range []struct {
		a, b event.Record
		want string
	}{
		{event.Record{Flags: timed, Start: 1, End: 3}, event.Record{Flags: timed, Start: 2, End: 4}, "overlap"},
		{event.Record{Flags: both, Seq: 1, Start: 1, End: 3}, event.Record{Flags: both, Seq: 1, Start: 2, End: 4}, "overlap"},
		{event.Record{Flags: both, Seq: 1, Start: 5, End: 6}, event.Record{Flags: both, Seq: 1, Start: 2, End: 4}, "have the same seq, 1"},
		{event.Record{Flags: event.HasSeq, Seq: 7}, event.Record{Flags: event.HasSeq, Seq: 7}, "have the same seq, 7"},
		{event.Record{Flags: both, Seq: 1, Start: 5, End: 6}, event.Record{Flags: both, Seq: 2, Start: 2, End: 4}, "have another order by seq than by time"},
		{event.Record{Flags: both, Seq: 2, Start: 2, End: 4}, event.Record{Flags: both, Seq: 1, Start: 5, End: 6}, "have another order by seq than by time"},
	} {
		c.a.ID, c.b.ID = "A", "B"
		w := &witness{Witness: &finding.Witness{Anomaly: finding.SessionOverlap, Txns: []event.Record{c.a, c.b}}}
		want := "A and B of one session " + c.want + ": it is not a single-threaded client, and its order is not used"
		if got := sentence(w); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
