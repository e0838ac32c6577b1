package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
)

// groupInput holds what the members of a test read: a unit for each source.
type groupInput struct {
	addresses []string                                               // of the broker's servers
	together  bool                                                   // the units are one stream, with one order
	spread    bool                                                   // a source has several partitions: its texts depend on their order
	rewrite   bool                                                   // they name their own addresses to clients
	text      func(addresses []string) string                        // in the file of settings
	publish   func(ctx context.Context, unit int, data []byte) error // safe for one goroutine a unit
	// committed are the positions of the consumer group, by unit; nil: there is none.
	committed func(ctx context.Context) (map[int]int64, error)
	state     *groupState                                  // on the same servers; nil: none
	lead      func(t *testing.T, rng *rand.Rand, unit int) // another server leads the unit; nil: there is one
}

// groupBroker gives the input of a run. Nothing is in it.
type groupBroker func(t *testing.T) groupInput

// groupClusters start three servers for some kinds of inputs. There are none without the tag integration.
var groupClusters = map[string]func(t *testing.T) groupBroker{}

// groupInputs are the kinds of inputs.
var groupInputs = map[string]groupBroker{"nats": natsGroup, "nats streams": natsStreamsGroup, "kafka": kafkaGroup, "kafka partitions": kafkaPartitionsGroup, "kafka spread": kafkaSpreadGroup}

