package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// grace is added to the time that the broker may hold a request. A broker that
// hangs costs a reader no more than MaxWait + grace.
const grace = 2 * time.Second

// partitionLog is one partition on the cluster.
type partitionLog struct {
	cluster *broker.Cluster
	topic   string
	id      int32
	maxWait time.Duration
}

// fetchSpec is the request of fetch.
type fetchSpec struct {
	from      int64
	maxBytes  int32
	isolation kafkago.IsolationLevel
	maxWait   time.Duration
}

// fetch returns the answer for this partition, its error code turned into an
// error of kafka-go.
func (l *partitionLog) fetch(ctx context.Context, f fetchSpec) (*fetch.ResponsePartition, error) {
	ctx, cancel := context.WithTimeout(ctx, f.maxWait+grace)
	defer cancel()
	m, err := l.cluster.Transport.RoundTrip(ctx, l.cluster.Addr, &fetch.Request{
		ReplicaID:      -1,
		MaxWaitTime:    int32(f.maxWait.Milliseconds()),
		MinBytes:       1,
		MaxBytes:       f.maxBytes,
		IsolationLevel: int8(f.isolation),
		SessionID:      -1,
		SessionEpoch:   -1,
		Topics: []fetch.RequestTopic{{Topic: l.topic, Partitions: []fetch.RequestPartition{{
			Partition:          l.id,
			CurrentLeaderEpoch: -1,
			FetchOffset:        f.from,
			LogStartOffset:     -1,
			PartitionMaxBytes:  f.maxBytes,
		}}}},
	})
	if err != nil {
		return nil, err
	}
	res, ok := m.(*fetch.Response)
	if !ok {
		return nil, fmt.Errorf("fetch was answered with %T", m)
	}
	if res.ErrorCode != 0 {
		return nil, kafkago.Error(res.ErrorCode)
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetch was answered without the partition")
	}
	p := &res.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return nil, kafkago.Error(p.ErrorCode)
	}
	return p, nil
}

// bounds are the first offset of the partition and the one after its last.
func (l *partitionLog) bounds(ctx context.Context) (first, end int64, err error) {
	p, err := l.offsets(ctx, kafkago.FirstOffsetOf(int(l.id)), kafkago.LastOffsetOf(int(l.id)))
	return p.FirstOffset, p.LastOffset, err
}

// since is the first offset whose record is not older than t, or the end.
func (l *partitionLog) since(ctx context.Context, t time.Time) (int64, error) {
	p, err := l.offsets(ctx, kafkago.TimeOffsetOf(int(l.id), t))
	if err != nil {
		return 0, err
	}
	for offset := range p.Offsets { // one query, one entry
		if offset >= 0 {
			return offset, nil
		}
	}
	_, end, err := l.bounds(ctx)
	return end, err
}

func (l *partitionLog) offsets(ctx context.Context, queries ...kafkago.OffsetRequest) (kafkago.PartitionOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	res, err := l.cluster.Client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics: map[string][]kafkago.OffsetRequest{l.topic: queries},
	})
	if err != nil {
		return kafkago.PartitionOffsets{}, err
	}
	for _, p := range res.Topics[l.topic] {
		if p.Partition == int(l.id) {
			return p, p.Error
		}
	}
	return kafkago.PartitionOffsets{}, errors.New("the broker listed no offsets of the partition")
}

// dense tells whether every offset of the topic holds a record or a marker:
// its cleanup.policy does not hold "compact".
func (l *partitionLog) dense(ctx context.Context) (bool, error) {
	const policy = "cleanup.policy"
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	res, err := l.cluster.Client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
		Resources: []kafkago.DescribeConfigRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic,
			ResourceName: l.topic,
			ConfigNames:  []string{policy},
		}},
	})
	if err != nil {
		return false, err
	}
	for _, r := range res.Resources {
		if r.Error != nil {
			return false, r.Error
		}
		for _, e := range r.ConfigEntries {
			if e.ConfigName == policy {
				return !strings.Contains(e.ConfigValue, "compact"), nil
			}
		}
	}
	return false, fmt.Errorf("the broker did not tell the %s of topic %s", policy, l.topic)
}

// same tells whether the record that i names is still what it was. known is
// false when the log no longer shows it.
func (l *partitionLog) same(ctx context.Context, i identity) (same, known bool, err error) {
	const oneBatch = 1 // bytes: a broker always returns a whole batch
	res, err := l.fetch(ctx, fetchSpec{from: i.offset, maxBytes: oneBatch, isolation: kafkago.ReadUncommitted})
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	r := reading{from: i.offset, next: i.offset, holes: true}
	if err := r.read(res.RecordSet, nil); err != nil {
		return false, false, err
	}
	for _, run := range r.runs {
		for _, m := range run.messages {
			if m.Offset == i.offset {
				return identify(m) == i, true, nil
			}
		}
	}
	return false, false, nil
}

// retriable tells errors that a fresh layout of the cluster may mend.
func retriable(err error) bool {
	var code kafkago.Error
	if errors.Is(err, errHeld) {
		return false
	}
	if !errors.As(err, &code) {
		return true // the connection, a deadline, or a layout that lacks the topic
	}
	switch code {
	case kafkago.UnknownTopicOrPartition, kafkago.LeaderNotAvailable, kafkago.NotLeaderForPartition,
		kafkago.RequestTimedOut, kafkago.BrokerNotAvailable, kafkago.ReplicaNotAvailable, kafkago.NetworkException:
		return true
	}
	return code.Temporary()
}

// lacksTopic tells the error that kafka-go gives for a missing topic, for a
// refused login and for a dead broker alike.
func lacksTopic(err error) bool {
	return errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) ||
		errors.Is(err, protocol.ErrNoLeader)
}
