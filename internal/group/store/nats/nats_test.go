package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

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

// TestUntilAnswered: a bucket without a leader gives no answer. It is asked again, and an answer that is an error counts.
func TestUntilAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*answerWait+answerWait/2)
		defer cancel()
		asked := 0
		ask := func(ctx context.Context) error {
			if asked++; asked == 3 {
				return jetstream.ErrBucketNotFound
			}
			<-ctx.Done()
			return ctx.Err()
		}
		if err := untilAnswered(ctx, ask); !errors.Is(err, jetstream.ErrBucketNotFound) || asked != 3 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		if err := untilAnswered(ctx, ask); !errors.Is(err, context.DeadlineExceeded) || asked != 5 {
			t.Errorf("asked %d times: %v", asked, err)
		}
	})
}

func TestPlaceOf(t *testing.T) {
	for text, want := range map[string]string{
		"nats://h:4222/GROUP": "GROUP [nats://h:4222] 1", "nats://u@h:1,i:2/G?replicas=3": "G [nats://u@h:1 nats://u@i:2] 3",
		"nats://h": "", "nats://h/a/b": "", "nats://h/a.b": "", "nats:///a": "", "nats://h/a?x=1": "", "nats://h,/a": "",
		"nats://h/a?replicas=0": "", "nats://h/a?replicas=6": "", "nats://h/a?replicas=": "",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := PlaceOf(u)
		got := ""
		if err == nil {
			got = fmt.Sprint(p.Bucket, " ", p.Servers, " ", p.Replicas)
		}
		if got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
