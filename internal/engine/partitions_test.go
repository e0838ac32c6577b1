package engine

import (
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// TestConfirmBehind: a partition stays at its end, and then has more records than the step takes. It is behind for
// that step, and holds the watermark back.
func TestConfirmBehind(t *testing.T) {
	const now = 1_750_000_000_000_000_000
	e := &Engine{opt: Options{StepBytes: 1, Now: func() int64 { return now }}.withDefaults(), partitions: map[string]*partition{}}
	e.decoder = e.newDecoder("")
	w := e.fresh(&work{})
	for range 2 {
		e.take(w, &ingest.Chunk{Partition: "p", CaughtUp: true})
	}
	w = e.fresh(w)
	e.take(w, &ingest.Chunk{Partition: "p", CaughtUp: true})
	c := ingest.Chunk{Partition: "p", CaughtUp: true}
	for i := range 2 {
		c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil, `{"txn":"%d","status":"committed","ops":[]}`, i)})
	}
	for i, want := range []window.Standing{window.Behind, window.AtEnd} {
		if more := e.take(w, &c); more != (i == 0) {
			t.Fatalf("step %d: more to take: %v", i, more)
		}
		w.step.tick = now
		e.confirm(w)
		if got := w.step.stands[w.partition("p")]; got != want {
			t.Errorf("step %d: standing %v, want %v", i, got, want)
		}
		w = e.fresh(w)
	}
}
