//go:build integration

package nats

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/testnats"
)

// TestThreeServers takes away the leader of a replicated stream while messages are
// published and read: killed, ended and stopped. The reader knows all servers, the
// first of them none that answers.
func TestThreeServers(t *testing.T) {
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := testnats.NewCluster(t.Context(), program, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t}
	// The publisher has a connection of its own.
	writer := &site{t: t}
	for _, x := range []*site{s, writer} {
		if x.nc, err = broker.Connect(broker.Options{URLs: append([]string{"nats://127.0.0.1:1"}, c.URLs()...)}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.nc.Close)
		if x.js, err = jetstream.New(x.nc); err != nil {
			t.Fatal(err)
		}
	}
	config := jetstream.StreamConfig{Name: testStream, Subjects: []string{testSubjects}, Replicas: 3}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // the servers may not have met yet
		if _, err = s.js.CreateStream(t.Context(), config); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	leader := func() *testnats.Server {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			stream, err := s.js.Stream(t.Context(), testStream)
			if err != nil {
				continue
			}
			if info := stream.CachedInfo(); info.Cluster != nil && c.Named(info.Cluster.Leader) != nil {
				return c.Named(info.Cluster.Leader)
			}
		}
		t.Fatal("the stream has no leader")
		return nil
	}
	sent, stop := publisher(t, writer)
	r := s.read(Options{}, ingest.Cursor{})
	r.waits = clusterPatience
	for _, away := range []struct {
		name       string
		down, back func(*testnats.Server) error
	}{
		{"kill -9", (*testnats.Server).Kill, func(x *testnats.Server) error { return x.Start(t.Context()) }},
		{"SIGTERM", (*testnats.Server).Stop, func(x *testnats.Server) error { return x.Start(t.Context()) }},
		{"SIGSTOP", (*testnats.Server).Pause, (*testnats.Server).Resume},
	} {
		r.untilMessages(len(r.offsets) + 300)
		gone := leader()
		if err := away.down(gone); err != nil {
			t.Fatal(err)
		}
		began, before := time.Now(), int(sent.Load())
		r.untilMessages(before + 300)
		t.Logf("%s: 300 messages without the leader after %v", away.name, time.Since(began).Round(time.Millisecond))
		if err := away.back(gone); err != nil {
			t.Fatal(err)
		}
	}
	n := stop()
	r.untilMessages(n)
	for i, p := range r.payloads {
		if p != strconv.Itoa(i) {
			t.Fatalf("message %d is %s with sequence %d", i, p, r.offsets[i])
		}
	}
	if len(r.payloads) != n {
		t.Errorf("%d messages of %d", len(r.payloads), n)
	}
	r.wantGaps()
}

// clusterPatience: a stopped server is given up after the pings of 30 s that it does
// not answer.
const clusterPatience = 2 * time.Minute
