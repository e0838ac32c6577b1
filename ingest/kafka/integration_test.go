//go:build integration

package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/isowatch/isowatch/internal/testkafka"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

func realTopic(t testing.TB, b *testkafka.Broker, topic string, partitions int, config map[string]string) {
	t.Helper()
	if err := b.CreateTopic(context.Background(), topic, partitions, config); err != nil {
		t.Fatal(err)
	}
}

func realClient(t testing.TB, b *testkafka.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	k, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// distinct checks that ids 0 to n-1 were delivered, each once.
func distinct(t *testing.T, f *follower, n int) {
	t.Helper()
	seen := make(map[string]bool, n)
	doubled := 0
	for _, values := range f.values {
		for _, v := range values {
			if seen[v] {
				doubled++
			}
			seen[v] = true
		}
	}
	lost := 0
	for i := range n {
		if !seen[fmt.Sprint("id", i)] {
			lost++
		}
	}
	if lost > 0 || doubled > 0 || len(seen) != n {
		t.Errorf("%d lost, %d doubled, %d distinct of %d", lost, doubled, len(seen), n)
	}
}

// TestRealBroker shares one broker: it takes 3 s to start.
func TestRealBroker(t *testing.T) {
	b := testkafka.ForTest(t, testkafka.Config{})
	for _, c := range []struct {
		name string
		test func(*testing.T, *testkafka.Broker)
	}{
		{"kill -9", killed},
		{"transactions", transactional},
		{"offsets out of range", outOfRange},
		{"recreated shorter", func(t *testing.T, b *testkafka.Broker) { recreated(t, b, 3, " 5-5 the partition ends at 3") }},
		{"recreated longer", func(t *testing.T, b *testkafka.Broker) { recreated(t, b, 9, " 5-5 offset 4 holds another record") }},
		{"new partitions", grown},
		{"compacted", compacted},
		{"a broker that hangs", hung},
		{"TLS and login", secured},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

func transactional(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "tx", 1, nil)
	k := realClient(t, b, kgo.TransactionalID("a"))
	transact(t, k, "tx", true, "a1", "a2")
	transact(t, k, "tx", false, "lost1", "lost2")
	transact(t, k, "tx", true, "a3")
	transact(t, k, "tx", false, "lost3")
	f := follow(t, options("tx", b.Addr()), nil)
	f.all(3)
	f.want("kafka:tx/0", "a1", "a2", "a3")
	f.wantGaps()
	if next := f.cursors["kafka:tx/0"].Next; next != 10 { // 6 records, 4 markers
		t.Errorf("cursor %d", next)
	}
}

func outOfRange(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "range", 1, nil)
	k := realClient(t, b)
	values := numbered("v", 10)
	put(t, k, "range", 0, values...)
	deleteRecords(t, k, "range", 6)
	for next, gap := range map[int64]string{2: " 2-6 expired", 11: " 11-11 the partition ends at 10"} {
		f := follow(t, options("range", b.Addr()), map[string]ingest.Cursor{"kafka:range/0": {Next: next}})
		f.all(4)
		f.want("kafka:range/0", values[6:]...)
		f.wantGaps("kafka:range/0" + gap)
		f.stop()
	}
}

func recreated(t *testing.T, b *testkafka.Broker, newer int, gap string) {
	topic := fmt.Sprint("again", newer)
	name := PartitionName(topic, 0)
	realTopic(t, b, topic, 1, nil)
	put(t, realClient(t, b), topic, 0, numbered("old", 5)...)
	f := follow(t, options(topic, b.Addr()), nil)
	f.all(5)
	if err := b.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	f.until("the problem", func() bool { return len(f.problems) > 0 })
	realTopic(t, b, topic, 1, nil)
	put(t, realClient(t, b), topic, 0, numbered("new", newer)...)
	f.all(5 + newer)
	f.want(name, append(numbered("old", 5), numbered("new", newer)...)...)
	f.wantGaps(name + gap)
}

func grown(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "grow", 1, nil)
	f := follow(t, options("grow", b.Addr()), nil)
	f.until("the end", func() bool { return f.caughtUp["kafka:grow/0"] })
	grow(t, realClient(t, b), "grow", 2)
	put(t, realClient(t, b), "grow", 1, "v")
	f.all(1)
	f.want("kafka:grow/1", "v")
}

func hung(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "hang", 1, nil)
	k := realClient(t, b)
	put(t, k, "hang", 0, "before")
	f := follow(t, options("hang", b.Addr()), nil)
	f.all(1)
	b.Pause()
	f.until("the problem", func() bool { return len(f.problems) > 0 })
	b.Resume()
	put(t, k, "hang", 0, "after")
	f.all(2)
	f.want("kafka:hang/0", "before", "after")
	f.wantGaps()
}

