package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	brokerkafka "github.com/isowatch/isowatch/internal/broker/kafka"
)

func delivery(id string, revision int) alert.Delivery {
	return alert.Delivery{Finding: finding.Finding{ID: id, Revision: revision}, JSON: []byte(`{"id":"` + id + `"}`)}
}

func TestSink(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "findings"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s, err := New(Options{Name: "s", Broker: brokerkafka.Options{Brokers: cluster.ListenAddrs()}, Topic: "findings"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Deliver(ctx, []alert.Delivery{delivery("a", 0), delivery("b", 0), delivery("a", 1)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Digest(alert.WithOwner(ctx, alert.Owner{Member: "m", Term: 7}), []alert.Held{{Key: "p", Findings: 7}, {Key: "q", Findings: 8}}); err != nil {
		t.Fatal(err)
	}
	k, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("findings"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	got := map[string][]*kgo.Record{}
	for n := 0; n < 5; {
		fetches := k.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			got[string(r.Key)] = append(got[string(r.Key)], r)
			n++
		})
	}
	if a := got["a"]; len(a) != 2 || len(a[0].Headers) != 2 || a[0].Partition != a[1].Partition || string(a[0].Value) != `{"id":"a"}` || string(a[1].Headers[1].Value) != "1" {
		t.Errorf("revisions of one finding: %+v", a)
	}
	if p := got["p"]; len(p) != 1 || len(p[0].Headers) != 3 || p[0].Headers[1].Key != "isowatch-member" || string(p[0].Headers[1].Value) != "m" ||
		p[0].Headers[2].Key != "isowatch-term" || string(p[0].Headers[2].Value) != "7" {
		t.Errorf("a member's digest: %+v", p)
	}
	if q := got["q"]; len(q) != 1 || !strings.Contains(string(q[0].Value), `"findings":8`) || string(q[0].Headers[0].Value) != "digest" {
		t.Errorf("digest: %+v", q)
	}
}

// A broker that cannot be reached is told plainly, and is no fault of the content.
func TestNoBroker(t *testing.T) {
	s, err := New(Options{Name: "s", Broker: brokerkafka.Options{Brokers: []string{"127.0.0.1:1"}}, Topic: "findings"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = s.Deliver(ctx, []alert.Delivery{delivery("a", 0)})
	if err == nil || errors.Is(err, alert.ErrRejected) || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "topic not found") {
		t.Errorf("%v", err)
	}
}
