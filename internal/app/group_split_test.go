package app

import (
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/window"
)

// TestSplitAfterAGap: a source that has lost input already is told of the other unit too, once: the next owner finds that it was told.
func TestSplitAfterAGap(t *testing.T) {
	t.Parallel()
	a := start(t, liveService(t))
	send(t, a, skewOne)
	eventually(t, "a source", func() bool { return len(a.Status().Sources) == 1 })
	source := a.Status().Sources[0].Source
	gaps := func() int64 { return int64(a.Status().Sources[0].Counters.Gaps) }
	if err := a.engine.Lose(t.Context(), source, window.Gap{Partition: "nats:S", From: 3, To: 5, Reason: "they were purged"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a gap", func() bool { return gaps() > 0 })
	before := gaps()
	g := lonelyGroup(t, "a", t.TempDir())
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: func(group.Event) {}})
	t.Cleanup(func() { g.member.Stop() })
	for owner := range uint64(3) {
		u := g.newUnit(group.Event{Unit: "nats:S", Term: owner + 1})
		for range 3 { // looks
			if err := g.tellSplit(t.Context(), u, a, metSource{source, []string{"nats:S", "nats:T"}}, false); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the split", func() bool { return gaps() > before })
	}
	time.Sleep(50 * time.Millisecond) // a second one would come with the next step
	told := 0
	if err := (engine.Reader{Store: a.store}).Each(func(f *finding.Finding) error {
		if f.Kind == finding.KindGap && strings.Contains(f.Explanation, splitReason) && strings.Contains(f.Explanation, "nats:T") {
			told++
		}
		return nil
	}); err != nil || told != 1 {
		t.Errorf("it is told %d times (%v), want once", told, err)
	}
}
