package infer

import (
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestSaw: of a key that was read twice, what the first read saw is what later versions
// overwrote for the reader; what a second one saw counts for itself.
func TestSaw(t *testing.T) {
	s := New(Options{Complete: true})
	add(t, s,
		`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`,
		`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}`,
		`{"txn":"T3","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"x","value":2}]}`,
	)
	n := s.WithID("T3", "")
	k := s.internKey(event.HashText([]byte("x")), []byte("x"))
	first := s.Saw(n, s.keys[k].initial)
	if w := s.versions[first].writer; w != s.WithID("T1", "") {
		t.Errorf("T3 first saw what %d wrote, want T1's", w)
	}
}
