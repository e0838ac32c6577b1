//go:build integration

package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkReal reads a topic of 340-byte messages that lies in the page cache.
func BenchmarkReal(b *testing.B) {
	for _, c := range []struct {
		name       string
		partitions int
		codec      kgo.CompressionCodec
	}{
		{"4-partitions", 4, kgo.NoCompression()},
		{"1-partition", 1, kgo.NoCompression()},
		{"4-partitions-lz4", 4, kgo.Lz4Compression()},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.partitions, c.codec) })
	}
}

func benchmark(b *testing.B, partitions int, codec kgo.CompressionCodec) {
	const messages, size = 1_000_000, 340
	server := testkafka.ForTest(b, testkafka.Config{Heap: "512m"})
	realTopic(b, server, "bench", partitions, nil)
	fill(b, server, messages, size, codec)
	s, err := New(Options{
		Broker: broker.Options{Brokers: []string{server.Addr()}}, Topics: []string{"bench"}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		ctx, cancel := context.WithCancel(context.Background())
		out := make(chan ingest.Chunk, 8)
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, nil, out) }()
		for n := 0; n < messages; {
			n += len((<-out).Messages)
		}
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(messages)*float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// fill writes n messages of size bytes to the topic, in batches of 64 KiB.
func fill(b *testing.B, server *testkafka.Broker, n, size int, codec kgo.CompressionCodec) {
	b.Helper()
	k, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()), kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerBatchMaxBytes(64<<10),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	var failed atomic.Value
	for i := range n {
		value := make([]byte, size)
		head := copy(value, fmt.Sprintf(`{"txn":"%d","session":"s%d","status":"committed","ops":[`, i, i%64))
		for j := range value[head:] {
			value[head+j] = byte('a' + (i*31+j*j)%26)
		}
		k.Produce(context.Background(), &kgo.Record{Topic: "bench", Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(err)
			}
		})
	}
	if err := k.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	k.Close()
	if err, ok := failed.Load().(error); ok {
		b.Fatal(err)
	}
}
