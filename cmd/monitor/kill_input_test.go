//go:build integration

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/isowatch/isowatch/internal/testnats"
)

// killInput holds what a run reads.
type killInput struct {
	flags []string // of monitor run
	// publish adds lines at the end, in order; they stay when it returns nil.
	publish func(ctx context.Context, lines [][]byte) error
	// ordered says that every reader gets the records in one order.
	ordered bool
}

// messages cuts lines into messages of 1 to 10 records.
func messages(rng *rand.Rand, lines [][]byte) [][]byte {
	var out [][]byte
	for len(lines) > 0 {
		n := min(1+rng.IntN(10), len(lines))
		out = append(out, bytes.Join(lines[:n], nil))
		lines = lines[n:]
	}
	return out
}

// natsInput is a stream of a nats-server process.
func natsInput(t *testing.T, rng *rand.Rand) killInput {
	t.Helper()
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &testnats.Server{Program: program, Dir: t.TempDir()}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KILLS", Subjects: []string{"kills.>"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return killInput{
		flags: []string{"--nats", server.URL(), "--stream", "KILLS"}, ordered: true,
		publish: func(ctx context.Context, lines [][]byte) error {
			for _, m := range messages(rng, lines) {
				if _, err := js.Publish(ctx, "kills."+strconv.Itoa(rng.IntN(4)), m); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// kafkaInput is a topic of a real broker. With one partition there is one order.
func kafkaInput(t *testing.T, rng *rand.Rand, partitions int) killInput {
	t.Helper()
	broker := testkafka.ForTest(t, testkafka.Config{})
	topic := fmt.Sprintf("kills-%d", partitions)
	if err := broker.CreateTopic(t.Context(), topic, partitions, nil); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return killInput{
		flags: []string{"--kafka", broker.Addr(), "--topic", topic}, ordered: partitions == 1,
		publish: func(ctx context.Context, lines [][]byte) error {
			var records []*kgo.Record
			for _, m := range messages(rng, lines) {
				records = append(records, &kgo.Record{Topic: topic, Partition: rng.Int32N(int32(partitions)), Value: m})
			}
			return client.ProduceSync(ctx, records...).FirstErr()
		},
	}
}

// fileInput is a log that is written in pieces that end anywhere within a line,
// and rotated by renaming it each time that it has 40 MB.
func fileInput(t *testing.T, rng *rand.Rand) killInput {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	log := &rotatedLog{path: path, rng: rng, most: 40 << 20}
	if err := log.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.file.Close() })
	return killInput{flags: []string{"--tail", path + "*"}, ordered: true, publish: log.publish}
}

type rotatedLog struct {
	path       string
	rng        *rand.Rand
	most, size int
	file       *os.File
}

func (l *rotatedLog) open() (err error) {
	l.size = 0
	l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

func (l *rotatedLog) publish(_ context.Context, lines [][]byte) error {
	text := bytes.Join(lines, nil)
	l.size += len(text)
	cut := l.rng.IntN(len(text))
	if _, err := l.file.Write(text[:cut]); err != nil {
		return err
	}
	time.Sleep(time.Duration(l.rng.IntN(3)) * time.Millisecond)
	if _, err := l.file.Write(text[cut:]); err != nil || l.size < l.most {
		return err
	}
	return l.rotate()
}

// rotate numbers the log as logrotate does: the youngest is 1.
func (l *rotatedLog) rotate() error {
	if err := l.file.Close(); err != nil {
		return err
	}
	last := 1
	for ; ; last++ {
		if _, err := os.Stat(l.numbered(last)); err != nil {
			break
		}
	}
	for n := last; n > 1; n-- {
		if err := os.Rename(l.numbered(n-1), l.numbered(n)); err != nil {
			return err
		}
	}
	if err := os.Rename(l.path, l.numbered(1)); err != nil {
		return err
	}
	return l.open()
}

func (l *rotatedLog) numbered(n int) string { return l.path + "." + strconv.Itoa(n) }
