package nats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/nats"
)

const (
	testStream   = "EVENTS"
	testSubjects = "events.>"
	patience     = 60 * time.Second
)

// site is a server with its stream, and a client.
type site struct {
	t    testing.TB
	dir  string
	port int
	srv  *broker.Embedded
	nc   *nats.Conn
	js   jetstream.JetStream
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), port: -1}
	s.start()
	nc, err := broker.Connect(broker.Options{URLs: []string{s.srv.URL()}, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s.nc = nc
	t.Cleanup(func() { nc.Close(); s.srv.Close() })
	if s.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) start() {
	s.t.Helper()
	srv, err := broker.StartEmbedded(s.t.Context(), broker.EmbeddedOptions{
		Dir: s.dir, Port: s.port, Stream: testStream, Subjects: []string{testSubjects},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.srv = srv
	if s.port == -1 {
		var host string
		if _, err := fmt.Sscanf(srv.URL(), "nats://127.0.0.1:%d", &s.port); err != nil {
			s.t.Fatalf("port of %q: %v %s", srv.URL(), err, host)
		}
	}
}

func (s *site) publish(subject string, payloads ...string) {
	s.t.Helper()
	for _, p := range payloads {
		if _, err := s.js.Publish(s.t.Context(), subject, []byte(p)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) stream() jetstream.Stream {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), testStream)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// recreate deletes the stream and makes it again.
func (s *site) recreate() {
	s.t.Helper()
	if err := s.js.DeleteStream(s.t.Context(), testStream); err != nil {
		s.t.Fatal(err)
	}
	s.create()
}

func (s *site) create() {
	s.t.Helper()
	s.createAs(jetstream.LimitsPolicy)
}

// createAs makes the stream. The server removes the folder of a deleted stream after
// it has answered, and refuses a new one of that name for as long (error 10049,
// "error creating store for stream"; seen under -race on busy cores): asked again.
func (s *site) createAs(retention jetstream.RetentionPolicy) {
	s.t.Helper()
	config := jetstream.StreamConfig{Name: testStream, Subjects: []string{testSubjects}, Retention: retention}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		_, err := s.js.CreateStream(s.t.Context(), config)
		if err == nil {
			return
		}
		var refused *jetstream.APIError
		if !errors.As(err, &refused) || refused.ErrorCode != errCodeStreamCreate || time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

// errCodeStreamCreate is the server's JSStreamCreateErrF, which nats.go has no name for.
const errCodeStreamCreate jetstream.ErrorCode = 10049

// reading is a running source and what it has sent.
type reading struct {
	t      testing.TB
	out    chan ingest.Chunk
	cancel context.CancelFunc
	done   chan error

	cursor   ingest.Cursor
	offsets  []int64
	payloads []string
	times    []int64
	gaps     []ingest.Gap
	problems []string
	chunks   int
	caughtUp int
	waits    time.Duration // for what until waits for
}

func (s *site) read(o Options, from ingest.Cursor) *reading {
	s.t.Helper()
	o.Conn, o.Stream = s.nc, testStream
	src, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &reading{t: s.t, out: make(chan ingest.Chunk), cancel: cancel, done: make(chan error, 1), waits: patience}
	cursors := map[string]ingest.Cursor{}
	if from != (ingest.Cursor{}) {
		cursors["nats:"+testStream] = from
	}
	go func() { r.done <- src.Run(ctx, cursors, r.out) }()
	s.t.Cleanup(cancel)
	return r
}

// until takes chunks until ok.
func (r *reading) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.After(r.waits)
	for !ok() {
		select {
		case c := <-r.out:
			r.note(c)
		case err := <-r.done:
			r.t.Fatalf("waiting for %s: the source ended: %v", what, err)
		case <-deadline:
			r.t.Fatalf("waiting for %s: %d messages, gaps %v, problems %q, cursor %+v", what, len(r.offsets), r.gaps, r.problems, r.cursor)
		}
	}
}

func (r *reading) untilMessages(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d messages", n), func() bool { return len(r.offsets) >= n })
}

func (r *reading) note(c ingest.Chunk) {
	r.t.Helper()
	if c.Partition != "nats:"+testStream {
		r.t.Fatalf("partition %q", c.Partition)
	}
	for _, m := range c.Messages {
		r.offsets = append(r.offsets, m.Offset)
		r.payloads = append(r.payloads, string(m.Value))
		r.times = append(r.times, m.Time)
	}
	if n := len(c.Messages); n > 0 && c.Cursor.Next != c.Messages[n-1].Offset+1 {
		r.t.Fatalf("cursor %d behind a chunk that ends at %d", c.Cursor.Next, c.Messages[n-1].Offset)
	}
	if len(c.Messages) > 0 || len(c.Gaps) > 0 || c.CaughtUp || c.Problem == "" {
		r.cursor = c.Cursor
	}
	if c.CaughtUp {
		r.caughtUp++
	}
	if c.Problem != "" {
		r.problems = append(r.problems, c.Problem)
	}
	r.gaps = append(r.gaps, c.Gaps...)
	r.chunks++
}

// stop ends the source and takes nothing more from it.
func (r *reading) stop() ingest.Cursor {
	r.t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Fatalf("Run after cancel: %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("Run does not end")
	}
	return r.cursor
}

func (r *reading) wantOffsets(want ...int64) {
	r.t.Helper()
	if fmt.Sprint(r.offsets) != fmt.Sprint(want) {
		r.t.Fatalf("offsets %v, want %v", r.offsets, want)
	}
}

// wantGaps compares extents as FROM-TO.
func (r *reading) wantGaps(want ...string) {
	r.t.Helper()
	var got []string
	for _, g := range r.gaps {
		if g.Reason == "" {
			r.t.Errorf("gap %d-%d without reason", g.From, g.To)
		}
		got = append(got, fmt.Sprintf("%d-%d", g.From, g.To))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("gaps %v, want %v", r.gaps, want)
	}
}

func texts(prefix string, from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, from+i)
	}
	return out
}
