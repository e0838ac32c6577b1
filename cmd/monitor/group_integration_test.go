//go:build integration

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/segmentio/kafka-go"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/isowatch/isowatch/internal/testnats"
)

// leaderPatience is for an election on a busy machine.
const leaderPatience = time.Minute

func init() {
	realKafka = func(t *testing.T, partitions int, topics ...string) string {
		t.Helper()
		broker := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
		for _, topic := range topics {
			tryUntilDone(t, "topic", func() error { return broker.CreateTopic(t.Context(), topic, partitions, nil) })
		}
		return broker.Addr()
	}
	groupClusters["nats"] = threeServers
	groupClusters["kafka partitions"] = threeBrokers
}

// threeBrokers are a cluster of Kafka. Each of them leads a partition, and all hold it.
func threeBrokers(t *testing.T) groupBroker {
	c := testkafka.ClusterForTest(t, testkafka.Config{Heap: "128m"}, 3)
	return func(t *testing.T) groupInput {
		if err := c[0].DeleteTopic(t.Context(), "g"); err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
			t.Fatal(err)
		}
		tryUntilDone(t, "topic", func() error { return c[0].CreateTopic(t.Context(), "g", groupSources, nil) })
		in := kafkaPartitions(t, c.Addrs())
		in.lead = func(t *testing.T, rng *rand.Rand, unit int) {
			before := leaderOf(t, c, unit, nil)
			end, how := before.Kill, "killed"
			if rng.IntN(2) == 0 {
				end, how = before.Stop, "ended"
			}
			began := time.Now()
			end()
			leaderOf(t, c, unit, before)
			t.Logf("the leader of unit %d is %s: another one leads after %v", unit, how, time.Since(began).Round(time.Millisecond))
			if err := before.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return in
	}
}

// leaderOf waits for a leader that is not this one.
func leaderOf(t *testing.T, c testkafka.Cluster, unit int, not *testkafka.Broker) (leader *testkafka.Broker) {
	t.Helper()
	tryUntilDone(t, "leader", func() (err error) {
		if leader, err = c.Leader(t.Context(), "g", unit); err == nil && leader == not {
			err = errors.New("the same one leads")
		}
		return err
	})
	return leader
}

func tryUntilDone(t *testing.T, what string, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(leaderPatience); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s: %v", what, err)
		}
	}
}

// natsServers are a cluster of NATS, and a connection to it.
type natsServers struct {
	testnats.Cluster
	js jetstream.JetStream
}

// threeServers are a cluster of NATS. All hold the stream, and the buckets of the group.
func threeServers(t *testing.T) groupBroker {
	program, err := testnats.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := testnats.NewCluster(t.Context(), program, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c {
		s.Args = append(s.Args, "--no_advertise") // clients go through the proxies that they are told
	}
	t.Cleanup(c.Kill)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := brokernats.Connect(brokernats.Options{URLs: c.URLs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	servers := natsServers{c, js}
	return servers.input
}

func (c natsServers) input(t *testing.T) groupInput {
	for _, stream := range []string{"G", "KV_GROUP", "OBJ_GROUP_objects"} {
		tryUntilDone(t, "end of "+stream, func() error {
			if err := c.js.DeleteStream(t.Context(), stream); !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			return nil
		})
	}
	tryUntilDone(t, "stream", func() error {
		_, err := c.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "G", Subjects: []string{"g.>"}, Replicas: 3})
		return err
	})
	var addresses []string
	for _, url := range c.URLs() {
		addresses = append(addresses, strings.TrimPrefix(url, "nats://"))
	}
	return groupInput{
		addresses: addresses, together: true, text: natsSettings, publish: c.publisher(),
		lead: func(t *testing.T, rng *rand.Rand, _ int) { c.lead(t, rng, "G") },
		state: &groupState{
			addresses: addresses,
			url:       func(a []string) string { return "nats://" + strings.Join(a, ",") + "/GROUP?replicas=3" },
			lead: func(t *testing.T, rng *rand.Rand) {
				c.lead(t, rng, []string{"KV_GROUP", "KV_GROUP", "OBJ_GROUP_objects"}[rng.IntN(3)])
			},
		},
	}
}

// publisher publishes each message until a server answers. The stream drops what comes twice.
func (c natsServers) publisher() func(ctx context.Context, unit int, data []byte) error {
	published := make([]int, groupSources)
	return func(ctx context.Context, unit int, data []byte) error {
		published[unit]++
		for {
			trying, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err := c.js.Publish(trying, fmt.Sprintf("g.%d", unit), data, jetstream.WithMsgID(fmt.Sprintf("%d of g.%d", published[unit], unit)))
			cancel()
			if err == nil || ctx.Err() != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// lead kills the server that leads the stream, or has it step down, until another one leads.
func (c natsServers) lead(t *testing.T, rng *rand.Rand, stream string) {
	before := c.leaderOf(t, stream, "")
	began, how := time.Now(), "steps down"
	if rng.IntN(2) == 0 {
		how = "is killed"
		if err := c.Named(before).Kill(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Named(before).Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}()
	} else if answer, err := c.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, nats.DefaultTimeout); err != nil || strings.Contains(string(answer.Data), "error") {
		t.Fatalf("no step down: %v", err)
	}
	c.leaderOf(t, stream, before)
	t.Logf("the leader of %s %s: another one leads after %v", stream, how, time.Since(began).Round(time.Millisecond))
}

// leaderOf waits for a leader that is not this one.
func (c natsServers) leaderOf(t *testing.T, stream, not string) (leader string) {
	t.Helper()
	tryUntilDone(t, "leader", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := c.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		if i := s.CachedInfo(); i.Cluster != nil {
			leader = i.Cluster.Leader
		}
		if leader == "" || leader == not {
			return fmt.Errorf("%q leads", leader)
		}
		return nil
	})
	return leader
}