func groupServer(t *testing.T) string {
	t.Helper()
	server, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{Dir: t.TempDir(), Port: -1, Stream: "G", Subjects: []string{"g.>"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return strings.TrimPrefix(server.URL(), "nats://")
}

// natsGroup is a stream with a subject for each source.
func natsGroup(t *testing.T) groupInput {
	t.Helper()
	address := groupServer(t)
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return groupInput{
		addresses: []string{address}, together: true, text: natsSettings,
		publish: func(ctx context.Context, unit int, data []byte) error {
			_, err := js.Publish(ctx, fmt.Sprintf("g.%d", unit), data)
			return err
		},
	}
}

// natsStreamsGroup has a whole stream for each source.
func natsStreamsGroup(t *testing.T) groupInput {
	t.Helper()
	in := natsGroup(t)
	conn, err := nats.Connect("nats://" + in.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for i := range groupSources {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: fmt.Sprintf("W%d", i), Subjects: []string{fmt.Sprintf("w.%d.>", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	in.together = false
	in.text = func(addresses []string) string {
		var all []string
		for i := range groupSources {
			all = append(all, fmt.Sprintf("nats: {urls: [%q], stream: W%d}", "nats://"+addresses[0], i))
		}
		return strings.Join(all, "\n  - ")
	}
	in.publish = func(ctx context.Context, unit int, data []byte) error {
		_, err := js.Publish(ctx, fmt.Sprintf("w.%d.x", unit), data)
		return err
	}
	return in
}

func natsSettings(addresses []string) string {
	urls := `"nats://` + strings.Join(addresses, `", "nats://`) + `"`
	return fmt.Sprintf("nats: {urls: [%s], stream: G, subjects: [g.0, g.1, g.2]}", urls)
}

// realKafka starts Apache Kafka with these topics; nil: the test was built without the tag integration, and a simulated
// broker takes its place.
var realKafka func(t *testing.T, partitions int, topics ...string) (address string)

func startKafka(t *testing.T, partitions int, topics ...string) string {
	t.Helper()
	if realKafka != nil {
		return realKafka(t, partitions, topics...)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0]
}

// kafkaGroup is a topic for each source, with one partition: there is one order.
func kafkaGroup(t *testing.T) groupInput {
	t.Helper()
	return kafkaInputOf(t, []string{startKafka(t, 1, "g0", "g1", "g2")}, "topics: [g0, g1, g2]", func(unit int) (string, int32) { return fmt.Sprintf("g%d", unit), 0 })
}

// kafkaSpreadGroup is a topic for each source, with its records spread over three partitions.
func kafkaSpreadGroup(t *testing.T) groupInput {
	t.Helper()
	const partitions = 3
	var sent [groupSources]int32
	in := kafkaInputOf(t, []string{startKafka(t, partitions, "g0", "g1", "g2")}, "topics: [g0, g1, g2]", func(unit int) (string, int32) {
		sent[unit]++
		return fmt.Sprintf("g%d", unit), sent[unit] % partitions
	})
	in.spread, in.committed = true, nil
	return in
}

// kafkaPartitionsGroup is one topic, with a partition for each source.
func kafkaPartitionsGroup(t *testing.T) groupInput {
	t.Helper()
	return kafkaPartitions(t, []string{startKafka(t, groupSources, "g")})
}

func kafkaPartitions(t *testing.T, addresses []string) groupInput {
	t.Helper()
	return kafkaInputOf(t, addresses, "topics: [g], unit: partition", func(unit int) (string, int32) { return "g", int32(unit) })
}

func kafkaInputOf(t *testing.T, addresses []string, settings string, place func(unit int) (topic string, partition int32)) groupInput {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return groupInput{
		addresses: addresses, rewrite: true,
		text: func(addresses []string) string {
			return fmt.Sprintf(`kafka: {brokers: ["%s"], %s}`, strings.Join(addresses, `", "`), settings)
		},
		publish: func(ctx context.Context, unit int, data []byte) error {
			topic, partition := place(unit)
			return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: data}).FirstErr()
		},
		committed: func(ctx context.Context) (map[int]int64, error) {
			request := kmsg.NewPtrOffsetFetchRequest()
			request.Group = "isowatch-g"
			answer, err := request.RequestWith(ctx, client)
			if err != nil {
				return nil, err
			}
			all := map[int]int64{}
			note := func(topic string, partition int32, offset int64) {
				for unit := range groupSources {
					if t, p := place(unit); t == topic && p == partition {
						all[unit] = offset
					}
				}
			}
			for _, x := range answer.Topics {
				for _, p := range x.Partitions {
					note(x.Topic, p.Partition, p.Offset)
				}
			}
			for _, g := range answer.Groups {
				for _, x := range g.Topics {
					for _, p := range x.Partitions {
						note(x.Topic, p.Partition, p.Offset)
					}
				}
			}
			return all, nil
		},
	}
}

// groupState is where a group of a test keeps its state.
type groupState struct {
	addresses []string // of the servers; nil: there are none
	url       func(addresses []string) string
	environ   func(addresses []string) []string
	lead      func(t *testing.T, rng *rand.Rand) // another server leads a bucket; nil: there is one
}

// groupStates are the kinds of stores.
var groupStates = map[string]func(t *testing.T) groupState{
	"file": func(t *testing.T) groupState {
		url := "file://" + t.TempDir()
		return groupState{url: func([]string) string { return url }}
	},
	"nats": func(t *testing.T) groupState {
		return groupState{addresses: []string{groupServer(t)}, url: func(addresses []string) string { return "nats://" + addresses[0] + "/GROUP" }}
	},
	"s3": func(t *testing.T) groupState {
		backend := s3mem.New()
		if err := backend.CreateBucket("bucket"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(backend).Server())
		t.Cleanup(server.Close)
		return groupState{
			addresses: []string{strings.TrimPrefix(server.URL, "http://")},
			url:       func([]string) string { return "s3://bucket/some/group" },
			environ:   func(addresses []string) []string { return s3Environ(addresses[0]) },
		}
	},
}

// s3Environ is the environment of a program that uses the S3 server there.
func s3Environ(address string) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_S3=http://"+address, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
}

// publish sends each message to each unit, in this time at least.
func (r *groupRun) publish(ctx context.Context, t *testing.T, length time.Duration) {
	publishing, cancel := context.WithTimeout(ctx, length+5*time.Minute) // a busy broker is slow
	defer cancel()
	for n, m := range r.records {
		var units sync.WaitGroup
		failed := make([]error, groupSources)
		for i := range groupSources {
			units.Go(func() { failed[i] = r.input.publish(publishing, i, placed(m, i)) })
			if r.input.together { // texts name positions
				units.Wait()
			}
		}
		units.Wait()
		if err := errors.Join(failed...); err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		if n%2 == 0 {
			time.Sleep(length / time.Duration(len(r.records)/2))
		}
	}
}
