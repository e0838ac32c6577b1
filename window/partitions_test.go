package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestNamedPartitionHolds: a partition that was named, and has brought nothing so far, holds the watermark
// back. Its first record may be older than all others.
func TestNamedPartitionHolds(t *testing.T) {
	watermark := func(named ...string) int64 {
		m := New(Config{Lateness: For(time.Second)})
		m.Step(&event.Batch{Partitions: named}, nil, 0, &Effects{})
		b := event.Batch{Partitions: []string{"a"}}
		var d event.Decoder
		d.DecodeMessage(&b, event.Position{}, fmt.Appendf(nil, `{"txn":"T1","status":"committed","start":%d,"end":%[1]d,"ops":[]}`, time.Minute))
		for _, bad := range b.Bad {
			t.Fatal(bad.Reason)
		}
		m.Step(&b, []int32{0}, 0, &Effects{})
		return m.Watermark()
	}
	if got, want := watermark("a"), int64(59*time.Second); got != want {
		t.Errorf("with one partition the watermark is %d, want %d", got, want)
	}
	if got, want := watermark("a", "b"), New(Config{}).Watermark(); got != want {
		t.Errorf("with another one that has brought nothing it is %d, want %d", got, want)
	}
}

// TestUntrackedWithdrawal: a finding falls since a conflict is not tracked any more. That is no outcome that came
// later, although the record before it was one.
func TestUntrackedWithdrawal(t *testing.T) {
	m, eff := check(t, Config{Unbounded: true, Contract: Contract{Complete: true}, Rules: isolation.Rules{Tracked: true}}, `
{"txn":"T4","status":"committed","ops":[{"op":"append","key":"x","value":4},{"op":"r","key":"y","value":null}]}
{"txn":"T5","status":"committed","ops":[{"op":"w","key":"y","value":1},{"op":"r","key":"x","value":[2,3]}]}
{"txn":"U","status":"unknown","ops":[{"op":"w","key":"z","value":1}]}
{"txn":"U","status":"aborted","ops":[{"op":"w","key":"z","value":1}]}
{"txn":"T1","status":"committed","isolation":"read-committed","ops":[{"op":"append","key":"x","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"append","key":"x","value":2},{"op":"append","key":"x","value":3}]}`)
	if !slices.ContainsFunc(eff.Findings, func(f finding.Finding) bool { return f.State == finding.Withdrawn }) {
		t.Fatal("no finding is withdrawn")
	}
	if c := m.Counters; c.WithdrawnOther != 1 || c.WithdrawnOutcome != 0 {
		t.Errorf("withdrawn for another cause %d, for an outcome %d", c.WithdrawnOther, c.WithdrawnOutcome)
	}
}

// TestRowsWithdrawal: a deletion explains a lost update, since another row may have had the key. No outcome that came
// later is the cause, and no value that repeats.
func TestRowsWithdrawal(t *testing.T) {
	m, eff := check(t, Config{Unbounded: true, Contract: Contract{Complete: true}, Rules: isolation.Rules{Rows: true}}, `
{"txn":"I","status":"committed","ops":[{"op":"w","key":"x","value":1}]}
{"txn":"A","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}
{"txn":"B","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":3}]}
{"txn":"U","status":"unknown","ops":[{"op":"w","key":"z","value":1}]}
{"txn":"U","status":"aborted","ops":[{"op":"w","key":"z","value":1}]}
{"txn":"D","status":"committed","ops":[{"op":"delete","key":"x"}]}`)
	if !slices.ContainsFunc(eff.Findings, func(f finding.Finding) bool { return f.State == finding.Withdrawn && f.Anomaly == lostUpdate }) {
		t.Fatalf("no lost update is withdrawn: %v", eff.Findings)
	}
	if c := m.Counters; c.WithdrawnOther != 1 || c.WithdrawnOutcome != 0 {
		t.Errorf("withdrawn for another cause %d, for an outcome %d", c.WithdrawnOther, c.WithdrawnOutcome)
	}
}
