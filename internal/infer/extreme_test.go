package infer

import (
	"fmt"
	"math"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// add gives s the records, one a step, and returns all anomalies.
func add(t *testing.T, s *State, records ...string) (found []ledger.Anomaly) {
	t.Helper()
	var d event.Decoder
	for i, r := range records {
		b := &event.Batch{Partitions: []string{"test"}}
		d.Decode(b, event.Position{Offset: int64(i)}, []byte(r))
		if len(b.Bad) > 0 {
			t.Fatalf("%s: %s", r, b.Bad[0].Reason)
		}
		var out ledger.Out
		s.Add(b, &b.Txns[0], b.Txns[0].Start, b.Txns[0].End, &out)
		found = append(found, out.Anomalies...)
		if err := s.Check(); err != nil {
			t.Fatalf("after %s: %v", r, err)
		}
	}
	return found
}

// TestExtremeSeq: numbers within a session may be any that int64 holds, in any
// order; a jump is a gap, and the counter of gaps never turns negative.
func TestExtremeSeq(t *testing.T) {
	for _, c := range []struct {
		seqs []int64
		gap  bool
	}{
		{[]int64{1, 2, 3}, false},
		{[]int64{math.MaxInt64 - 1, math.MaxInt64}, false},
		{[]int64{math.MinInt64, math.MinInt64 + 1}, false},
		{[]int64{math.MaxInt64, math.MinInt64}, false}, // before all that is expected
		{[]int64{math.MaxInt64, -2, -1, math.MaxInt64 - 63, math.MaxInt64 - 64}, false},
		{[]int64{math.MinInt64, math.MaxInt64}, true},
		{[]int64{0, 1 << 40, 1 << 50, math.MaxInt64}, true},
		{[]int64{-3, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}, true},
	} {
		t.Run(fmt.Sprint(c.seqs), func(t *testing.T) {
			s := New(ledger.Options{Complete: true})
			for session := range 3 { // three times the greatest gap is more than int64 holds
				for i, seq := range c.seqs {
					add(t, s, fmt.Sprintf(`{"txn":"T%d-%d","session":"s%d","seq":%d,"status":"committed","ops":[]}`, session, i, session, seq))
				}
			}
			var out ledger.Out
			s.Decide(math.MaxInt64, math.MinInt64, &out)
			if n := s.Counters.Gaps; n < 0 || c.gap != (n > 0) {
				t.Errorf("%d gaps", n)
			}
		})
	}
}

// TestStampWrapsAround: 2^32 transactions later a key that was never touched, or
// was touched that long ago, is not taken for one that this transaction touched.
func TestStampWrapsAround(t *testing.T) {
	s := New(ledger.Options{Complete: true})
	add(t, s, `{"txn":"T1","status":"committed","ops":[{"op":"w","key":"a","value":1},{"op":"w","key":"b","value":1}]}`)
	s.Stamp = math.MaxUint32
	found := add(t, s,
		`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"c","value":null},{"op":"w","key":"c","value":1},{"op":"r","key":"b","value":1}]}`,
		`{"txn":"T3","status":"committed","ops":[{"op":"r","key":"b","value":1},{"op":"r","key":"a","value":1},{"op":"w","key":"a","value":2}]}`)
	if len(found) > 0 {
		t.Errorf("anomalies %+v in a history without any", found)
	}
}
