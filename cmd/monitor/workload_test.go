package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/event"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// A stream gets the records of a workload, all of them good; one that is not there is told.
func TestWorkloadToStream(t *testing.T) {
	t.Parallel()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "TXNS", Subjects: []string{"txns.>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	database := "sqlite:///" + filepath.Join(t.TempDir(), "x.db")
	workload := func(to string) (code int, told string) {
		var stderr lockedBuffer
		code = run(t.Context(), []string{"workload", database, "--to", to, "--duration", "2s", "--fault", "true", "--fault-every", "1s", "--fault-for", "100ms"},
			terminal{stdout: &bytes.Buffer{}, stderr: &stderr, lookupEnv: func(string) (string, bool) { return "", false }})
		return code, stderr.String()
	}
	if code, told := workload(server.URL() + "/TXNS"); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, told)
	}
	if code, told := workload(server.URL() + "/OTHER"); code != exitUsage || !strings.Contains(told, "nats: stream OTHER: ") {
		t.Errorf("no such stream: exit code %d\n%s", code, told)
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
	var d event.Decoder
	var b event.Batch
	for seq := range stream.CachedInfo().State.Msgs {
		m, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		d.DecodeMessage(&b, event.Position{}, m.Data)
	}
	if len(b.Txns) < 2 || len(b.Marks) != 2 || len(b.Bad) > 0 {
		t.Errorf("%d transactions, %d marks, bad records %+v", len(b.Txns), len(b.Marks), b.Bad)
	}
}
