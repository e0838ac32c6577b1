package infer

import (
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// TestExpect: where room was made, no array moves, and no table grows.
func TestExpect(t *testing.T) {
	const n = 1000
	s := New(ledger.Options{})
	k := s.InternKey(event.Hash{Lo: 1}, []byte("k"))
	s.Expect(ledger.Expected{Txns: n, Versions: n})
	txns, versions, slots := cap(s.Txns), cap(s.Versions), len(s.ByVersion.Slots)
	for i := range n {
		s.NewTxn()
		s.InternVersion(k, event.Hash{Lo: uint64(i), Hi: 1})
	}
	if cap(s.Txns) != txns || cap(s.Versions) != versions || len(s.ByVersion.Slots) != slots {
		t.Errorf("%d, %d and %d have room, and %d, %d and %d had", cap(s.Txns), cap(s.Versions), len(s.ByVersion.Slots), txns, versions, slots)
	}
}
