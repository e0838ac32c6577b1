package nats

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/storetest"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

func TestConforms(t *testing.T) {
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	storetest.Conform(t, func(t *testing.T) store.Store {
		conn, err := nats.Connect(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), js, "GROUP", 1, conn.Close)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// TestLooksOnly: whoever only looks makes no bucket, and says which one is not there.
func TestLooksOnly(t *testing.T) {
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), js, "TYPO", 0, conn.Close); err == nil || !strings.Contains(err.Error(), "TYPO") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	for name := range js.StreamNames(t.Context()).Name() {
		if name != "S" {
			t.Errorf("the stream %s was made", name)
		}
	}
}

func TestBucket(t *testing.T) {
	for text, want := range map[string]string{"nats://h:4222/GROUP": "GROUP", "nats://h": "", "nats://h/a/b": "", "nats://h/a.b": "", "nats:///a": "", "nats://h/a?x=1": ""} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Bucket(u); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
