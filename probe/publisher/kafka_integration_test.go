//go:build integration

package publisher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	brokerkafka "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/isowatch/isowatch/internal/testkafka"
)

// The topic holds each record, those of a key in one partition and in order.
func TestKafka(t *testing.T) {
	broker := testkafka.ForTest(t, testkafka.Config{})
	if err := broker.CreateTopic(t.Context(), "txns", 3, nil); err != nil {
		t.Fatal(err)
	}
	o := brokerkafka.Options{Brokers: []string{broker.Addr()}}
	w, err := Kafka(within(t, 30*time.Second), o, "txns")
	if err != nil {
		t.Fatal(err)
	}
	const keys, records = 5, 20
	for i := range keys * records {
		if err := w.Write(within(t, 30*time.Second), fmt.Sprint("s", i%keys), fmt.Sprint("e1/", i), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(within(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	total := 0
	at, latest := map[string]int{}, map[string]int{}
	for partition := range 3 {
		last, err := kafkago.DialLeader(t.Context(), "tcp", broker.Addr(), "txns", partition)
		if err != nil {
			t.Fatal(err)
		}
		end, err := last.ReadLastOffset()
		last.Close()
		if err != nil {
			t.Fatal(err)
		}
		r := kafkago.NewReader(kafkago.ReaderConfig{Brokers: o.Brokers, Topic: "txns", Partition: partition})
		for range end {
			m, err := r.ReadMessage(within(t, 30*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			var n int
			fmt.Sscan(string(m.Value), &n)
			key := string(m.Key)
			if before, ok := at[key]; ok && before != partition {
				t.Errorf("key %s is in partitions %d and %d", key, before, partition)
			}
			if before, ok := latest[key]; ok && n <= before {
				t.Errorf("key %s: %d comes behind %d", key, n, before)
			}
			at[key], latest[key] = partition, n
			total++
		}
		r.Close()
	}
	if total != keys*records {
		t.Errorf("%d records, want %d", total, keys*records)
	}
	if _, err := Kafka(within(t, 30*time.Second), o, "other"); err == nil || !strings.Contains(err.Error(), "there is no topic other") {
		t.Errorf("a topic that is not there: %v", err)
	}
	if _, err := Kafka(within(t, 30*time.Second), brokerkafka.Options{Brokers: []string{"127.0.0.1:1"}}, "txns"); err == nil {
		t.Error("no broker: no error")
	}
}
