package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// newTight is a store whose transactions hold 1.2 MB, for steps of any size.
func newTight(t *testing.T) *settled {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{MemTable: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &settled{t: t, store: st, now: awayEpoch, options: engine.Options{SnapshotBytes: 1 << 40, StepBytes: 1 << 30}}
}

// TestCommitLimits takes steps in that do not fit one transaction, whichever part of
// them it is that is large.
func TestCommitLimits(t *testing.T) {
	t.Run("panes", func(t *testing.T) {
		x := newTight(t)
		const panes = 20_000
		if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0)}); err != nil {
			t.Fatal(err)
		}
		c := ingest.Chunk{Partition: "p"}
		for i := range panes {
			at := awayEpoch - int64(panes-i)*11*int64(time.Second)
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
				`{"txn":"%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"k%d","value":%d}]}`, i, at, at+1000, i, i)})
		}
		c.Cursor.Next = panes
		x.read(c)
		stored := 0
		if err := (engine.Reader{Store: x.store}).Panes(func(*window.Pane) error { stored++; return nil }); err != nil {
			t.Fatal(err)
		}
		if stored < panes-10 {
			t.Errorf("%d panes are stored, of %d", stored, panes)
		}
		x.again(panes)
	})
}

// again begins another life, which goes on at next.
func (s *settled) again(next int64) {
	s.t.Helper()
	if err := s.open(s.config); err != nil {
		s.t.Fatal(err)
	}
	if got := s.engine.Cursors()["p"].Next; got != next {
		s.t.Errorf("goes on at %d, want %d", got, next)
	}
}
