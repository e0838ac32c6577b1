package infer

import (
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestExpect: where room was made, no array moves, and no table grows.
func TestExpect(t *testing.T) {
	const n = 1000
	s := New(Options{})
	k := s.internKey(event.Hash{Lo: 1}, []byte("k"))
	s.Expect(Expected{Txns: n, Versions: n})
	txns, versions, slots := cap(s.txns), cap(s.versions), len(s.byVersion.slots)
	for i := range n {
		s.newTxn()
		s.internVersion(k, event.Hash{Lo: uint64(i), Hi: 1})
	}
	if cap(s.txns) != txns || cap(s.versions) != versions || len(s.byVersion.slots) != slots {
		t.Errorf("%d, %d and %d have room, and %d, %d and %d had", cap(s.txns), cap(s.versions), len(s.byVersion.slots), txns, versions, slots)
	}
}
