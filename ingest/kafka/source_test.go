package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestReadsEveryCodecOfEveryPartition(t *testing.T) {
	c := fake(t, kfake.SeedTopics(3, "t"))
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	want := map[string][]string{}
	for i, codec := range codecs {
		k := client(t, c, kgo.ProducerBatchCompression(codec))
		for p := range int32(3) {
			values := numbered(strings.Repeat(fmt.Sprint("codec", i, "-"), 20), 500)
			put(t, k, "t", p, values...)
			name := PartitionName("t", int(p))
			want[name] = append(want[name], values...)
		}
	}
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(3 * 5 * 500)
	for name, values := range want {
		f.want(name, values...)
		if next := f.cursors[name].Next; next != int64(len(values)) {
			t.Errorf("%s: cursor %d", name, next)
		}
	}
	f.wantGaps()
	if len(f.problems) > 0 {
		t.Errorf("problems %q", f.problems)
	}
}

// Every chunk's cursor is a point at which a crash may fall.
func TestResumesBehindEveryChunk(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	values := numbered("v", 300)
	for part := range slices.Chunk(values, 30) {
		put(t, k, "t", 0, part...)
	}
	o := options("t", c.ListenAddrs()...)
	o.MaxBytes = 1000 // some batches a chunk
	f := follow(t, o, nil)
	f.all(len(values))
	f.stop()
	read := 0
	for i, chunk := range f.chunks {
		read += len(chunk.Messages)
		if len(chunk.Messages) == 0 || i%2 == 1 {
			continue
		}
		g := follow(t, o, map[string]ingest.Cursor{"kafka:t/0": chunk.Cursor})
		g.all(len(values) - read)
		g.want("kafka:t/0", values[read:]...)
		g.wantGaps()
		g.stop()
	}
}

func TestReadCommitted(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	a := client(t, c, kgo.TransactionalID("a"))
	b := client(t, c, kgo.TransactionalID("b"))
	plain := client(t, c)
	transact(t, a, "t", true, "a1", "a2")
	transact(t, a, "t", false, "lost1")
	put(t, plain, "t", 0, "plain")
	if err := b.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	put(t, b, "t", 0, "lost2") // the two transactions overlap
	transact(t, a, "t", true, "a3")
	if err := b.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	transact(t, b, "t", true, "b1")
	want := []string{"a1", "a2", "plain", "a3", "b1"}

	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(len(want))
	f.want("kafka:t/0", want...)
	f.wantGaps()
	end := f.cursors["kafka:t/0"].Next
	f.stop()
	for from := range end { // also into the middle of aborted transactions
		g := follow(t, options("t", c.ListenAddrs()...), map[string]ingest.Cursor{"kafka:t/0": {Next: from}})
		g.until("the end", func() bool { return g.caughtUp["kafka:t/0"] })
		if got := g.values["kafka:t/0"]; !slices.Equal(got, want[len(want)-len(got):]) {
			t.Errorf("from %d: %q", from, got)
		}
		g.wantGaps()
		g.stop()
	}
}

func TestTrailingMarkerIsPassed(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c, kgo.TransactionalID("a"))
	transact(t, k, "t", true, "v")
	transact(t, k, "t", false, "lost") // the log now ends with record, marker
	f := follow(t, options("t", c.ListenAddrs()...), map[string]ingest.Cursor{"kafka:t/0": {Next: 3}})
	fetches := observe(c, kmsg.Fetch)
	f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
	if got := f.cursors["kafka:t/0"]; got.Next != 4 {
		t.Errorf("cursor %+v at the end, want 4", got)
	}
	f.watch(time.Second)
	if n := fetches.Hits(); n > 20 { // one every 100 ms, not one every 0.1 ms
		t.Errorf("%d fetches in a second at the end of the log", n)
	}
	f.want("kafka:t/0")
}

func observe(c *kfake.Cluster, key kmsg.Key) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Observe: true, Count: -1})
}

