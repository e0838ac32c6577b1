package nats

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

// settings changes the stream's settings.
func (s *site) settings(change func(*jetstream.StreamConfig)) {
	s.t.Helper()
	info, err := s.stream().Info(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	change(&info.Config)
	if _, err := s.js.UpdateStream(s.t.Context(), info.Config); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) purge(o ...jetstream.StreamPurgeOpt) {
	s.t.Helper()
	if err := s.stream().Purge(s.t.Context(), o...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) remove(seqs ...uint64) {
	s.t.Helper()
	for _, seq := range seqs {
		if err := s.stream().DeleteMsg(s.t.Context(), seq); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) limit(n int64) {
	s.t.Helper()
	s.settings(func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = n })
}

const may, certain = "may have been of these subjects", "of these subjects"

// Messages that went while the monitor was away leave holes in the stream. They are told though
// a filter leaves holes too.
func TestRemovedWhileAwayWithAFilter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		away func(s *site) // behind 10 messages of events.a, and 20 of events.b up to 30
		read int           // messages of events.b that are left
		gaps []string
	}{
		{"the limit of our subject", func(s *site) {
			s.limit(60)
			s.publish("events.b", texts("m", 1, 138)...)
		}, 60, []string{"31-109"}},
		{"the limit of one of two subjects", func(s *site) {
			s.limit(10)
			for range 20 {
				s.publish("events.c", "m")
				s.publish("events.b", "m")
			}
		}, 10, []string{"31-51"}},
		{"a purge of our subject", func(s *site) {
			s.publish("events.b", texts("m", 1, 50)...)
			s.purge(jetstream.WithPurgeSubject("events.b"), jetstream.WithPurgeKeep(4))
		}, 4, []string{"31-77"}},
		{"a purge of all of our subject", func(s *site) {
			s.publish("events.b", texts("m", 1, 50)...)
			s.purge(jetstream.WithPurgeSubject("events.b"))
		}, 0, []string{"31-81"}},
		{"one message deleted", func(s *site) {
			s.publish("events.b", texts("m", 1, 9)...)
			s.remove(35)
		}, 8, []string{"35-36"}},
		{"several deleted are one gap", func(s *site) {
			s.publish("events.b", texts("m", 1, 9)...)
			s.remove(33, 35, 38)
		}, 6, []string{"33-39"}},
		{"nothing", func(s *site) { s.publish("events.b", texts("m", 1, 9)...) }, 9, nil},
		{"messages of other subjects come", func(s *site) {
			s.publish("events.a", texts("m", 1, 9)...)
			s.publish("events.b", "m")
		}, 1, nil},
		{"what was read is removed", func(s *site) {
			s.publish("events.b", texts("m", 1, 9)...)
			s.purge(jetstream.WithPurgeSubject("events.b"), jetstream.WithPurgeKeep(9))
			s.remove(5)
		}, 9, nil},
		{"another subject, as only a limit removes", func(s *site) {
			s.settings(func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DenyDelete, c.DenyPurge = 30, true, true })
			s.publish("events.c", texts("m", 1, 90)...)
			s.publish("events.b", texts("m", 1, 9)...)
		}, 9, nil},
		{"our subject, as only a limit removes", func(s *site) {
			s.settings(func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DenyDelete, c.DenyPurge = 30, true, true })
			s.publish("events.b", texts("m", 1, 40)...)
		}, 30, []string{"31-41"}},
		{"another subject, which cannot be known", func(s *site) {
			s.publish("events.c", texts("m", 1, 9)...)
			s.publish("events.b", "m")
			s.purge(jetstream.WithPurgeSubject("events.c"))
		}, 1, []string{"31-40"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.publish("events.a", texts("m", 1, 10)...)
			s.publish("events.b", texts("m", 1, 20)...)
			o := Options{Subjects: []string{"events.b"}}
			r := s.read(o, ingest.Cursor{})
			r.untilMessages(20)
			cursor := r.stop()
			c.away(s)
			r = s.read(o, cursor)
			r.untilMessages(c.read)
			info, err := s.stream().Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.until("the stream's end", func() bool { return r.cursor.Next == int64(info.State.LastSeq)+1 })
			if len(r.offsets) != c.read {
				t.Errorf("%d messages, want %d", len(r.offsets), c.read)
			}
			r.wantGaps(c.gaps...)
			if len(r.gaps) > 0 && !strings.Contains(r.gaps[0].Reason, may) {
				t.Errorf("reason %q", r.gaps[0].Reason)
			}
			// A second start behind the gap tells nothing again.
			r = s.read(o, r.stop())
			r.until("the stream's end", func() bool { return r.caughtUp > 1 })
			r.wantGaps()
		})
	}
}

