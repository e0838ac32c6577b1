package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/isolation"
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
	t.Run("a finding on long texts", func(t *testing.T) {
		x := newTight(t)
		long := strings.Repeat("v", 2<<20)
		txn := func(id, session, op string) string {
			at := awayEpoch + int64(len(session))
			return fmt.Sprintf(`{"txn":%q,"session":%q,"seq":1,"status":"committed","start":%d,"end":%d,"ops":[%s]}`, id, session, at, at+1, op)
		}
		rmw := func(value string) string {
			return fmt.Sprintf(`{"op":"r","key":"x","value":%q},{"op":"w","key":"x","value":%q}`, long, value)
		}
		chunk := ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: 5}}
		for i, text := range []string{
			txn("W", "a", fmt.Sprintf(`{"op":"w","key":"x","value":%q}`, long)),
			txn("R", "b", rmw("1"+long)), txn("S", "c", rmw("2"+long)), // a lost update
			txn("I", "d", fmt.Sprintf(`{"op":"w","key":%q,"value":1},{"op":"r","key":%q,"value":2}`, long, long)),
			txn(long, long, `{"op":"w","key":"y","value":1},{"op":"r","key":"y","value":2}`),
		} {
			chunk.Messages = append(chunk.Messages, ingest.Message{Offset: int64(i), Value: []byte(text)})
		}
		cfg := window.Config{Contract: window.Contract{Complete: true}}
		if err := x.open(cfg); err != nil {
			t.Fatal(err)
		}
		x.read(chunk)
		found := map[string]int{}
		err := engine.Reader{Store: x.store}.Each(func(f *isolation.Finding) error {
			found[f.Anomaly]++
			for _, text := range append([]string{f.Explanation}, f.Txns...) {
				if len(text) > 64<<10 {
					t.Errorf("%s holds a text of %d bytes", f.Anomaly, len(text))
				}
			}
			if !strings.Contains(f.Explanation, "Then:") || strings.Contains(f.Explanation, long[:70<<10]) {
				t.Errorf("explanation %.2000s", f.Explanation)
			}
			return nil
		})
		if err != nil || found["lost-update"] != 1 || found["internal"] != 2 {
			t.Errorf("found %v, %v", found, err)
		}
		stored := x.findings()
		x.again(5)
		x.read(chunk) // the same again
		if again := x.findings(); again != stored {
			t.Errorf("after a new start\n%.3000s\nwant\n%.3000s", again, stored)
		}
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
