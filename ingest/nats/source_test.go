package nats

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
)

func TestReadsInOrderAndResumes(t *testing.T) {
	s := newSite(t)
	before := time.Now().UnixNano()
	s.publish("events.a", texts("m", 1, 300)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(300)
	if want := texts("m", 1, 300); !slices.Equal(r.payloads, want) {
		t.Fatalf("payloads %v", r.payloads)
	}
	if r.times[0] < before || r.times[299] > time.Now().UnixNano() || !slices.IsSorted(r.times) {
		t.Errorf("store times %d..%d", r.times[0], r.times[299])
	}
	cursor := r.stop()
	if cursor.Next != 301 || cursor.Identity == "" {
		t.Fatalf("cursor %+v", cursor)
	}
	s.publish("events.b", "m301", "m302")
	r = s.read(Options{}, cursor)
	r.untilMessages(2)
	r.wantOffsets(301, 302)
	r.wantGaps()
	r.stop()
}

func TestResumesInsideTheStream(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 50)...)
	r := s.read(Options{}, ingest.Cursor{Next: 41})
	r.untilMessages(10)
	if r.offsets[0] != 41 || len(r.gaps) != 0 {
		t.Fatalf("began at %d, gaps %v", r.offsets[0], r.gaps)
	}
}

func TestOneMessageComesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.read(Options{}, ingest.Cursor{})
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	var took []time.Duration
	for i := range 21 {
		began := time.Now()
		s.publish("events.a", "x")
		r.untilMessages(i + 1)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > heartbeat/2 { // 1 ms or so, unless it waits for a heartbeat
		t.Errorf("median %v from publishing to chunk, with a heartbeat every %v", median, heartbeat)
	}
}

// TestLowRateComesInChunks: messages that come one by one are asked for at a pace, not each for itself.
func TestLowRateComesInChunks(t *testing.T) {
	s := newSite(t)
	r := s.read(Options{}, ingest.Cursor{})
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	began, before, all := time.Now(), r.chunks, texts("m", 1, 300)
	published := make(chan struct{})
	go func() {
		defer close(published)
		for _, text := range all {
			s.publish("events.a", text)
		}
	}()
	r.untilMessages(len(all))
	<-published
	most := 5 + 2*int(time.Since(began)/paceMost)
	if got := r.chunks - before; got > min(most, len(all)-1) {
		t.Errorf("%d chunks of %d messages in %v, at most %d are asked for", got, len(all), time.Since(began), most)
	}
}

func TestCaughtUpIsSaidAtThePace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 10)...)
	r := s.read(Options{MaxMessages: 4}, ingest.Cursor{})
	r.untilMessages(10)
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	began, said := time.Now(), r.caughtUp
	r.until("three idle chunks", func() bool { return r.caughtUp >= said+3 })
	if took := time.Since(began); took < 2*heartbeat || took > 10*heartbeat {
		t.Errorf("three idle chunks in %v, paced at %v", took, heartbeat)
	}
	if r.cursor.Next != 11 {
		t.Errorf("idle cursor %+v", r.cursor)
	}
}

func TestBacklogIsNotCaughtUp(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 100)...)
	r := s.read(Options{MaxMessages: 10}, ingest.Cursor{})
	for len(r.offsets) < 100 {
		c := <-r.out
		r.note(c)
		if c.CaughtUp != (len(r.offsets) == 100) {
			t.Fatalf("CaughtUp %v after %d of 100 messages", c.CaughtUp, len(r.offsets))
		}
	}
}

func TestSubjectsSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		subjects []string
		want     []int64
	}{
		{"wildcard", []string{"events.a.*"}, []int64{1, 4}},
		{"two subjects", []string{"events.a.x", "events.b"}, []int64{1, 2, 5}},
		{"all by the stream's own subject", []string{testSubjects}, []int64{1, 2, 3, 4, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			for _, subject := range []string{"events.a.x", "events.b", "events.c", "events.a.y", "events.b"} {
				s.publish(subject, "m")
			}
			r := s.read(Options{Subjects: c.subjects}, ingest.Cursor{})
			r.untilMessages(len(c.want))
			r.wantOffsets(c.want...)
			r.until("a cursor behind the messages left out", func() bool { return r.cursor.Next == 6 })
			r.wantGaps()
		})
	}
}

func TestMessageLargerThanTheReadAhead(t *testing.T) {
	s := newSite(t)
	large := strings.Repeat("x", 300_000)
	s.publish("events.a", "small", large, "small")
	r := s.read(Options{MaxBytes: 10_000}, ingest.Cursor{})
	r.untilMessages(3)
	if r.payloads[1] != large {
		t.Errorf("large message came with %d bytes", len(r.payloads[1]))
	}
	r.wantOffsets(1, 2, 3)
}

