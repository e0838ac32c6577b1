package app

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/window"
)

// natsStream is a server with a stream "S" of subjects s.*, and who writes to it.
func natsStream(t *testing.T) (url string, js jetstream.JetStream) {
	t.Helper()
	e, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s.*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	conn, err := nats.Connect(e.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return e.URL(), js
}

// kafkaTopic is a broker with a topic "t" of so many partitions, and who writes to the
// partitions that records name.
func kafkaTopic(t *testing.T, partitions int32) (addrs []string, client *kgo.Client) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return cluster.ListenAddrs(), client
}

func publish(t *testing.T, js jetstream.JetStream, subject string, records ...string) {
	t.Helper()
	for _, r := range records {
		if _, err := js.Publish(t.Context(), subject, []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayNATS(t *testing.T) {
	url, js := natsStream(t)
	publish(t, js, "s.a", skewApart()...)
	publish(t, js, "s.b", ran("B", 5, 6, ""))
	for _, c := range []struct {
		from, to string
		subject  string
		txns     int64
		outcome  string
	}{
		{"", "", "", 5, window.Violated},
		{"1", "5", "", 4, window.Violated},
		{"2", "", "", 4, window.Unknown},
		{"1", "4", "", 3, window.Unknown},
		{"", "", "s.b", 1, window.Unknown},
		{second(0), second(10), "", 4, window.Violated},
		{second(3), second(10), "", 2, window.Unknown},
		{second(3000), "", "", 1, window.Unknown},
	} {
		r := replayOf()
		r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
		if c.subject != "" {
			r.NATS.Subjects = []string{c.subject}
		}
		r.From, r.To = bound(t, c.from), bound(t, c.to)
		got := replayed(t, r)
		if got.Transactions != c.txns || got.Outcome() != c.outcome || len(got.Gaps) > 0 {
			t.Errorf("from %q to %q: %d transactions, %s, gaps %q; want %d, %s", c.from, c.to, got.Transactions, got.Outcome(), got.Gaps, c.txns, c.outcome)
		}
	}
}

// What was removed from the beginning may belong to the range: nothing is closed
// as ok then.
func TestReplayNATSTrimmed(t *testing.T) {
	url, js := natsStream(t)
	publish(t, js, "s.a", "nonsense", ran("T1", 0, 1, ""), ran("T2", 2, 3, ""))
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
	r.From, r.To, r.Finding, r.Txns = bound(t, second(0)), bound(t, second(10)), "f00d", []string{"T1"}
	if got := replayed(t, r); got.Undecided != "1 bad record" || len(got.Gaps) > 0 {
		t.Errorf("undecided %q, gaps %q", got.Undecided, got.Gaps)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{second(0), ""} {
		r.From = bound(t, from)
		got := replayed(t, r)
		if got.Closed != nil || got.Undecided != "1 piece of the input is lost" || len(got.Gaps) != 1 {
			t.Errorf("from %q: closed %+v, undecided %q, gaps %q", from, got.Closed, got.Undecided, got.Gaps)
		}
	}
	r.From = bound(t, "2")
	if got := replayed(t, r); got.Closed == nil || got.Closed.State != finding.ResolvedOK {
		t.Errorf("closed %+v, undecided %q", got.Closed, got.Undecided)
	}
}

func TestReplayKafka(t *testing.T) {
	addrs, client := kafkaTopic(t, 2)
	for i, record := range skewApart() { // T1, W1 in partition 0, N1, T2 in partition 1
		err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: []byte(record)}).FirstErr()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from, to string
		txns     int64
		outcome  string
	}{
		{"", "", 4, window.Violated},
		{"0:0,1:1", "0:1,1:2", 2, window.Violated},
		{"0:1", "", 3, window.Unknown},
		{"", "1:1", 3, window.Unknown},
		{second(0), second(10), 3, window.Violated},
		{second(0), second(2), 2, window.Unknown},
	} {
		r := replayOf()
		r.Bounded = c.to == "" // a partition that is not read yet holds the window
		r.Kafka = &config.Kafka{Brokers: addrs, Topics: []string{"t"}}
		r.From, r.To = bound(t, c.from), bound(t, c.to)
		got := replayed(t, r)
		if got.Transactions != c.txns || got.Outcome() != c.outcome || len(got.Gaps) > 0 {
			t.Errorf("from %q to %q: %d transactions, %s, gaps %q; want %d, %s", c.from, c.to, got.Transactions, got.Outcome(), got.Gaps, c.txns, c.outcome)
		}
	}
}

// A topic that was not heard of yet is still to be read.
func TestReplayTopicsInTurn(t *testing.T) {
	skew := skewApart()
	first, second := records("kafka:t/0", 0, skew[0]), records("kafka:u/0", 0, skew[3])
	first.CaughtUp, second.CaughtUp = true, true
	r := replayOf()
	r.Kafka = &config.Kafka{Brokers: []string{"k"}, Topics: []string{"t", "u"}}
	p := (&Replay{Config: r}).begin()
	p.inputs = []*replayInput{{
		name: "kafka:", topics: []string{"t", "u"},
		source: &scripted{chunks: []ingest.Chunk{{Partition: "kafka:t/0"}, first, {Partition: "kafka:u/0"}, second}, wait: true},
	}}
	got, err := p.run(t.Context())
	if err != nil || got.Outcome() != window.Violated {
		t.Errorf("%v, %+v", err, got)
	}
	if !p.inputs[0].ended {
		t.Error("the input is not known to be read")
	}
}
