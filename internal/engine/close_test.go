package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// TestCloseOnSnapshot ends an engine whose snapshots stand behind its first step,
// its last step, or no step at all.
func TestCloseOnSnapshot(t *testing.T) {
	for _, c := range []struct {
		name          string
		snapshotBytes int64
		steps         int
	}{
		{"nothing read", 1, 0},
		{"a snapshot at the only step", 1, 1},
		{"a snapshot at most steps", 1, 20},
		{"no snapshot before the end", 1 << 40, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := store.Open(t.TempDir(), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			for life := range 3 {
				e, err := engine.Open(st, engine.Options{
					Configure:     func(string) window.Config { return window.Config{} },
					SnapshotBytes: c.snapshotBytes, StepBytes: 1, // a step a message
				})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := e.Cursors()["p"].Next, int64(life*c.steps); got != want {
					t.Fatalf("life %d goes on at %d, want %d", life, got, want)
				}
				if err := e.Run(context.Background(), messages(life*c.steps, c.steps), false); err != nil {
					t.Fatal(err)
				}
				if err := e.Close(); err != nil {
					t.Fatalf("life %d: %v", life, err)
				}
				if err := e.Close(); err != nil {
					t.Fatalf("life %d, closed again: %v", life, err)
				}
				if total := committed(e); total != int64((life+1)*c.steps) {
					t.Errorf("life %d: %d transactions, want %d", life, total, (life+1)*c.steps)
				}
			}
		})
	}
}

// messages are count transactions of partition p, the first at offset first.
func messages(first, count int) <-chan ingest.Chunk {
	in := make(chan ingest.Chunk, count)
	for i := first; i < first+count; i++ {
		in <- ingest.Chunk{
			Partition: "p", Cursor: ingest.Cursor{Next: int64(i + 1)}, CaughtUp: true,
			Messages: []ingest.Message{{Offset: int64(i), Value: fmt.Appendf(nil,
				`{"txn":"T%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"x","value":%d}]}`,
				i, 1000+i, 1001+i, i)}},
		}
	}
	close(in)
	return in
}

func committed(e *engine.Engine) int64 {
	var n int64
	for _, s := range e.Status().Sources {
		n += s.Counters.Committed
	}
	return n
}
