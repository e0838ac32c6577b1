package nats

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func start(t *testing.T, o EmbeddedOptions) (*Embedded, jetstream.JetStream) {
	t.Helper()
	e, err := StartEmbedded(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	nc, err := nats.Connect(e.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return e, js
}

func TestStreamOutlivesTheServer(t *testing.T) {
	o := EmbeddedOptions{Dir: filepath.Join(t.TempDir(), "new", "nats"), Port: -1, Stream: "S", Subjects: []string{"s.>"}}
	e, js := start(t, o)
	large := bytes.Repeat([]byte("x"), 16<<20)
	if _, err := js.Publish(t.Context(), "s.a", large); err != nil {
		t.Fatalf("a record of 16 MiB: %v", err)
	}
	before, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	o.MaxBytes, o.MaxAge, o.Subjects = 64<<20, time.Hour, []string{"s.>", "t"}
	e, js = start(t, o)
	after, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.CachedInfo(), after.CachedInfo()
	if !is.Created.Equal(was.Created) || is.State.Msgs != 1 {
		t.Errorf("created %v with %d messages, before %v", is.Created, is.State.Msgs, was.Created)
	}
	if is.Config.MaxBytes != o.MaxBytes || is.Config.MaxAge != o.MaxAge || len(is.Config.Subjects) != 2 {
		t.Errorf("the new limits are not taken: %+v", is.Config)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := nats.Connect(e.URL()); err == nil {
		t.Error("a closed server takes connections")
	}
}

func TestOldestGoBeyondMaxBytes(t *testing.T) {
	_, js := start(t, EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}, MaxBytes: 100_000})
	for range 50 {
		if _, err := js.Publish(t.Context(), "s", make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if st := stream.CachedInfo().State; st.Bytes > 100_000 || st.LastSeq != 50 || st.FirstSeq < 40 {
		t.Errorf("state %+v", st)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	e, _ := start(t, EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}})
	if !strings.HasPrefix(e.URL(), "nats://127.0.0.1:") {
		t.Errorf("URL %s", e.URL())
	}
}

func TestEmbeddedFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	file := write(t, "file", nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		o    EmbeddedOptions
		want []string
	}{
		{"options", t.Context(), EmbeddedOptions{Port: 70000, MaxBytes: -1}, []string{"no directory", "70000", "stream needs", "negative"}},
		{"port in use", t.Context(), EmbeddedOptions{Dir: t.TempDir(), Port: port, Stream: "S", Subjects: []string{"s"}}, []string{"address already in use", strconv.Itoa(port), "in use"}},
		{"directory is a file", t.Context(), EmbeddedOptions{Dir: file, Port: -1, Stream: "S", Subjects: []string{"s"}}, []string{"not a directory"}},
		{"stream name", t.Context(), EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "a.b", Subjects: []string{"s"}}, []string{"stream a.b"}},
		{"ended context", ended, EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"}}, []string{"canceled"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := StartEmbedded(c.ctx, c.o)
			if err == nil {
				e.Close()
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestQuietLog(t *testing.T) {
	var log journal
	e, _ := start(t, EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s"},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	e.Close()
	if log.String() != "" {
		t.Errorf("a start and a stop log:\n%s", &log)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			t.Errorf("the server left %s in the working directory", entry.Name())
		}
	}
}
