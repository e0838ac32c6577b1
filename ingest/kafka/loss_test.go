package kafka

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const p0 = "kafka:t/0"

func deleteRecords(t *testing.T, k *kgo.Client, topic string, before int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt, rp := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Offset = before
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 1000
	res, err := req.RequestWith(t.Context(), k)
	if err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("delete records: %v %+v", err, res)
	}
}

func drop(t *testing.T, k *kgo.Client, topic string) {
	t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.TopicNames = append(req.Topics, rt), []string{topic}
	res, err := req.RequestWith(t.Context(), k)
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("delete topic: %v %+v", err, res)
	}
}

func configure(t *testing.T, k *kgo.Client, topic, key, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rr, rc := kmsg.NewIncrementalAlterConfigsRequestResource(), kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	rc.Name, rc.Value = key, kmsg.StringPtr(value)
	rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	rr.Configs = append(rr.Configs, rc)
	req.Resources = append(req.Resources, rr)
	res, err := req.RequestWith(t.Context(), k)
	if err != nil || res.Resources[0].ErrorCode != 0 {
		t.Fatalf("alter %s: %v %+v", key, err, res)
	}
}

func TestOffsetOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name   string
		next   int64
		gaps   []string
		first  int // number of the first value delivered
		cursor int64
	}{
		{"expired", 2, []string{p0 + " 2-6 expired"}, 6, 10},
		{"exactly at the first", 6, nil, 6, 10},
		{"within", 8, nil, 8, 10},
		{"exactly at the end", 10, nil, 10, 10},
		{"beyond the end", 11, []string{p0 + " 11-11 the partition ends at 10"}, 6, 10},
		{"far beyond the end", 1 << 40, []string{p0 + " 1099511627776-1099511627776 the partition ends at 10"}, 6, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := fake(t, kfake.SeedTopics(1, "t"))
			k := client(t, cl)
			values := numbered("v", 10)
			for _, v := range values {
				put(t, k, "t", 0, v)
			}
			deleteRecords(t, k, "t", 6)
			f := follow(t, options("t", cl.ListenAddrs()...), map[string]ingest.Cursor{p0: {Next: c.next}})
			f.until("the end", func() bool { return f.caughtUp[p0] })
			f.want(p0, values[c.first:]...)
			f.wantGaps(c.gaps...)
			if f.cursors[p0].Next != c.cursor {
				t.Errorf("cursor %+v", f.cursors[p0])
			}
			for _, chunk := range f.chunks {
				if len(chunk.Gaps) > 0 && chunk.Cursor.Next != 6 {
					t.Errorf("the gap came with cursor %d, want 6: behind it", chunk.Cursor.Next)
				}
			}
		})
	}
}

// An expired beginning is no loss for one who has no cursor.
func TestStartAtALogThatHasExpired(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	put(t, k, "t", 0, "a")
	put(t, k, "t", 0, "b")
	deleteRecords(t, k, "t", 1)
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(1)
	f.want(p0, "b")
	f.wantGaps()
}

