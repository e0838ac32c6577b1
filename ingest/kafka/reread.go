package kafka

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/ingest"
	broker "github.com/isowatch/isowatch/internal/broker/kafka"
	kafkago "github.com/segmentio/kafka-go"
)

var _ ingest.Rereader = (*Source)(nil)

// Reread implements [ingest.Rereader]. It connects to the cluster for each message.
func (s *Source) Reread(ctx context.Context, partition string, offset int64) ([]byte, error) {
	name, isKafka := strings.CutPrefix(partition, "kafka:")
	at := strings.LastIndexByte(name, '/')
	id, err := strconv.ParseInt(name[at+1:], 10, 32)
	if !isKafka || at < 0 || err != nil || offset < 0 || !slices.Contains(s.opts.Topics, name[:at]) {
		return nil, ingest.ErrNotHere
	}
	cluster, err := broker.Open(s.opts.Broker)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	const oneBatch = 1 // bytes: a broker always returns a whole batch
	log := partitionLog{cluster: cluster, topic: name[:at], id: int32(id)}
	res, err := log.fetch(ctx, fetchSpec{from: offset, maxBytes: oneBatch, isolation: kafkago.ReadCommitted, maxWait: firstWait})
	if err != nil {
		return nil, cluster.Explain(err)
	}
	r := reading{from: offset, next: offset, holes: true}
	if err := r.read(res.RecordSet, res.AbortedTransactions); err != nil {
		return nil, err
	}
	for _, run := range r.runs {
		for _, m := range run.messages {
			if m.Offset == offset {
				return m.Value, nil
			}
		}
	}
	return nil, ingest.ErrNotHere
}
