//go:build integration

package nats

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/internal/testnats"
)

// TestServerAway kills a server while transactions are recorded. The service goes on,
// the queue fills and drops, and when the server is back the rest arrives, with what
// is missing told.
func TestServerAway(t *testing.T) {
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &testnats.Server{Program: program, Dir: t.TempDir()}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	conn, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TXNS", Subjects: []string{"txns"}}); err != nil {
		t.Fatal(err)
	}
	sink, err := New(conn, "txns")
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.New(sink, "bank", capture.WithPlainValues(), capture.WithQueue(64<<10), capture.WithMaxRecord(8<<10))
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func(capture.Stats) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(r.Stats()); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v, %v", what, r.Stats(), r.Err())
			}
		}
	}
	record(r, 100, "before")
	until("before", func(s capture.Stats) bool { return s.Delivered == 100 })
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	record(r, 2000, "meanwhile") // returns though nothing is delivered
	until("meanwhile", func(s capture.Stats) bool { return s.Failures > 0 })
	if s := r.Stats(); s.Full == 0 || s.Delivered != 100 {
		t.Errorf("meanwhile: %+v", s)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("after", func(s capture.Stats) bool { return s.QueuedBytes == 0 })
	record(r, 100, "after")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	seqs := map[string]int64{}
	records, _ := stored(t, js)
	for _, rec := range records {
		if rec.Name != "" {
			seqs[fmt.Sprint(rec.Name)] = rec.Seq // the last one's
			continue
		}
		count[rec.Ops[0].Value]++
	}
	s := r.Stats()
	if count[`"before"`] != 100 || count[`"after"`] != 100 || int64(count[`"meanwhile"`]) != 2000-s.Full {
		t.Errorf("stored: %v, %+v", count, s)
	}
	if got := seqs["capture.gap"]; got < s.Full {
		t.Errorf("the gaps leave room for %d transactions, %d were dropped", got, s.Full)
	}
}
