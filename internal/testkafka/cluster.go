package testkafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/segmentio/kafka-go"
)

// Cluster is several brokers that replicate every topic to all. Each is also a
// voter of the controllers' quorum, so that most of them must be up.
type Cluster []*Broker

// LaunchCluster starts n brokers and blocks until all of them serve. What was
// started is returned with an error too.
func LaunchCluster(ctx context.Context, c Config, n int) (Cluster, error) {
	list := make(Cluster, n)
	voters := make([]string, n)
	for i := range list {
		one := c
		one.Dir = filepath.Join(c.Dir, fmt.Sprint("node", i+1))
		if err := os.MkdirAll(one.Dir, 0o755); err != nil {
			return nil, err
		}
		b, err := prepare(ctx, one)
		if err != nil {
			return nil, err
		}
		list[i] = b
		voters[i] = fmt.Sprintf("%d@%s", i+1, local(b.ports.ControllerPort))
	}
	extra := map[string]string{
		"controller.quorum.voters":                 strings.Join(voters, ","),
		"default.replication.factor":               fmt.Sprint(n),
		"min.insync.replicas":                      fmt.Sprint(n/2 + 1),
		"offsets.topic.replication.factor":         fmt.Sprint(n),
		"transaction.state.log.replication.factor": fmt.Sprint(n),
		"transaction.state.log.min.isr":            fmt.Sprint(n/2 + 1),
		"controller.quorum.fetch.timeout.ms":       "1500",
		"controller.quorum.election.timeout.ms":    "500",
		// A broker that was killed is let in when its old session has ended. On a
		// machine that is busy with other tests, one below 3 s ends without cause.
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
	}
	failed := make([]error, n)
	var starting sync.WaitGroup
	for i, b := range list {
		mine := maps.Clone(extra)
		mine["node.id"] = fmt.Sprint(i + 1)
		maps.Copy(mine, c.Properties)
		starting.Go(func() {
			if failed[i] = b.configure(mine); failed[i] == nil {
				failed[i] = b.format(ctx)
			}
			if failed[i] == nil { // alone it has no controller, and does not serve
				failed[i] = b.Start(ctx)
			}
		})
	}
	starting.Wait()
	return list, errors.Join(failed...)
}

// ClusterForTest launches n brokers that end with the test, as [ForTest] does one.
func ClusterForTest(t testing.TB, c Config, n int) Cluster {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	list, err := LaunchCluster(context.Background(), c, n)
	for _, b := range list {
		t.Cleanup(b.Kill)
	}
	mustRun(t, err)
	return list
}

// Addrs are the brokers' listeners without TLS and login.
func (c Cluster) Addrs() []string {
	addrs := make([]string, len(c))
	for i, b := range c {
		addrs[i] = b.Addr()
	}
	return addrs
}

// Leader is the broker that leads a partition, asked of the others in turn.
func (c Cluster) Leader(ctx context.Context, topic string, partition int) (*Broker, error) {
	err := errors.New("no broker runs")
	for _, b := range c {
		if b.process == nil {
			continue
		}
		var leader *Broker
		err = b.admin(ctx, func(ctx context.Context, k *kafka.Client) error {
			m, err := k.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
			if err != nil {
				return err
			}
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					if p.ID == partition && p.Error == nil && p.Leader.ID >= 1 && p.Leader.ID <= len(c) {
						leader = c[p.Leader.ID-1]
					}
				}
			}
			return nil
		})
		if leader != nil {
			return leader, nil
		}
	}
	return nil, fmt.Errorf("partition %d of %s has no leader: %w", partition, topic, err)
}
