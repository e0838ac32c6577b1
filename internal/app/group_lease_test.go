package app

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/group"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
)

// The log says what the store answers: a bucket that is gone is no silence.
func TestStoreFault(t *testing.T) {
	t.Parallel()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	logged := &strings.Builder{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	for _, state := range []string{"/G", "/G?replicas=3"} { // a bucket with one copy stays so
		s, err := openGroupStore(t.Context(), server.URL()+state, nil, true, log)
		if state == "/G" && err == nil {
			s.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if text := logged.String(); strings.Count(text, "another number of copies") != 1 || !strings.Contains(text, "copies=1 asked=3") {
			t.Errorf("%s", text)
		}
		conn, err := nats.Connect(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err == nil {
			err = js.DeleteKeyValue(t.Context(), "G")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []group.Request{{Op: group.Get, Key: "a/b"}, {Op: group.List, Key: "a/"}, {Op: group.Create, Key: "a/b"}, {Op: group.Update, Key: "a/b", Version: "1"}} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			reply := groupstore.Do(ctx, s, r)
			cancel()
			if text := storeFault(reply.Err); !strings.Contains(text, "its bucket is gone") || !strings.Contains(text, reply.Err.Error()) {
				t.Errorf("operation %d: %s", r.Op, text)
			}
		}
	}
	if text := storeFault(context.DeadlineExceeded); !strings.Contains(text, "does not answer") {
		t.Error(text)
	}
	if text := storeFault(errors.New("no right")); !strings.Contains(text, `"no right"`) || strings.Contains(text, "does not answer") {
		t.Error(text)
	}
}

// A member says that it was paused only if it was.
func TestWhyLeaseEnded(t *testing.T) {
	at, w := time.Unix(1000, 0), unwatched{}
	for range 20 {
		w.note(at, 6*time.Second)
		at = at.Add(1500 * time.Millisecond)
	}
	if text := w.whyEnded(at, 6*time.Second, errors.New("no right")); !strings.Contains(text, "no right") || strings.Contains(text, "stood still") {
		t.Error(text)
	}
	at = at.Add(13 * time.Second)
	if text := w.whyEnded(at, 6*time.Second, nil); !strings.Contains(text, "stood still for 13s") {
		t.Error(text)
	}
	for range 20 {
		at = at.Add(1500 * time.Millisecond)
		w.note(at, 6*time.Second)
	}
	if text := w.whyEnded(at, 6*time.Second, nil); strings.Contains(text, "stood still") {
		t.Error(text)
	}
}

// A bucket whose servers are away is told with their address, and soon.
func TestStoreThatIsAway(t *testing.T) {
	t.Parallel()
	began := time.Now()
	u := url.URL{Scheme: "nats", Host: "127.0.0.1:1", Path: "/G"}
	_, err := OpenGroup(t.Context(), u.String(), "")
	if err == nil || !strings.Contains(err.Error(), "at 127.0.0.1:1: ") || !strings.Contains(err.Error(), "connection refused") || time.Since(began) > 3*readerWait {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
