package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience of a test: what should come within milliseconds may take this long
// on a loaded machine.
const testPatience = 30 * time.Second

func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func client(t testing.TB, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	k, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// put writes values to one partition, in one batch where the broker lets it.
func put(t testing.TB, k *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	if err := k.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// transact writes values in one transaction and ends it.
func transact(t testing.TB, k *kgo.Client, topic string, commit bool, values ...string) {
	t.Helper()
	if err := k.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	put(t, k, topic, 0, values...)
	if err := k.EndTransaction(context.Background(), kgo.TransactionEndTry(commit)); err != nil {
		t.Fatal(err)
	}
}

// numbered are prefix0, prefix1, ...
func numbered(prefix string, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(prefix, i)
	}
	return values
}

// options of a source at addrs that is quick to notice things.
func options(topic string, addrs ...string) Options {
	return Options{
		Broker:   broker.Options{Brokers: addrs, DialTimeout: 2 * time.Second},
		Topics:   []string{topic},
		MaxWait:  100 * time.Millisecond,
		Discover: 100 * time.Millisecond,
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// follower runs a source and keeps what it delivered.
type follower struct {
	t        testing.TB
	patience time.Duration
	out      chan ingest.Chunk
	cancel   context.CancelFunc
	done     chan error

	values   map[string][]string // by partition
	offsets  map[string]int64    // of the last message
	cursors  map[string]ingest.Cursor
	caughtUp map[string]bool
	gaps     []string
	problems []string // "" for a recovery
	chunks   []ingest.Chunk
}

func follow(t testing.TB, o Options, from map[string]ingest.Cursor) *follower {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{
		t: t, patience: testPatience, out: make(chan ingest.Chunk), cancel: cancel, done: make(chan error, 1),
		values: map[string][]string{}, offsets: map[string]int64{}, cursors: map[string]ingest.Cursor{}, caughtUp: map[string]bool{},
	}
	go func() { f.done <- s.Run(ctx, from, f.out) }()
	t.Cleanup(func() { f.stop() })
	return f
}

// stop cancels the source and returns how long that took.
func (f *follower) stop() time.Duration {
	f.t.Helper()
	began := time.Now()
	f.cancel()
	select {
	case err := <-f.done:
		if err != nil {
			f.t.Errorf("Run returned %v", err)
		}
		f.done <- nil // stop may be called again
	case <-time.After(testPatience):
		f.t.Fatal("Run does not return")
	}
	return time.Since(began)
}

// until takes chunks until ok.
func (f *follower) until(what string, ok func() bool) {
	f.t.Helper()
	deadline := time.After(f.patience)
	for !ok() {
		select {
		case c := <-f.out:
			f.take(c)
		case <-deadline:
			f.t.Fatalf("waited in vain for %s: %d chunks, values %d, gaps %q, problems %q, caught up %v",
				what, len(f.chunks), f.count(), f.gaps, f.problems, f.caughtUp)
		}
	}
}

// watch takes chunks for d and returns them.
func (f *follower) watch(d time.Duration) []ingest.Chunk {
	f.t.Helper()
	n := len(f.chunks)
	deadline := time.After(d)
	for {
		select {
		case c := <-f.out:
			f.take(c)
		case <-deadline:
			return f.chunks[n:]
		}
	}
}

func (f *follower) take(c ingest.Chunk) {
	f.t.Helper()
	f.chunks = append(f.chunks, c)
	for _, g := range c.Gaps {
		f.gaps = append(f.gaps, fmt.Sprintf("%s %d-%d %s", c.Partition, g.From, g.To, g.Reason))
	}
	if len(c.Gaps) > 0 && c.Gaps[0].From == c.Gaps[0].To {
		delete(f.offsets, c.Partition) // starts again
	}
	for _, m := range c.Messages {
		if last, ok := f.offsets[c.Partition]; ok && m.Offset <= last {
			f.t.Errorf("%s: offset %d after %d", c.Partition, m.Offset, last)
		}
		f.offsets[c.Partition] = m.Offset
		f.values[c.Partition] = append(f.values[c.Partition], string(m.Value))
		if m.Offset >= c.Cursor.Next {
			f.t.Errorf("%s: the cursor %d does not cover offset %d", c.Partition, c.Cursor.Next, m.Offset)
		}
	}
	empty := len(c.Messages) == 0 && len(c.Gaps) == 0
	if c.Problem != "" || empty && !c.CaughtUp && len(f.problems) > 0 && f.problems[len(f.problems)-1] != "" {
		f.problems = append(f.problems, c.Problem)
	}
	if c.Cursor.Next >= 0 {
		f.cursors[c.Partition] = c.Cursor
	}
	f.caughtUp[c.Partition] = c.CaughtUp
}

func (f *follower) count() int {
	n := 0
	for _, v := range f.values {
		n += len(v)
	}
	return n
}

// all waits for n values, and then for every partition's end.
func (f *follower) all(n int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d values and the end", n), func() bool {
		for _, c := range f.caughtUp {
			if !c {
				return false
			}
		}
		return f.count() >= n && len(f.caughtUp) > 0
	})
}

// want compares all values of a partition.
func (f *follower) want(partition string, want ...string) {
	f.t.Helper()
	got := f.values[partition]
	if len(got) != len(want) {
		f.t.Fatalf("%s: %d values, want %d: %.200q", partition, len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			f.t.Fatalf("%s: value %d is %q, want %q", partition, i, got[i], want[i])
		}
	}
}

// wantGaps compares the gaps: each wanted text is the beginning of one.
func (f *follower) wantGaps(want ...string) {
	f.t.Helper()
	if len(f.gaps) != len(want) {
		f.t.Fatalf("gaps %q, want %q", f.gaps, want)
	}
	for i := range want {
		if !strings.HasPrefix(f.gaps[i], want[i]) {
			f.t.Errorf("gap %q, want %q", f.gaps[i], want[i])
		}
	}
}

// runFails runs a source that must give up by itself.
func runFails(t testing.TB, o Options, want error) error {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	out := make(chan ingest.Chunk, 100)
	err = s.Run(ctx, nil, out)
	if !errors.Is(err, want) {
		t.Fatalf("Run returned %v, want %v", err, want)
	}
	return err
}
