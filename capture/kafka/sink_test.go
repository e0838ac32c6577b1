package kafka

import (
	"context"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/event"
)

// topic holds what a topic holds.
type topic struct {
	records    []event.Record
	keys       map[string]int // messages by key
	partitions map[int32]int  // messages by partition
	bad        int
}

// read takes records of the topic until enough different ones are there.
func read(t *testing.T, brokers []string, name string, enough int) topic {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := topic{keys: map[string]int{}, partitions: map[int32]int{}}
	var d event.Decoder
	ids := map[string]bool{}
	for len(ids) < enough {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%d of %d records: %v", len(ids), enough, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var b event.Batch
			d.DecodeMessage(&b, event.Position{}, r.Value)
			for i := range b.Txns {
				got.records = append(got.records, b.Record(&b.Txns[i]))
				ids[b.Text(b.Txns[i].ID)] = true
			}
			got.bad += len(b.Bad)
			got.keys[string(r.Key)]++
			got.partitions[r.Partition]++
		})
	}
	return got
}

func record(r *capture.Recorder, n int, value string) {
	s := r.Session("s")
	for range n {
		txn := r.Begin(capture.Begin{Session: s})
		txn.Write("k", value)
		txn.End(capture.Committed)
	}
}

func recorder(t *testing.T, o Options, opts ...capture.Option) *capture.Recorder {
	t.Helper()
	sink, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.New(sink, "bank", append(opts, capture.WithPlainValues())...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSink(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "txns"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	o := Options{Brokers: cluster.ListenAddrs(), Topic: "txns", MaxMessage: 1000, Compression: kafkago.Snappy}
	first, second := recorder(t, o), recorder(t, o)
	record(first, 50, "short")
	record(first, 1, strings.Repeat("long", 10_000))
	record(first, 50, "short")
	record(second, 50, "short")
	for _, r := range []*capture.Recorder{first, second} {
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, o.Brokers, "txns", 152)
	ids := map[string]bool{}
	for _, rec := range got.records {
		ids[rec.ID] = true
	}
	if len(ids) != 152 || got.bad != 0 || first.Stats().TooLong != 1 {
		t.Errorf("%d records, %d of them bad, %+v", len(ids), got.bad, first.Stats())
	}
	if len(got.keys) != 2 || got.keys[""] > 0 {
		t.Errorf("each sink has a key of its own: %v", got.keys)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{"no brokers": {Topic: "t"}, "no topic": {Brokers: []string{"h:1"}}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A broker that cannot be reached is told, and what waits for it is told at the end.
func TestNoBroker(t *testing.T) {
	r := recorder(t, Options{Brokers: []string{"127.0.0.1:1"}, Topic: "txns", Key: "k"})
	record(r, 3, "v")
	for deadline := time.Now().Add(time.Minute); r.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no error is told")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); err == nil || !strings.Contains(err.Error(), "records that were not delivered: 3") || !strings.Contains(err.Error(), "topic txns") {
		t.Errorf("Close: %v", err)
	}
}
