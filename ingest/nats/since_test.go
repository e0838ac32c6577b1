package nats

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

// Without a cursor, reading begins with the first message that is not older, also
// among removed ones; with one, it goes on there.
func TestSince(t *testing.T) {
	s := newSite(t)
	s.create()
	s.publish("events.a", "1", "2", "3", "4", "5", "6", "7", "8")
	var times []time.Time
	for seq := uint64(1); seq <= 8; seq++ {
		m, err := s.stream().GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, m.Time)
	}
	for _, seq := range []uint64{4, 5, 8} {
		if err := s.stream().DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	left := []int64{1, 2, 3, 6, 7}
	from := func(seq int64) (want []int64) {
		for _, l := range left {
			if l >= seq {
				want = append(want, l)
			}
		}
		return want
	}
	for seq := int64(1); seq <= 8; seq++ {
		r := s.read(Options{Since: times[seq-1]}, ingest.Cursor{})
		r.until("the end", func() bool { return r.caughtUp > 0 })
		r.stop()
		r.wantOffsets(from(seq)...)
	}
	r := s.read(Options{Since: times[7]}, ingest.Cursor{Next: 3})
	r.until("the end", func() bool { return r.caughtUp > 0 })
	r.stop()
	r.wantOffsets(3, 6, 7)

	if err := s.stream().Purge(t.Context(), jetstream.WithPurgeSequence(3)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		since time.Time
		gaps  int
	}{{times[0], 1}, {times[2], 1}, {times[2].Add(1), 0}} {
		r := s.read(Options{Since: c.since}, ingest.Cursor{})
		r.until("the end", func() bool { return r.caughtUp > 0 })
		r.stop()
		n := 0
		for _, g := range r.gaps {
			if g.From == 1 && g.To == 3 {
				n++
			}
		}
		if n != c.gaps {
			t.Errorf("since %v: gaps %+v, want %d at the beginning", c.since, r.gaps, c.gaps)
		}
	}
}
