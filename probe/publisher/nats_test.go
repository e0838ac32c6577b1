package publisher

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// within bounds what must not hang.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// The stream holds each record once, in order, on a subject that it takes.
func TestNATS(t *testing.T) {
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "TXNS", Subjects: []string{"txns.*.>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	o := brokernats.Options{URLs: []string{server.URL()}}
	w, err := NATS(within(t, 30*time.Second), o, "TXNS")
	if err != nil {
		t.Fatal(err)
	}
	const records = 3000 // more than are let ahead
	for i := range records {
		for range 1 + i%2 { // every second one comes twice
			if err := w.Write(t.Context(), "s1", fmt.Sprint("e1/", i), fmt.Append(nil, "record ", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "TXNS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != records {
		t.Errorf("the stream holds %d messages, want %d", n, records)
	}
	for _, seq := range []uint64{1, 2, records} {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("record ", seq-1); string(m.Data) != want || m.Subject != "txns.probe.probe" {
			t.Errorf("message %d is %q on %s, want %q", seq, m.Data, m.Subject, want)
		}
	}
	if _, err := NATS(within(t, 30*time.Second), o, "OTHER"); err == nil || !strings.Contains(err.Error(), "nats: stream OTHER: ") {
		t.Errorf("a stream that is not there: %v", err)
	}
}

func TestNATSWithoutServer(t *testing.T) {
	_, err := NATS(within(t, time.Second), brokernats.Options{URLs: []string{"nats://127.0.0.1:1"}}, "TXNS")
	if err == nil || !strings.Contains(err.Error(), "nats: stream TXNS: no server answers at 127.0.0.1:1") {
		t.Errorf("no server: %v", err)
	}
}

func TestPlain(t *testing.T) {
	for pattern, want := range map[string]string{"a": "a", "a.*.c": "a.probe.c", "a.>": "a.probe", ">": "probe"} {
		if got := plain(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
