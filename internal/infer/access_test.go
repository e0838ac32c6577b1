package infer

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// TestSaw: of a key that was read twice, what the first read saw is what later versions
// overwrote for the reader; what a second one saw counts for itself.
func TestSaw(t *testing.T) {
	s := New(ledger.Options{Complete: true})
	add(t, s,
		`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`,
		`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}]}`,
		`{"txn":"T3","status":"committed","ops":[{"op":"r","key":"x","value":1},{"op":"r","key":"x","value":2}]}`,
	)
	n := s.WithID("T3", "")
	k := s.InternKey(event.HashText([]byte("x")), []byte("x"))
	first := s.Saw(n, s.Keys[k].Initial)
	if w := s.Versions[first].Writer; w != s.WithID("T1", "") {
		t.Errorf("T3 first saw what %d wrote, want T1's", w)
	}
}

// TestWithID: an id names a transaction within its epoch.
func TestWithID(t *testing.T) {
	s := New(ledger.Options{Complete: true})
	add(t, s,
		`{"txn":"T1","status":"committed","ops":[{"op":"w","key":"x","value":1}]}`,
		`{"txn":"T1","epoch":"e","status":"committed","ops":[{"op":"w","key":"x","value":2}]}`,
	)
	plain, later := s.WithID("T1", ""), s.WithID("T1", "e")
	if plain == 0 || later == 0 || plain == later || s.WithID("T1", "f") != 0 {
		t.Errorf("T1 is %d, in the epoch e %d, in f %d", plain, later, s.WithID("T1", "f"))
	}
}
