package verify

import (
	"os"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/witnesses"
)

// missedInTime is a stale read of blind writes: T1 and then T2 wrote x, and R, which began
// when both were over, read what T1 wrote. T2 was over, so it comes before T1, of which it
// does not in time.
func missedInTime() *finding.Witness {
	record := func(id string, start, end int64, op event.RecordOp) event.Record {
		return event.Record{ID: id, Status: event.Committed, Flags: event.HasTimes, Start: start, End: end, Ops: []event.RecordOp{op}}
	}
	return &finding.Witness{
		Txns: []event.Record{
			record("T1", 0, 10, event.RecordOp{Kind: event.Write, Key: "x", Value: "1"}),
			record("T2", 20, 30, event.RecordOp{Kind: event.Write, Key: "x", Value: "2"}),
			record("R", 40, 50, event.RecordOp{Kind: event.Read, Key: "x", Value: "1"}),
		},
		Edges: []finding.Dependency{
			{From: 1, To: 0, Label: finding.Saturated, Key: "x", Value: "1", Shown: 2, Past: []finding.Dependency{{From: 1, To: 2, Label: finding.Realtime, Shown: -1}}},
			{From: 0, To: 1, Label: finding.Realtime, Shown: -1},
		},
	}
}

// TestVerifySaturatedInTime: a past in real time is derived from the times alone, with the
// drift between clocks, and nothing that a witness says of it is believed.
func TestVerifySaturatedInTime(t *testing.T) {
	w := missedInTime()
	if err := Verify(w); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		change     func(w *finding.Witness)
	}{
		{"ran beside the reader", "may still have been running", func(w *finding.Witness) { w.Txns[1].End = 45 }},
		{"within the drift", "may still have been running", func(w *finding.Witness) { w.Drift = 10 }},
		{"without times", "has no times", func(w *finding.Witness) { w.Txns[2].Flags = 0 }},
		{"another value was read", "did not read 1", func(w *finding.Witness) { w.Txns[2].Ops[0].Value = "2" }},
		{"another key was written", "did not write x", func(w *finding.Witness) { w.Txns[1].Ops[0].Key = "y" }},
		{"the reader aborted", "aborted", func(w *finding.Witness) { w.Txns[2].Status = event.Aborted }},
		{"no past", "no read forces", func(w *finding.Witness) { w.Edges[0].Past = nil }},
		{"the past of another", "does not follow", func(w *finding.Witness) { w.Edges[0].Past[0].From = 0 }},
		{"the past of another reader", "does not lead to the reader", func(w *finding.Witness) {
			w.Txns = append(w.Txns, w.Txns[2])
			w.Edges[0].Past[0].To = 3
		}},
		{"an anti-dependency in the past", "does not follow", func(w *finding.Witness) { w.Edges[0].Past[0].Label |= finding.RW }},
		{"the reader is a writer", "one of the two writers", func(w *finding.Witness) { w.Edges[0].Shown = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := missedInTime()
			c.change(w)
			if err := Verify(w); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestVerifyRangeBesideList: a range shows registers, and says nothing of a list's or a counter's key.
func TestVerifyRangeBesideList(t *testing.T) {
	for _, x := range []struct{ txn, key string }{
		{"txn T1: append l 1, range k..m [], read l []", "l"},
		{"txn T1: count c 1, range b..d [], count c 2", "c"},
	} {
		w := finding.Witness{Anomaly: finding.Internal, Key: x.key, Op: 2, Txns: recordsOf(t, x.txn)}
		if err := Verify(&w); err != nil {
			t.Errorf("%s: %v", x.txn, err)
		}
	}
}

// TestVerifyRangeBesideListByKind: so it is of a list that nobody appended to, and the record calls one.
func TestVerifyRangeBesideListByKind(t *testing.T) {
	w := finding.Witness{Anomaly: finding.Nonrepeatable, Key: "l", Op: 1, Txns: recordsOf(t, "txn T1: read l 1, range k..m []")}
	if err := Verify(&w); err != nil {
		t.Error(err)
	}
	if w.Txns[0].Ops[0].Data = event.List; Verify(&w) == nil {
		t.Error("a range that does not show a list contradicts a read of it")
	}
}

// TestVerifyOrdersSteps: choices that cannot be tried to the end are refused, of each witness that
// is accepted otherwise.
func TestVerifyOrdersSteps(t *testing.T) {
	text, err := os.ReadFile("testdata/real.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := witnesses.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range cases {
		w, err := c.Witness.Finding()
		if err != nil {
			t.Fatal(err)
		}
		if w = plainly(w); len(w.Choices) == 0 || c.Refuses != "" {
			continue
		}
		seen++
		enough := -1
		for ways := range 100 {
			switch err := checkOrdersIn(w, ways); {
			case err == nil && enough < 0:
				enough = ways
			case err != nil && enough < 0 && !strings.Contains(err.Error(), "too many ways out"):
				t.Fatalf("%s: %d ways: %v", c.Name, ways, err)
			case err != nil && enough >= 0:
				t.Fatalf("%s: %d ways are enough, and %d are not: %v", c.Name, enough, ways, err)
			}
		}
		if enough < 2 {
			t.Errorf("%s: refuted with %d ways", c.Name, enough)
		}
	}
	if seen < 5 {
		t.Errorf("%d witnesses with choices", seen)
	}
}