func TestOpenTransactionHoldsBackTheEnd(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c, kgo.TransactionalID("a"))
	put(t, client(t, c), "t", 0, "before")
	if err := k.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	put(t, k, "t", 0, "inside")
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.until("the first record", func() bool { return f.count() == 1 })
	f.watch(500 * time.Millisecond)
	if f.caughtUp["kafka:t/0"] {
		t.Error("caught up although records are held back")
	}
	if err := k.EndTransaction(context.Background(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	f.all(2)
	f.want("kafka:t/0", "before", "inside")
}

func TestIdleIsTold(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
	if got := f.cursors["kafka:t/0"]; got.Next != 0 {
		t.Errorf("cursor of an empty partition: %+v", got)
	}
	idle := f.watch(2200 * time.Millisecond)
	if len(idle) < 2 || len(idle) > 4 {
		t.Errorf("%d chunks in 2.2 s of idleness, want one every 500 ms", len(idle))
	}
	for _, chunk := range idle {
		if !chunk.CaughtUp || len(chunk.Messages) > 0 {
			t.Errorf("idle chunk %+v", chunk)
		}
	}
}

func TestCancelIsQuick(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(4, "t"))
	o := options("t", c.ListenAddrs()...)
	o.MaxWait = 10 * time.Second
	t.Run("in a long poll", func(t *testing.T) {
		f := follow(t, o, nil)
		f.until("all ends", func() bool { return len(f.caughtUp) == 4 })
		if took := f.stop(); took > o.MaxWait/2 {
			t.Errorf("took %v", took)
		}
	})
	t.Run("with nobody receiving", func(t *testing.T) {
		f := follow(t, o, nil)
		time.Sleep(200 * time.Millisecond)
		if took := f.stop(); took > o.MaxWait/2 {
			t.Errorf("took %v", took)
		}
	})
	t.Run("without a broker", func(t *testing.T) {
		f := follow(t, options("t", "127.0.0.1:1"), nil)
		time.Sleep(200 * time.Millisecond)
		if took := f.stop(); took > 500*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// A receiver that does not take what is there stops the fetching.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	values := numbered("v", 1000)
	for part := range slices.Chunk(values, 100) {
		put(t, k, "t", 0, part...)
	}
	fetches := observe(c, kmsg.Fetch)
	o := options("t", c.ListenAddrs()...)
	o.MaxBytes = 500 // a batch a fetch
	f := follow(t, o, nil)
	if c := <-f.out; len(c.Messages) > 0 || c.Partition != PartitionName("t", 0) {
		t.Fatalf("first came %+v, want the partition named", c)
	}
	time.Sleep(500 * time.Millisecond)
	if n := fetches.Hits(); n != 1 {
		t.Errorf("%d fetches although nobody receives", n)
	}
	f.all(len(values))
	f.want("kafka:t/0", values...)
}

func TestStart(t *testing.T) {
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	cursor := map[string]ingest.Cursor{"kafka:t/0": {Next: 8}}
	for _, c2 := range []struct {
		name  string
		start Start
		time  time.Time
		from  map[string]ingest.Cursor
		want  []string
	}{
		{"beginning", FromBeginning, time.Time{}, nil, []string{"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "new"}},
		{"end", FromEnd, time.Time{}, nil, []string{"new"}},
		{"time of a record", FromTime, at.Add(6 * time.Minute), nil, []string{"v6", "v7", "v8", "v9", "new"}},
		{"time between records", FromTime, at.Add(6*time.Minute + time.Second), nil, []string{"v7", "v8", "v9", "new"}},
		{"time before all", FromTime, at.Add(-time.Hour), nil, []string{"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "new"}},
		{"time after all", FromTime, at.Add(24 * time.Hour), nil, []string{"new"}},
		{"a cursor wins", FromEnd, time.Time{}, cursor, []string{"v8", "v9", "new"}},
		{"a cursor that says nothing does not", FromEnd, time.Time{}, map[string]ingest.Cursor{"kafka:t/0": {Next: unknownNext}}, []string{"new"}},
	} {
		t.Run(c2.name, func(t *testing.T) {
			c := fake(t, kfake.SeedTopics(1, "t"))
			k := client(t, c)
			for i := range 10 {
				r := &kgo.Record{Topic: "t", Value: fmt.Append(nil, "v", i), Timestamp: at.Add(time.Duration(i) * time.Minute)}
				if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			o := options("t", c.ListenAddrs()...)
			o.Start, o.StartTime = c2.start, c2.time
			f := follow(t, o, c2.from)
			f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
			put(t, k, "t", 0, "new")
			f.all(len(c2.want))
			f.want("kafka:t/0", c2.want...)
			f.wantGaps()
		})
	}
}

func TestNewPartitionIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	put(t, k, "t", 0, "old")
	o := options("t", c.ListenAddrs()...)
	o.Start = FromEnd
	f := follow(t, o, nil)
	f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
	grow(t, k, "t", 3)
	put(t, client(t, c), "t", 2, "in the new one")
	f.until("the new partitions", func() bool { return len(f.caughtUp) == 3 && f.count() == 1 })
	f.want("kafka:t/2", "in the new one")
	f.stop()

	// A partition added while the source was down is read from its beginning too.
	grow(t, k, "t", 4)
	put(t, client(t, c), "t", 3, "added meanwhile")
	g := follow(t, o, f.cursors)
	g.until("the fourth partition", func() bool { return len(g.caughtUp) == 4 && g.count() == 1 })
	g.want("kafka:t/3", "added meanwhile")
}

func grow(t *testing.T, k *kgo.Client, topic string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, partitions
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), k)
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("create partitions: %v %+v", err, res)
	}
}

func TestTopicThatComesLater(t *testing.T) {
	t.Parallel()
	c := fake(t)
	o := options("t", c.ListenAddrs()...)
	o.Start = FromEnd // whatever a topic made after us holds is new
	f := follow(t, o, nil)
	f.until("the problem", func() bool { return len(f.problems) > 0 })
	if !strings.Contains(f.problems[0], "topic t does not exist") {
		t.Errorf("problem %q", f.problems[0])
	}
	k := client(t, c)
	create(t, k, "t", 1)
	put(t, k, "t", 0, "first")
	f.all(1)
	f.want("kafka:t/0", "first")
	if n := len(f.problems); n != 2 || f.problems[1] != "" {
		t.Errorf("problems %q, want one and its end", f.problems)
	}
}

func create(t *testing.T, k *kgo.Client, topic string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(t.Context(), k)
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("create topic: %v %+v", err, res)
	}
}

func TestRefusedLoginEndsTheSource(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.Superuser(broker.Plain, "alice", "right"))
	refuse := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1})
	o := options("t", c.ListenAddrs()...)
	o.Broker.Mechanism, o.Broker.User, o.Broker.Password = broker.Plain, "alice", "wrong-password"
	err := runFails(t, o, broker.ErrLogin)
	if strings.Contains(err.Error(), "wrong-password") || !strings.Contains(err.Error(), `"alice"`) {
		t.Errorf("error %q", err)
	}
	refuse.Remove()
	o.Broker.Password = "right"
	f := follow(t, o, nil)
	f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
}

