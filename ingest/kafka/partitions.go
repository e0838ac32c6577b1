package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	broker "github.com/isowatch/isowatch/internal/broker/kafka"
)

// Partitions says how many partitions each topic has. Topics that exist are in the answer even if the error says that others
// do not.
func Partitions(ctx context.Context, o broker.Options, topics []string) (map[string]int, error) {
	o.Topics = topics
	cluster, err := broker.Open(o)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	res, err := cluster.Client.Metadata(ctx, &kafkago.MetadataRequest{Topics: topics})
	if err != nil {
		return nil, cluster.Explain(err)
	}
	found := map[string]int{}
	var faults []error
	for _, t := range res.Topics {
		if t.Error != nil {
			faults = append(faults, fmt.Errorf("kafka: topic %s: %w", t.Name, t.Error))
		} else {
			found[t.Name] = len(t.Partitions)
		}
	}
	return found, errors.Join(faults...)
}
