package engine_test

import (
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// TestFresh: a snapshot that was asked for comes with the next step, however few deltas there are. It is told once.
func TestFresh(t *testing.T) {
	s := newSettled(t, 1<<40)
	if err := s.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	step := func(want bool) {
		t.Helper()
		value := fmt.Appendf(nil, `{"txn":"%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"k","value":%d}]}`, n, s.now, s.now+1, n)
		n++
		s.read(ingest.Chunk{Partition: "p", Messages: []ingest.Message{{Offset: n, Value: value}}, Cursor: ingest.Cursor{Next: n + 1}})
		if got := s.engine.Fresh(); got != want {
			t.Errorf("after step %d: a fresh snapshot %v, want %v", n, got, want)
		}
	}
	step(false) // this asks
	step(true)
	step(false)
	step(true)
	if gen, _, _, err := s.store.LoadSnapshot(); err != nil || gen == 0 {
		t.Errorf("generation %d, %v", gen, err)
	}
}
