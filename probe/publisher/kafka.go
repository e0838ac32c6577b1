package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	brokerkafka "github.com/isowatch/isowatch/internal/broker/kafka"
)

// topic is a Kafka topic.
type topic struct {
	cluster *brokerkafka.Cluster
	writer  *kafkago.Writer
}

// Kafka writes to a topic that is there: records of one key to one partition. It returns
// when the cluster has answered, or ctx ends.
func Kafka(ctx context.Context, o brokerkafka.Options, name string) (Writer, error) {
	o.Topics = []string{name}
	cluster, err := brokerkafka.Open(o)
	if err != nil {
		return nil, err
	}
	if err := hasTopic(ctx, cluster, name); err != nil {
		cluster.Close()
		return nil, err
	}
	return &topic{cluster, &kafkago.Writer{
		Addr: cluster.Addr, Transport: cluster.Transport, Topic: name, Balancer: &kafkago.Hash{},
		RequiredAcks: kafkago.RequireAll, BatchTimeout: 5 * time.Millisecond,
	}}, nil
}

func hasTopic(ctx context.Context, cluster *brokerkafka.Cluster, name string) error {
	if err := cluster.Probe(ctx); err != nil {
		return err
	}
	res, err := cluster.Client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{name}})
	if err != nil {
		return cluster.Explain(err)
	}
	for _, t := range res.Topics {
		switch {
		case t.Name != name:
		case errors.Is(t.Error, kafkago.UnknownTopicOrPartition):
			return fmt.Errorf("kafka: there is no topic %s: make it first", name)
		case t.Error != nil:
			return cluster.Explain(fmt.Errorf("topic %s: %w", name, t.Error))
		default:
			return nil
		}
	}
	return fmt.Errorf("kafka: there is no topic %s: make it first", name)
}

// Write returns when all replicas in sync have the record.
func (w *topic) Write(ctx context.Context, key, id string, record []byte) error {
	err := w.writer.WriteMessages(ctx, kafkago.Message{
		Key: []byte(key), Value: append([]byte(nil), record...), Headers: []kafkago.Header{{Key: "isowatch-id", Value: []byte(id)}},
	})
	return w.cluster.Explain(err)
}

func (w *topic) Close(context.Context) error {
	err := w.writer.Close()
	w.cluster.Close()
	return err
}
