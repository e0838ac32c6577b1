//go:build integration

package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clusterPatience: three brokers and an election on two busy cores.
const clusterPatience = 2 * time.Minute

// TestThreeBrokers takes away the leader of a partition in each way that a
// cluster knows, while records are written and read, and gives it back: all of
// them arrive, once.
func TestThreeBrokers(t *testing.T) {
	const topic, partitions, total = "led", 3, 30_000
	c := testkafka.ClusterForTest(t, testkafka.Config{Heap: "128m"}, 3)
	if err := c[0].CreateTopic(t.Context(), topic, partitions, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	more := make(chan int)
	written := make(chan error, 1)
	go func() { written <- produceUpTo(ctx, c.Addrs(), topic, more) }()

	o := options(topic, c.Addrs()...)
	o.MaxWait = DefaultMaxWait
	f := follow(t, o, nil)
	f.patience = clusterPatience
	// offer lets n records be written in all, and waits for them.
	offer := func(n int) {
		t.Helper()
		select {
		case more <- n:
		case err := <-written:
			t.Fatal(err)
		}
		f.until(fmt.Sprint(n, " values"), func() bool { return f.count() >= n })
	}
	offer(total / 10)
	for i, away := range []struct {
		name       string
		down, back func(*testkafka.Broker) error
	}{
		{"kill -9", func(b *testkafka.Broker) error { b.Kill(); return nil }, func(b *testkafka.Broker) error { return b.Start(ctx) }},
		{"SIGTERM", func(b *testkafka.Broker) error { b.Stop(); return nil }, func(b *testkafka.Broker) error { return b.Start(ctx) }},
		{"SIGSTOP", func(b *testkafka.Broker) error { b.Pause(); return nil }, func(b *testkafka.Broker) error { b.Resume(); return nil }},
	} {
		leader, err := c.Leader(ctx, topic, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := away.down(leader); err != nil {
			t.Fatal(err)
		}
		began, before := time.Now(), f.count()
		// Written and read while the leader is away: the others have taken over.
		offer(total * (3*i + 2) / 10)
		t.Logf("%s: %d values without the leader after %v", away.name, f.count()-before, time.Since(began).Round(time.Millisecond))
		if err := away.back(leader); err != nil {
			t.Fatal(err)
		}
		offer(total * (3*i + 4) / 10)
	}
	close(more)
	f.all(total)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	distinct(t, f, total)
	f.wantGaps()
	for p := range partitions {
		if len(f.values[PartitionName(topic, p)]) == 0 {
			t.Errorf("partition %d holds nothing", p)
		}
	}
}

// produceUpTo writes id0, id1, ... each once and to all replicas, up to the
// numbers that more gives.
func produceUpTo(ctx context.Context, addrs []string, topic string, more <-chan int) error {
	k, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchMaxBytes(4<<10), kgo.ProduceRequestTimeout(2*time.Second), kgo.RequestTimeoutOverhead(2*time.Second),
		kgo.DialTimeout(2*time.Second), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer k.Close()
	i := 0
	for n := range more {
		for i < n {
			var batch []*kgo.Record
			for ; i < n && len(batch) < 100; i++ {
				batch = append(batch, &kgo.Record{Topic: topic, Value: fmt.Append(nil, "id", i)})
			}
			if err := k.ProduceSync(ctx, batch...).FirstErr(); err != nil {
				return err
			}
		}
	}
	return nil
}
