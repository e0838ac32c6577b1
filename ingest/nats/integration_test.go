//go:build integration

package nats

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/testnats"
)

// realSite is a site whose server is a process of its own.
func realSite(t *testing.T) (*site, *testnats.Server) {
	t.Helper()
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &testnats.Server{Program: program, Dir: t.TempDir()}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	s := &site{t: t}
	if s.nc, err = broker.Connect(broker.Options{URLs: []string{server.URL()}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.nc.Close)
	if s.js, err = jetstream.New(s.nc); err != nil {
		t.Fatal(err)
	}
	s.create()
	return s, server
}

// publisher publishes numbers until told to stop, each until it is acknowledged,
// with its number as message id, so that the stream holds each once. sent is how
// many were acknowledged.
func publisher(t *testing.T, s *site) (sent *atomic.Int64, stop func() int) {
	var ending atomic.Bool
	published := make(chan int)
	sent = new(atomic.Int64)
	go func() {
		n := 0
		for ; !ending.Load(); n++ {
			sent.Store(int64(n))
			for {
				// An acknowledgement that died with the server never comes.
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				_, err := s.js.Publish(ctx, "events.a", []byte(strconv.Itoa(n)), jetstream.WithMsgID(strconv.Itoa(n)))
				cancel()
				if err == nil || t.Context().Err() != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		published <- n
	}()
	return sent, func() int { ending.Store(true); return <-published }
}

func TestKilledServer(t *testing.T) {
	s, server := realSite(t)
	_, stop := publisher(t, s)
	r := s.read(Options{}, ingest.Cursor{})
	for kill := range 5 {
		r.untilMessages(len(r.offsets) + 500)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if kill%2 == 1 { // the reader goes away as well
			cursor := r.stop()
			got := r
			r = s.read(Options{}, cursor)
			r.offsets, r.payloads, r.gaps = got.offsets, got.payloads, got.gaps
		}
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.untilMessages(len(r.offsets) + 500)
	n := stop()
	r.untilMessages(n)
	for i, p := range r.payloads {
		if p != strconv.Itoa(i) || r.offsets[i] != int64(i+1) {
			t.Fatalf("message %d is %s with sequence %d", i, p, r.offsets[i])
		}
	}
	if len(r.payloads) != n {
		t.Errorf("%d messages of %d", len(r.payloads), n)
	}
	r.wantGaps()
	t.Logf("%d messages through 5 kills, problems %q", n, r.problems)
}

func TestStalledServer(t *testing.T) {
	s, server := realSite(t)
	s.publish("events.a", texts("m", 1, 10)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(10)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(silenceFirst + time.Second)
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	s.publish("events.a", texts("m", 11, 10)...)
	r.untilMessages(20)
	if fmt.Sprint(r.payloads) != fmt.Sprint(texts("m", 1, 20)) {
		t.Errorf("payloads %v", r.payloads)
	}
	r.wantGaps()
}

func TestRealServerPurgeAndRecreate(t *testing.T) {
	s, server := realSite(t)
	s.publish("events.a", texts("m", 1, 20)...)
	r := s.read(Options{}, ingest.Cursor{})
	r.untilMessages(20)
	cursor := r.stop()
	s.publish("events.a", texts("m", 21, 10)...)
	if err := s.stream().Purge(t.Context(), jetstream.WithPurgeSequence(26)); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = s.read(Options{}, cursor)
	r.untilMessages(5)
	r.wantOffsets(26, 27, 28, 29, 30)
	r.wantGaps("21-26")
	s.recreate()
	s.publish("events.a", texts("new", 1, 3)...)
	r.untilMessages(8)
	r.wantOffsets(26, 27, 28, 29, 30, 1, 2, 3)
	r.wantGaps("21-26", "31-31")
}