// A first start has lost nothing, whatever the stream has lost before it.
func TestRemovedBeforeAFirstStartWithAFilter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.limit(5)
	for range 20 {
		s.publish("events.b", "m")
		s.publish("events.a", "m")
	}
	s.publish("events.c", "m")
	s.remove(37)
	r := s.read(Options{Subjects: []string{"events.b", "events.c"}}, ingest.Cursor{})
	r.untilMessages(5)
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	r.wantGaps()
}

// A reader that lags behind is told what goes before it comes there.
func TestRemovedUnderALaggingReaderWithAFilter(t *testing.T) {
	t.Parallel()
	const n = 200
	for _, c := range []struct {
		name   string
		limit  int64
		lag    func(s *site) // behind n messages of events.b and of events.c, in turn
		lost   []int         // which of ours were lost, as FROM and TO; none: nothing
		reason string
	}{
		{"nothing", 0, func(*site) {}, nil, ""},
		{"more of ours", 0, func(s *site) { s.publish("events.b", "m") }, nil, ""},
		{"one of ours deleted", 0, func(s *site) { s.remove(301) }, []int{301, 302}, "at least 1 " + certain},
		{"ours purged", 0, func(s *site) {
			s.purge(jetstream.WithPurgeSubject("events.b"), jetstream.WithPurgeKeep(10))
		}, []int{0, 380}, certain},
		{"all of ours purged", 0, func(s *site) { s.purge(jetstream.WithPurgeSubject("events.b")) }, []int{0, 400}, certain},
		{"another subject purged", 0, func(s *site) { s.purge(jetstream.WithPurgeSubject("events.c")) }, nil, ""},
		{"as many come as go", 0, func(s *site) {
			s.remove(301)
			s.publish("events.b", "m", "m")
		}, []int{301, 302}, ""}, // certain only if a message was sent in between
		{"the limit of ours", n, func(s *site) { s.publish("events.b", texts("m", 1, n-20)...) }, []int{0, 360}, may},
		{"the limit of another", n, func(s *site) { s.publish("events.c", texts("m", 1, n-20)...) }, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if c.limit > 0 {
				s.limit(c.limit)
			}
			for range n {
				s.publish("events.b", "m")
				s.publish("events.c", "m")
			}
			r := s.read(Options{Subjects: []string{"events.b"}, MaxMessages: 8}, ingest.Cursor{Next: 1})
			r.note(<-r.out) // then the full channel holds it back
			time.Sleep(2 * blocked)
			c.lag(s)
			info, err := s.stream().Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.until("the stream's end", func() bool { return r.cursor.Next > int64(info.State.LastSeq) })
			if c.lost == nil {
				r.wantGaps()
				return
			}
			if len(r.gaps) != 1 {
				t.Fatalf("gaps %v, want one with %q", r.gaps, c.reason)
			}
			told, counted := r.gaps[0].Reason, 0
			if _, after, ok := strings.Cut(told, "at least "); ok {
				if _, err := fmt.Sscanf(after, "%d", &counted); err != nil || int64(counted) > (r.gaps[0].To-r.gaps[0].From+1)/2 { // each second one is ours
					t.Errorf("gap %v: it counts more than there were: %v", r.gaps[0], err)
				}
			}
			// Where as many come as go, a reader that looked in between knows of some for certain.
			if byLimit := c.reason == may && counted > 0; !byLimit && (!strings.Contains(told, c.reason) || c.reason != "" && strings.Contains(told, may) != (c.reason == may)) {
				t.Fatalf("gap %v, want one with %q", r.gaps[0], c.reason)
			}
			from, to := r.gaps[0].From, r.gaps[0].To
			if c.lost[0] > 0 && from != int64(c.lost[0]) || to != int64(c.lost[1]) {
				t.Errorf("gap %d-%d, want %v", from, to, c.lost)
			}
			if slices.ContainsFunc(r.offsets, func(o int64) bool { return o >= from && o < to }) {
				t.Errorf("gap %d-%d, and messages %v", from, to, r.offsets)
			}
		})
	}
}

