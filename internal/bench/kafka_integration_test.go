//go:build integration

package bench

import (
	"log/slog"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	kafkasource "github.com/isowatch/isowatch/ingest/kafka"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkKafka reads from a real broker on the same machine: one topic of 4
// partitions, one event a message.
func BenchmarkKafka(b *testing.B) {
	all := lines(b, workload.Config{})
	server := testkafka.ForTest(b, testkafka.Config{Heap: "512m"})
	if err := server.CreateTopic(b.Context(), "bench", 4, nil); err != nil {
		b.Fatal(err)
	}
	k, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64<<10),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range all {
		k.Produce(b.Context(), &kgo.Record{Topic: "bench", Value: line}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := k.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	k.Close()
	measure(b, func() ingest.Source {
		s, err := kafkasource.New(kafkasource.Options{
			Broker: broker.Options{Brokers: []string{server.Addr()}}, Topics: []string{"bench"}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}, len(all))
}
