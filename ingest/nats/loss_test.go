package nats

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

func TestRemovedBeforeTheyWereRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		remove []uint64 // of ten messages
		purge  uint64   // keep from here on
		from   int64    // the cursor; 0: none
		want   []int64
		gaps   []string
	}{
		{"trim below the cursor", nil, 8, 4, []int64{8, 9, 10}, []string{"4-8"}},
		{"trim before any cursor", nil, 8, 0, []int64{8, 9, 10}, nil},
		{"trim of what was read", nil, 8, 9, []int64{9, 10}, nil},
		{"hole", []uint64{5, 6}, 0, 3, []int64{3, 4, 7, 8, 9, 10}, []string{"5-7"}},
		{"two holes", []uint64{4, 8, 9}, 0, 3, []int64{3, 5, 6, 7, 10}, []string{"4-5", "8-10"}},
		{"trim and hole", []uint64{9}, 6, 2, []int64{6, 7, 8, 10}, []string{"2-6", "9-10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.publish("events.a", texts("m", 1, 10)...)
			for _, seq := range c.remove {
				if err := s.stream().DeleteMsg(t.Context(), seq); err != nil {
					t.Fatal(err)
				}
			}
			if c.purge > 0 {
				if err := s.stream().Purge(t.Context(), jetstream.WithPurgeSequence(c.purge)); err != nil {
					t.Fatal(err)
				}
			}
			r := s.read(Options{}, ingest.Cursor{Next: c.from})
			r.untilMessages(len(c.want))
			r.wantOffsets(c.want...)
			r.wantGaps(c.gaps...)
		})
	}
}

func TestPurgeUnderTheReader(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 5)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(5)
	if err := s.stream().Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.publish("events.a", "m6")
	r.untilMessages(6)
	r.wantOffsets(1, 2, 3, 4, 5, 6)
	r.wantGaps()
}

func TestTrimUnderALaggingReader(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 200)...)
	r := s.read(Options{MaxMessages: 8}, ingest.Cursor{})
	r.note(<-r.out) // then the full channel holds it back
	if err := s.stream().Purge(t.Context(), jetstream.WithPurgeSequence(190)); err != nil {
		t.Fatal(err)
	}
	r.until("the last message", func() bool { return slices.Contains(r.offsets, 200) })
	if len(r.gaps) != 1 || r.gaps[0].To != 190 {
		t.Fatalf("gaps %v, want one up to 190", r.gaps)
	}
	if next := r.gaps[0].From; !slices.Contains(r.offsets, next-1) || slices.Contains(r.offsets, next) {
		t.Errorf("gap from %d, messages %v", next, r.offsets)
	}
}

func TestTrimWithAFilter(t *testing.T) {
	s := newSite(t)
	for range 10 {
		s.publish("events.a", "m")
		s.publish("events.b", "m")
	}
	if err := s.stream().Purge(t.Context(), jetstream.WithPurgeSequence(9)); err != nil {
		t.Fatal(err)
	}
	r := s.read(Options{Subjects: []string{"events.a"}}, ingest.Cursor{Next: 5})
	r.untilMessages(6)
	r.wantOffsets(9, 11, 13, 15, 17, 19)
	r.wantGaps("5-9")
}

func TestFloorCountsBehindWhatWasSentBefore(t *testing.T) {
	for _, c := range []struct {
		name    string
		floor   uint64
		floorIn int
		next    uint64
		seq     uint64
		gap     string
	}{
		{"no look yet", 0, 0, 10, 20, ""},
		{"trim behind the reader", 10, 0, 10, 20, ""},
		{"sent before the look", 15, 2, 10, 20, ""},
		{"trim passed the reader", 15, 0, 10, 20, "10-15"},
		{"trim far ahead", 50, 0, 10, 20, "10-20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &reader{run: &run{at: place{next: c.next}}, filtered: true, floor: c.floor, floorIn: c.floorIn}
			got := &reading{t: t, gaps: r.missing(c.seq)}
			if c.gap == "" {
				got.wantGaps()
			} else {
				got.wantGaps(c.gap)
			}
		})
	}
}

func TestRecreatedUnderTheReader(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("old", 1, 12)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(12)
	was := r.cursor.Identity
	s.recreate()
	// More than the old stream held: a reader that goes on at 13 misses twelve.
	s.publish("events.a", texts("new", 1, 30)...)
	r.untilMessages(42)
	if want := append(texts("old", 1, 12), texts("new", 1, 30)...); !slices.Equal(r.payloads, want) {
		t.Fatalf("payloads %v", r.payloads)
	}
	r.wantGaps("13-13")
	if r.cursor.Next != 31 || r.cursor.Identity == was {
		t.Errorf("cursor %+v, identity before %q", r.cursor, was)
	}
}

func TestRecreatedWhileAway(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("old", 1, 12)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(12)
	cursor := r.stop()
	s.recreate()
	s.publish("events.a", texts("new", 1, 3)...)
	r = s.read(Options{}, cursor)
	r.untilMessages(3)
	r.wantOffsets(1, 2, 3)
	r.wantGaps("13-13")
}

func TestStreamThatLostItsEnd(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 5)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(5)
	cursor := r.stop()
	cursor.Next = 9 // as if 6..8 had been read before the power cut
	r = s.read(Options{}, cursor)
	r.until("the gap", func() bool { return len(r.gaps) > 0 })
	s.publish("events.a", "m6")
	r.untilMessages(1)
	r.wantOffsets(6)
	r.wantGaps("6-6")
	if want := cursor.Identity + "+1"; r.cursor.Identity != want {
		t.Errorf("identity %q, want %q", r.cursor.Identity, want)
	}
	again := r.stop()
	r = s.read(Options{}, again)
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	r.wantGaps()
}

func TestSequenceOfAnotherMessage(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 5)...)
	info, err := s.stream().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src, err := New(Options{Conn: s.nc, Stream: testStream})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.stream().GetMsg(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	at := resume(ingest.Cursor{Next: 5}, incarnation{created: info.Created, first: 1, last: 5})
	for _, c := range []struct {
		name     string
		lastSeq  uint64
		lastTime int64
		gaps     int
	}{
		{"nothing read in this run", 0, 0, 0},
		{"same message", 4, stored.Time.UnixNano(), 0},
		{"another message", 4, stored.Time.UnixNano() - 1, 1},
		{"read last is not the one before", 3, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &run{Source: src, at: at, lastSeq: c.lastSeq, lastTime: c.lastTime}
			if _, err := r.locate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(r.at.gaps) != c.gaps || strings.HasSuffix(r.at.identity, "+1") != (c.gaps == 1) {
				t.Errorf("gaps %v, identity %q", r.at.gaps, r.at.identity)
			}
		})
	}
}
