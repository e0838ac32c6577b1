package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// TestRecoveryEnds: a recovery whose context ends stops after the step that it is in. The next one
// gets to the end.
func TestRecoveryEnds(t *testing.T) {
	x := newSettled(t, 1<<40)
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	const steps = 20
	for i := range int64(steps) {
		x.read(chunkOf(i, "a:t"+string(rune('a'+i))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	replayed := 0
	o := engine.Options{Configure: func(string) window.Config { return x.config }, Hook: func(string, *event.Batch, []int32) {
		if replayed++; replayed == 3 {
			cancel()
		}
	}}
	if _, err := engine.OpenContext(ctx, x.store, o); !errors.Is(err, context.Canceled) || replayed != 3 {
		t.Errorf("%d steps are replayed: %v", replayed, err)
	}
	if err := x.open(x.config); err != nil || x.statusOf("a").Counters.Committed != steps {
		t.Error(err, x.statusOf("a").Counters.Committed)
	}
}