func TestFullChannelHoldsTheServerBack(t *testing.T) {
	s := newSite(t)
	const n = 2000
	payload := strings.Repeat("x", 1000)
	for range n {
		if _, err := s.js.PublishAsync("events.a", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	<-s.js.PublishAsyncComplete()
	before := s.nc.Stats().InBytes
	r := s.read(Options{MaxMessages: 100, MaxBytes: 50_000}, ingest.Cursor{})
	// A chunk that nobody takes, and the read-ahead: each at most 50 kB and a message.
	for deadline := time.Now().Add(300 * time.Millisecond); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got := s.nc.Stats().InBytes - before; got > 3*51_000 {
			t.Fatalf("%d bytes received while nobody reads", got)
		}
	}
	r.untilMessages(n)
	for i, o := range r.offsets {
		if o != int64(i+1) {
			t.Fatalf("message %d has sequence %d", i+1, o)
		}
	}
}

func TestWaitsForTheStream(t *testing.T) {
	s := newSite(t)
	if err := s.js.DeleteStream(t.Context(), testStream); err != nil {
		t.Fatal(err)
	}
	r := s.read(Options{}, ingest.Cursor{})
	r.until("the problem", func() bool { return len(r.problems) > 0 })
	s.create()
	s.publish("events.a", "m1")
	r.untilMessages(1)
	if len(r.problems) != 1 || !strings.Contains(r.problems[0], "stream not found") {
		t.Errorf("problems %q", r.problems)
	}
}

func TestRefusesStreamsThatForgetWhatIsRead(t *testing.T) {
	for _, p := range []jetstream.RetentionPolicy{jetstream.WorkQueuePolicy, jetstream.InterestPolicy} {
		s := newSite(t)
		if err := s.js.DeleteStream(t.Context(), testStream); err != nil {
			t.Fatal(err)
		}
		s.createAs(p)
		r := s.read(Options{}, ingest.Cursor{})
		select {
		case err := <-r.done:
			if err == nil || !strings.Contains(err.Error(), p.String()) {
				t.Errorf("%v: error %v", p, err)
			}
		case <-time.After(patience):
			t.Errorf("%v: no error", p)
		}
	}
}

func TestServerRestart(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", texts("m", 1, 20)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(20)
	s.srv.Close()
	r.until("the problem", func() bool { return len(r.problems) > 0 })
	s.start()
	r.until("the recovery", func() bool { return r.caughtUp > 0 })
	s.publish("events.a", texts("m", 21, 20)...)
	r.untilMessages(40)
	if want := texts("m", 1, 40); !slices.Equal(r.payloads, want) {
		t.Fatalf("payloads %v", r.payloads)
	}
	r.wantGaps()
}

func TestConsumerDeletedByAnOperator(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", "m1")
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(1)
	names := s.stream().ConsumerNames(t.Context())
	for name := range names.Name() {
		if err := s.js.DeleteConsumer(t.Context(), testStream, name); err != nil {
			t.Fatal(err)
		}
	}
	s.publish("events.a", "m2")
	r.untilMessages(2)
	r.wantOffsets(1, 2)
	r.wantGaps()
	if len(r.problems) != 0 {
		t.Errorf("problems %q", r.problems)
	}
}

// One consumer that goes is replaced in silence; when that happens over and over, the
// server's reason is told.
func TestConsumerDeletedOverAndOver(t *testing.T) {
	s := newSite(t)
	s.publish("events.a", "m1")
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(1)
	r.until("the server's reason", func() bool {
		for name := range s.stream().ConsumerNames(t.Context()).Name() {
			_ = s.js.DeleteConsumer(t.Context(), testStream, name) // it may have gone meanwhile
		}
		return slices.ContainsFunc(r.problems, func(p string) bool { // the second where no request was open
			return strings.Contains(p, "Consumer Deleted") || strings.Contains(p, "the consumer was deleted")
		})
	})
	s.publish("events.a", "m2")
	r.untilMessages(2)
	r.wantOffsets(1, 2)
	r.wantGaps()
}

func TestLeavesNoConsumerBehind(t *testing.T) {
	s := newSite(t)
	r := s.read(Options{}, ingest.Cursor{})
	r.until("the stream's end", func() bool { return r.caughtUp > 0 })
	if n := consumers(t, s); n != 1 {
		t.Fatalf("%d consumers while reading", n)
	}
	r.stop()
	if n := consumers(t, s); n != 0 {
		t.Errorf("%d consumers after the end", n)
	}
}

func consumers(t *testing.T, s *site) int {
	t.Helper()
	info, err := s.stream().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Consumers
}

func TestOptionsNameTheirFaults(t *testing.T) {
	_, err := New(Options{Subjects: []string{""}, MaxBytes: -1})
	for _, want := range []string{"no connection", "no stream", "empty subject", "-1 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