// A reader that lags for long without a pause is told also where as many messages come as go.
func TestRemovedUnderASlowReaderWithAFilter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 200 {
		s.publish("events.b", "m")
		s.publish("events.c", "m")
	}
	r := s.read(Options{Subjects: []string{"events.b"}, MaxMessages: 8}, ingest.Cursor{Next: 1})
	r.note(<-r.out)
	time.Sleep(blocked / 4) // what was asked for is here
	s.remove(381)
	s.publish("events.b", "m", "m")
	for !slices.Contains(r.offsets, 402) {
		r.note(<-r.out)
		time.Sleep(blocked / 2)
	}
	r.wantGaps("381-382")
}

// A reader whose chunk was not taken for long had read all before. What the stream's beginning
// lost meanwhile is told.
func TestTrimUnderAPausedReaderWithAFilter(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{0, 1000} {
		s := newSite(t)
		if limit > 0 {
			s.limit(limit)
		}
		s.publish("events.a", "m")
		s.publish("events.b", "m")
		r := s.read(Options{Subjects: []string{"events.b"}}, ingest.Cursor{})
		r.until("the stream's end", func() bool { return r.caughtUp > 1 })
		time.Sleep(2*heartbeat + 2*blocked) // a chunk waits
		s.publish("events.b", texts("m", 3, 2)...)
		time.Sleep(2 * blocked) // the open request ends with these
		s.publish("events.b", texts("m", 5, 40)...)
		s.purge(jetstream.WithPurgeSequence(30))
		r.until("the last message", func() bool { return slices.Contains(r.offsets, 44) })
		if len(r.gaps) != 1 || r.gaps[0].To != 30 || r.gaps[0].From < 3 {
			t.Errorf("limit %d: gaps %v, messages %v, want a gap up to 30", limit, r.gaps, r.offsets)
		}
	}
}

// A list that is too long is not asked for. One gap says that much may be lost.
func TestTooManyRemovedToList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.publish("events.a", "m")
	s.publish("events.b", "m")
	for i := range mostRemoved + 1 {
		if _, err := s.js.PublishAsync("events.c", nil); err != nil {
			t.Fatal(err)
		}
		if i%2000 == 0 {
			<-s.js.PublishAsyncComplete()
		}
	}
	<-s.js.PublishAsyncComplete()
	s.publish("events.b", "m", "m")
	s.purge(jetstream.WithPurgeSubject("events.c"))
	var log bytes.Buffer
	r := s.read(Options{Subjects: []string{"events.b"}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, ingest.Cursor{Next: 3})
	r.untilMessages(2)
	r.until("the stream's end", func() bool { return r.caughtUp > 1 })
	r.wantGaps(fmt.Sprintf("3-%d", mostRemoved+6))
	if want := "too many to list"; !strings.Contains(r.gaps[0].Reason, want) || !strings.Contains(r.gaps[0].Reason, may) {
		t.Errorf("reason %q", r.gaps[0].Reason)
	}
	r.stop()
	if n := strings.Count(log.String(), "cannot tell which messages the stream has removed"); n != 1 {
		t.Errorf("%d warnings: %s", n, &log)
	}
}

func TestRemovedIsToldOnce(t *testing.T) {
	var g removed
	told := func(next, seq uint64) string {
		gap, lost := g.passed(next, seq)
		if !lost {
			return ""
		}
		return fmt.Sprintf("%d-%d", gap.From, gap.To)
	}
	g.add([]uint64{5, 9, 12})
	for _, c := range []struct {
		next, seq uint64
		want      string
	}{{1, 5, ""}, {6, 7, ""}, {8, 11, "9-13"}, {11, 20, ""}} {
		if got := told(c.next, c.seq); got != c.want {
			t.Errorf("from %d to %d: %q, want %q", c.next, c.seq, got, c.want)
		}
	}
	if g.add([]uint64{12}) || !g.add([]uint64{12, 30}) || g.add([]uint64{12, 30}) {
		t.Error("what was judged is new, or what is new was judged")
	}
	if got := told(20, 40); got != "30-31" {
		t.Errorf("the new one is %q", got)
	}
}
