package app

import (
	"context"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/probe/publisher"
)

// OpenPublisher opens what records are written to: the stream, on a subject that the input reads, or the first topic that an
// input names. Exactly one of its brokers is set.
func OpenPublisher(ctx context.Context, in config.Input) (publisher.Writer, error) {
	if in.NATS != nil {
		o := natsBroker(in.NATS)
		o.Name = "isowatch workload"
		return publisher.NATS(ctx, o, in.NATS.Stream, in.NATS.Subjects...)
	}
	return publisher.Kafka(ctx, kafkaBroker(in.Kafka), in.Kafka.Topics[0])
}
