package nats

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

func server(t *testing.T) *brokernats.Embedded {
	t.Helper()
	s, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "FINDINGS", Subjects: []string{"findings"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func sink(t *testing.T, o Options) *Sink {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for deadline := time.Now().Add(15 * time.Second); !s.conn.IsConnected(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not connected")
		}
	}
	return s
}

func delivery(id string, revision int) alert.Delivery {
	return alert.Delivery{Finding: finding.Finding{ID: id, Revision: revision}, JSON: []byte(`{"id":"` + id + `"}`)}
}

// A stream has each revision once, however often it is delivered.
func TestJetStream(t *testing.T) {
	embedded := server(t)
	s := sink(t, Options{Name: "s", Broker: brokernats.Options{URLs: []string{embedded.URL()}}, Subject: "findings", JetStream: true})
	for range 2 {
		if err := s.Deliver(t.Context(), []alert.Delivery{delivery("a", 0), delivery("a", 1), delivery("b", 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Digest(t.Context(), []alert.Held{{Findings: 7}}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(s.conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "FINDINGS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != 4 {
		t.Fatalf("%d messages, %v", info.State.Msgs, err)
	}
	last, err := stream.GetMsg(t.Context(), 4)
	if err != nil || last.Header.Get("Isowatch-Kind") != "digest" || last.Header.Get("Isowatch-Member") != "" || !strings.Contains(string(last.Data), `"findings":7`) {
		t.Errorf("%s, %v", last.Data, err)
	}
	// No stream takes this subject: it is not delivered.
	lost := sink(t, Options{Name: "s", Broker: brokernats.Options{URLs: []string{embedded.URL()}}, Subject: "elsewhere", JetStream: true})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := lost.Deliver(ctx, []alert.Delivery{delivery("a", 0)}); err == nil {
		t.Error("delivered to no stream")
	}
}

func TestSubject(t *testing.T) {
	embedded := server(t)
	s := sink(t, Options{Name: "s", Broker: brokernats.Options{URLs: []string{embedded.URL()}}, Subject: "plain"})
	conn, err := nats.Connect(embedded.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := conn.SubscribeSync("plain")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := s.Deliver(alert.WithOwner(ctx, alert.Owner{Member: "m", Term: 7}), []alert.Delivery{delivery("a", 2)}); err != nil {
		t.Fatal(err)
	}
	m, err := got.NextMsg(15 * time.Second)
	if err != nil || string(m.Data) != `{"id":"a"}` || m.Header.Get("Nats-Msg-Id") != "a/2/" || m.Header.Get("Isowatch-Member") != "m" || m.Header.Get("Isowatch-Term") != "7" {
		t.Errorf("%+v, %v", m, err)
	}
	large := delivery("a", 0)
	large.JSON = make([]byte, conn.MaxPayload())
	if err := s.Deliver(t.Context(), []alert.Delivery{large}); !errors.Is(err, alert.ErrRejected) {
		t.Errorf("too large: %v", err)
	}
	embedded.Close()
	for deadline := time.Now().Add(15 * time.Second); s.conn.IsConnected() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
	}
	if err := s.Deliver(t.Context(), []alert.Delivery{delivery("a", 0)}); !errors.Is(err, errAway) {
		t.Errorf("without a server: %v", err)
	}
}