// Once it has worked, a refused login may be an outage of the broker's users.
func TestLoginRefusedLaterIsAProblem(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.Superuser(broker.Plain, "alice", "right"))
	o := options("t", c.ListenAddrs()...)
	o.Broker.Mechanism, o.Broker.User, o.Broker.Password = broker.Plain, "alice", "right"
	f := follow(t, o, nil)
	f.until("the end", func() bool { return f.caughtUp["kafka:t/0"] })
	refuse := c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1}, // makes it connect again
	)
	f.until("the problem", func() bool { return len(f.problems) > 0 })
	if !strings.Contains(f.problems[0], "login refused") {
		t.Errorf("problem %q", f.problems[0])
	}
	refuse.Remove()
	f.until("the recovery", func() bool { return f.problems[len(f.problems)-1] == "" })
}

func TestMissingFileEndsTheSource(t *testing.T) {
	o := options("t", "127.0.0.1:1")
	o.Broker.CAFile = "absent.pem"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "absent.pem") {
		t.Errorf("Run returned %v", err)
	}
}

// A batch whose checksum is wrong is not delivered.
func TestCorruptBatchIsNotDelivered(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	put(t, k, "t", 0, "value")
	var corrupt atomic.Bool
	corrupt.Store(true)
	proxy := flip(t, c.ListenAddrs()[0], "value", &corrupt)
	o := options("t", proxy)
	f := follow(t, o, nil)
	f.until("the problem", func() bool { return len(f.problems) > 0 })
	if f.count() > 0 || !strings.Contains(f.problems[0], "checksum") {
		t.Errorf("values %v, problem %q", f.values, f.problems[0])
	}
	corrupt.Store(false)
	f.all(1)
	f.want("kafka:t/0", "value")
	f.until("the recovery", func() bool { return len(f.problems) == 2 })
}