// Who asks for what was written since a time is told when older records are gone,
// and the first one that is left is no older.
func TestStartByTimeAtALogThatHasExpired(t *testing.T) {
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for _, c2 := range []struct {
		since time.Duration
		want  []string
		gaps  []string
	}{
		{-time.Minute, []string{"v1", "v2"}, []string{p0 + " 0-1 expired"}},
		{time.Minute, []string{"v1", "v2"}, []string{p0 + " 0-1 expired"}},
		{2 * time.Minute, []string{"v2"}, nil},
	} {
		c := fake(t, kfake.SeedTopics(1, "t"))
		k := client(t, c)
		for i := range 3 {
			r := &kgo.Record{Topic: "t", Value: fmt.Append(nil, "v", i), Timestamp: at.Add(time.Duration(i) * time.Minute)}
			if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		deleteRecords(t, k, "t", 1)
		o := options("t", c.ListenAddrs()...)
		o.Start, o.StartTime = FromTime, at.Add(c2.since)
		f := follow(t, o, nil)
		f.all(len(c2.want))
		f.want(p0, c2.want...)
		f.wantGaps(c2.gaps...)
	}
}

func TestRecordsExpireWhileReading(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	put(t, k, "t", 0, "a")
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(1)
	f.watch(200 * time.Millisecond)
	// The reader is blocked on the receiver from its next chunk on.
	time.Sleep(700 * time.Millisecond)
	for _, v := range []string{"b", "c", "d"} {
		put(t, k, "t", 0, v)
	}
	deleteRecords(t, k, "t", 3)
	f.until("the last value", func() bool { v := f.values[p0]; return v[len(v)-1] == "d" })
	if len(f.gaps) == 1 { // what was fetched before the deletion is delivered
		f.wantGaps(p0 + " 1-3 expired")
	} else if f.count() != 4 {
		t.Errorf("values %q and gaps %q: something is lost silently", f.values, f.gaps)
	}
}

func TestTopicRecreated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		old, new int
		running  bool // the source runs meanwhile
		gaps     []string
	}{
		{"shorter, while down", 5, 3, false, []string{p0 + " 5-5 the partition ends at 3"}},
		{"as long, while down", 5, 5, false, []string{p0 + " 5-5 offset 4 holds another record"}},
		{"longer, while down", 5, 9, false, []string{p0 + " 5-5 offset 4 holds another record"}},
		{"shorter, while running", 5, 3, true, []string{p0 + " 5-5 the partition ends at 3"}},
		{"longer, while running", 5, 9, true, []string{p0 + " 5-5 offset 4 holds another record"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := fake(t, kfake.SeedTopics(1, "t"))
			k := client(t, cl)
			old, renewed := numbered("old", c.old), numbered("new", c.new)
			put(t, k, "t", 0, old...)
			f := follow(t, options("t", cl.ListenAddrs()...), nil)
			f.all(c.old)
			f.want(p0, old...)
			if !c.running {
				f.stop()
			}
			drop(t, k, "t")
			if c.running { // the loss of the topic is told, then its return
				f.until("the problem", func() bool { return len(f.problems) > 0 })
			}
			create(t, k, "t", 1)
			put(t, client(t, cl), "t", 0, renewed...)
			if !c.running {
				f = follow(t, options("t", cl.ListenAddrs()...), f.cursors)
				old = nil
			}
			f.all(len(old) + c.new)
			f.want(p0, append(old, renewed...)...)
			f.wantGaps(c.gaps...)
		})
	}
}

func TestTopicRecreatedWithFewerPartitions(t *testing.T) {
	c := fake(t, kfake.SeedTopics(3, "t"))
	k := client(t, c)
	for p := range int32(3) {
		put(t, k, "t", p, "old")
	}
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(3)
	f.stop()
	drop(t, k, "t")
	create(t, k, "t", 1)
	put(t, client(t, c), "t", 0, "new")
	g := follow(t, options("t", c.ListenAddrs()...), f.cursors)
	g.until("all gaps", func() bool { return g.caughtUp[p0] && len(g.gaps) == 3 })
	g.want(p0, "new")
	gaps := strings.Join(g.gaps, "\n")
	for _, want := range []string{p0 + " 1-1 offset 0 holds another", "kafka:t/1 1-1 the partition no longer", "kafka:t/2 1-1 the partition no longer"} {
		if !strings.Contains(gaps, want) {
			t.Errorf("no gap %q in %s", want, gaps)
		}
	}
	for _, gone := range []string{"kafka:t/1", "kafka:t/2"} {
		if cursor, ok := g.cursors[gone]; ok || !g.caughtUp[gone] {
			t.Errorf("%s has cursor %+v and caught up %v", gone, cursor, g.caughtUp[gone])
		}
		if !slices.ContainsFunc(g.chunks, func(c ingest.Chunk) bool { return c.Partition == gone && c.EOF }) {
			t.Errorf("%s is waited for for ever", gone)
		}
	}
}

