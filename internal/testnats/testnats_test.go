//go:build integration

package testnats

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestKilledServerComesBackWithItsStream(t *testing.T) {
	program, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Program: program, Dir: t.TempDir()}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	if err := s.Start(t.Context()); err == nil {
		t.Error("a second start of a running server")
	}
	url := s.URL()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	pid := s.cmd.Process.Pid
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.ask(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.URL() != url || s.cmd.Process.Pid == pid {
		t.Errorf("after the restart: %s, process %d; before: %s, process %d", s.URL(), s.cmd.Process.Pid, url, pid)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("%d messages after the restart", n)
	}
}

func TestBuildNamesItsFailure(t *testing.T) {
	_, err := Build(t.Context(), string([]byte{0}))
	if err == nil || !strings.Contains(err.Error(), Module) {
		t.Errorf("error %v", err)
	}
	s := &Server{Program: os.DevNull, Dir: t.TempDir()}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a program that cannot run was started")
	}
}