func secured(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "secret", 2, nil)
	put(t, realClient(t, b), "secret", 1, "v")
	for _, mechanism := range []string{broker.Plain, broker.ScramSHA256, broker.ScramSHA512} {
		o := options("secret", b.SecureAddr())
		o.Broker.CAFile, o.Broker.Mechanism, o.Broker.User = b.CAFile(), mechanism, testkafka.User
		o.Broker.Password = testkafka.Password
		f := follow(t, o, nil)
		f.all(1)
		f.want("kafka:secret/1", "v")
		f.stop()
		o.Broker.Password = "wrong-one"
		if err := runFails(t, o, broker.ErrLogin); strings.Contains(err.Error(), "wrong-one") {
			t.Errorf("the password is in %v", err)
		}
	}
}

// killed writes with every codec while the broker is killed and restarted
// twice, and reads along: a source started anew after each kill, too.
func killed(t *testing.T, b *testkafka.Broker) {
	const partitions, total = 3, 30_000
	realTopic(t, b, "k", partitions, nil)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	defer cancel()
	go func() { written <- produce(ctx, b, total) }()

	f := follow(t, options("k", b.Addr()), nil)
	for kill := range 2 {
		share := total * (kill + 1) / 3
		f.until(fmt.Sprint(share, " values"), func() bool { return f.count() >= share })
		began := time.Now()
		b.Kill()
		restarted := make(chan error, 1)
		go func() { restarted <- b.Start(ctx) }()
		before := f.count()
		f.until("the restart", func() bool {
			select {
			case err := <-restarted:
				if err != nil {
					t.Fatal(err)
				}
				return true
			default:
				return false
			}
		})
		up := time.Since(began)
		f.until("values after the restart", func() bool { return f.count() > before+1000 || f.count() == total })
		t.Logf("kill %d: broker back after %v, values after %v", kill, up.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		if kill == 0 { // the other time the source is started anew
			f.stop()
			old := f
			f = follow(t, options("k", b.Addr()), old.cursors)
			f.values = old.values
		}
	}
	f.all(total)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	distinct(t, f, total)
	f.wantGaps()
}

// produce writes id0 to id(n-1), each once: the broker recognises a repeated
// batch by its sequence. kafka-go's Writer has no such sequence, so that its
// retries double records; it writes the codecs in TestRealWriterCodecs.
func produce(ctx context.Context, b *testkafka.Broker, n int) error {
	k, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerBatchMaxBytes(4<<10))
	if err != nil {
		return err
	}
	defer k.Close()
	for i := 0; i < n; {
		var batch []*kgo.Record
		for ; i < n && len(batch) < 100; i++ {
			batch = append(batch, &kgo.Record{Topic: "k", Value: fmt.Append(nil, "id", i)})
		}
		if err := k.ProduceSync(ctx, batch...).FirstErr(); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond) // 10,000 a second: 3 s in all
	}
	return nil
}

func TestRealWriterCodecs(t *testing.T) {
	b := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
	realTopic(t, b, "c", 2, nil)
	const each = 2000
	n := 0
	for _, codec := range []kafkago.Compression{0, kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd} {
		w := &kafkago.Writer{
			Addr: kafkago.TCP(b.Addr()), Topic: "c", Compression: codec, Balancer: &kafkago.RoundRobin{},
			RequiredAcks: kafkago.RequireAll, BatchTimeout: 5 * time.Millisecond, BatchSize: 500,
		}
		messages := make([]kafkago.Message, each)
		for i := range messages {
			messages[i].Value = fmt.Append(nil, "id", n)
			messages[i].Headers = []kafkago.Header{{Key: "h", Value: []byte("x")}}
			n++
		}
		if err := w.WriteMessages(t.Context(), messages...); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	f := follow(t, options("c", b.Addr()), nil)
	f.all(n)
	distinct(t, f, n)
	f.wantGaps()
}

// compacted lets the broker's cleaner remove most of a topic, the last batches
// of a producer included, whose empty shells stay.
func compacted(t *testing.T, b *testkafka.Broker) {
	realTopic(t, b, "compact", 1, map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100",
		"min.compaction.lag.ms": "0", "max.compaction.lag.ms": "100",
	})
	k := realClient(t, b)
	key := func(name, value string) {
		r := &kgo.Record{Topic: "compact", Key: []byte(name), Value: []byte(value)}
		if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(time.Minute)
	writes := 0
	for time.Now().Before(deadline) {
		for range 5 {
			key("same", fmt.Sprint("v", writes))
			writes++
		}
		time.Sleep(300 * time.Millisecond)
		f := follow(t, options("compact", b.Addr()), nil)
		f.until("the end", func() bool { return f.caughtUp["kafka:compact/0"] })
		f.wantGaps()
		f.stop()
		if n := f.count(); n < writes/2 && writes > 20 {
			if v := f.values["kafka:compact/0"]; v[len(v)-1] != fmt.Sprint("v", writes-1) {
				t.Errorf("the last value is %s of %d", v[len(v)-1], writes)
			}
			t.Logf("%d of %d records are left", n, writes)
			return
		}
	}
	t.Error("the broker's cleaner did not run within a minute")
}
