package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	kafkago "github.com/segmentio/kafka-go"

	broker "github.com/isowatch/isowatch/internal/broker/kafka"
)

// Offsets commits positions to a consumer group, for tools that show its lag. Nothing is read from there.
type Offsets struct {
	group   string
	cluster *broker.Cluster
	told    map[string]int64 // by partition
}

// NewOffsets dials nothing yet.
func NewOffsets(o broker.Options, topics []string, group string) (*Offsets, error) {
	o.Topics = topics
	cluster, err := broker.Open(o)
	if err != nil {
		return nil, err
	}
	return &Offsets{group: group, cluster: cluster, told: map[string]int64{}}, nil
}

// Close ends the connections.
func (o *Offsets) Close() { o.cluster.Close() }

// Commit tells the positions that have changed: by the name of the partition, the offset that is read next. Other names are passed over.
func (o *Offsets) Commit(ctx context.Context, next map[string]int64) error {
	topics := map[string][]kafkago.OffsetCommit{}
	for name, offset := range next {
		at := strings.LastIndexByte(name, '/')
		topic, ok := strings.CutPrefix(name[:max(at, 0)], "kafka:")
		partition, err := strconv.Atoi(name[at+1:])
		if was, told := o.told[name]; !ok || err != nil || offset < 0 || told && was == offset {
			continue
		}
		topics[topic] = append(topics[topic], kafkago.OffsetCommit{Partition: partition, Offset: offset, Metadata: "isowatch"})
	}
	if len(topics) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	// A reader outside of the consumer group commits without a generation and a member.
	res, err := o.cluster.Client.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{GroupID: o.group, GenerationID: -1, Topics: topics})
	if err != nil {
		return o.cluster.Explain(err)
	}
	var faults []error
	for topic, partitions := range res.Topics {
		for _, p := range partitions {
			if name := PartitionName(topic, p.Partition); p.Error != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, p.Error))
			} else {
				o.told[name] = next[name]
			}
		}
	}
	return errors.Join(faults...)
}