// holed makes a topic of 6 offsets in which compaction has removed some.
func holed(t *testing.T) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	configure(t, k, "t", "cleanup.policy", "compact")
	configure(t, k, "t", "segment.bytes", "1") // compaction leaves the active segment alone
	for i, key := range []string{"a", "a", "b", "c", "c", "d"} {
		r := &kgo.Record{Topic: "t", Key: []byte(key), Value: fmt.Append(nil, "v", i)}
		if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c.Compact()
	return c, k
}

func TestCompactionIsNoGap(t *testing.T) {
	c, _ := holed(t)
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.until("the end", func() bool { return f.caughtUp[p0] })
	if n := f.count(); n == 0 || n >= 6 {
		t.Fatalf("%d values: nothing was compacted, or all", n)
	}
	f.wantGaps()
}

func TestHoleInAnUncompactedTopicIsAGap(t *testing.T) {
	c, k := holed(t)
	configure(t, k, "t", "cleanup.policy", "delete")
	f := follow(t, options("t", c.ListenAddrs()...), map[string]ingest.Cursor{p0: {Next: 0}})
	f.until("the end", func() bool { return f.caughtUp[p0] })
	// The fake moves the first offset with the records; the second hole is within.
	f.want(p0, "v1", "v2", "v4", "v5")
	f.wantGaps(p0+" 0-1 expired", p0+" 3-4 missing on the broker, and the topic is not compacted")
}

func TestHoleWithoutTheRightToReadThePolicyIsNoGap(t *testing.T) {
	c, k := holed(t)
	configure(t, k, "t", "cleanup.policy", "delete")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Count: -1})
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.until("the end", func() bool { return f.caughtUp[p0] })
	f.wantGaps()
}

func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	boot := func(port ...int) *kfake.Cluster {
		opts := []kfake.Opt{kfake.NumBrokers(1), kfake.DataDir(dir), kfake.SeedTopics(2, "t")}
		if len(port) > 0 {
			opts = append(opts, kfake.Ports(port...))
		}
		c, err := kfake.NewCluster(opts...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := boot()
	addr, err := net.ResolveTCPAddr("tcp", c.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	var want [2][]string
	write := func(c *kfake.Cluster, round int) {
		k, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		for p := range want {
			values := numbered(fmt.Sprint("round", round, "-"), 20)
			put(t, k, "t", int32(p), values...)
			want[p] = append(want[p], values...)
		}
	}
	write(c, 0)
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(40)
	for round := 1; round < 4; round++ {
		c.Close()
		if round == 1 { // long enough to be told, by both partitions
			f.until("the problems", func() bool { return len(f.problems) == 2 })
		}
		c = boot(addr.Port)
		write(c, round)
		f.all(40 * (round + 1))
	}
	c.Close()
	for p := range want {
		f.want(PartitionName("t", p), want[p]...)
	}
	f.wantGaps()
	for i, text := range f.problems {
		if strings.Contains(text, "no broker answers") != (i < 2) {
			t.Errorf("problems %q", f.problems)
		}
	}
}

// A broker that hangs costs no more than a request's time.
func TestHangingBroker(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(1, "t"))
	k := client(t, c)
	var hung bool
	release := make(chan struct{})
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		if !hung {
			hung = true
			c.SleepControl(func() { <-release })
		}
		return nil, nil, false
	})
	t.Cleanup(func() { close(release) })
	put(t, k, "t", 0, "v")
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	began := time.Now()
	f := follow(t, options("t", c.ListenAddrs()...), nil)
	f.all(1)
	if took := time.Since(began); took < grace || ctx.Err() != nil {
		t.Errorf("the value came after %v: the broker did not hang", took)
	}
	f.want(p0, "v")
}
