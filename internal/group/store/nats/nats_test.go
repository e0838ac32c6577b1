package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/internal/group"
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

// streams are those of a server of its own.
func streams(t *testing.T) jetstream.JetStream {
	t.Helper()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestLooksOnly: whoever only looks makes no bucket, and says which one is not there.
func TestLooksOnly(t *testing.T) {
	js := streams(t)
	if _, err := Open(t.Context(), js, "TYPO", 0, func() {}); err == nil || !strings.Contains(err.Error(), "TYPO") {
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

// objectsWithoutStream opens a store, and takes the stream of its objects away. What is asked about an object is answered: there
// is none. restore makes the stream again.
func objectsWithoutStream(t *testing.T) (s *Store, conn *nats.Conn, restore func()) {
	t.Helper()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	conn, err = nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), js, "GROUP", 1, func() {})
	if err != nil {
		t.Fatal(err)
	}
	const stream = "OBJ_GROUP" + objectsSuffix
	info, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	config := info.CachedInfo().Config
	if err := js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	none, err := conn.Subscribe("$JS.API.DIRECT.GET."+stream+".>", func(m *nats.Msg) {
		m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, conn, func() {
		none.Unsubscribe()
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Error(err)
		}
	}
}

// TestLostAnswer: the server that had a part of an object ended before it answered. The write ends with an error, long before
// whoever asked gives up.
func TestLostAnswer(t *testing.T) {
	s, conn, _ := objectsWithoutStream(t)
	s.wait = 100 * time.Millisecond
	if _, err := conn.SubscribeSync("$O.GROUP" + objectsSuffix + ".>"); err != nil { // takes, and does not answer
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for what, err := range map[string]error{"put": s.PutObject(ctx, "a", []byte("b")), "large put": s.PutObject(ctx, "a", make([]byte, 2<<20))} {
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRefusedPart: a stream without a leader refuses the parts of an object, and takes them when it has one. What is written then
// is what was given, or it is an error.
func TestRefusedPart(t *testing.T) {
	s, _, restore := objectsWithoutStream(t)
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(i >> 16)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- s.PutObject(t.Context(), "a", data) }()
	time.Sleep(50 * time.Millisecond) // the library tries again 250 ms after the refusal
	restore()
	if err := <-wrote; err != nil {
		t.Log("refused: ", err)
		return
	}
	got, err := s.GetObject(t.Context(), "a")
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes are written, %d read: %v", len(data), len(got), err)
	}
}

// TestBucketIsDeleted: a store that is used makes deleted buckets again, and goes on. One that only looks makes none.
func TestBucketIsDeleted(t *testing.T) {
	js := streams(t)
	s, err := Open(t.Context(), js, "GROUP", 1, func() {})
	if err != nil {
		t.Fatal(err)
	}
	looks, err := Open(t.Context(), js, "GROUP", 0, func() {})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Create(t.Context(), "a/x", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	remove := func(streams ...string) {
		t.Helper()
		s.mended = time.Time{}
		for _, name := range streams {
			if err := js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually := func(what string, try func() error) {
		t.Helper()
		err := try()
		for deadline := time.Now().Add(20 * time.Second); err != nil; err = try() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	remove("KV_GROUP", "OBJ_GROUP_objects")
	if _, err := looks.List(t.Context(), "a/"); err == nil {
		t.Error("a bucket that is gone is listed")
	}
	if _, err := js.Stream(t.Context(), "KV_GROUP"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("whoever looks makes the bucket: %v", err)
	}
	eventually("a list", func() error { _, err := s.List(t.Context(), "a/"); return err })
	if _, err := s.Update(t.Context(), "a/x", []byte("2"), before+"0"); !errors.Is(err, group.ErrConflict) {
		t.Errorf("a write to a version of before: %v", err)
	}
	if _, err := s.Create(t.Context(), "a/x", []byte("1")); err != nil {
		t.Error(err)
	}
	if err := s.PutObject(t.Context(), "o", []byte("x")); err != nil {
		t.Error(err)
	}
	remove("OBJ_GROUP_objects")
	eventually("an object", func() error { return s.PutObject(t.Context(), "p", []byte("x")) })
	if got, err := s.GetObject(t.Context(), "p"); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}
