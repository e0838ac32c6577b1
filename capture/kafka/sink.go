// Package kafka writes the records of package capture to a Kafka topic.
package kafka

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/internal/message"
)

// DefaultMaxMessage is how many bytes of records one message holds at most: brokers
// take 1 MB with all that is around them, if nobody changed that.
const DefaultMaxMessage = 900 << 10

// Options say where records are written.
type Options struct {
	Brokers []string // host:port of some of them
	Topic   string
	// Transport holds TLS and SASL; nil: neither.
	Transport *kafkago.Transport
	// Key of the messages, by which Kafka chooses the partition. "": a key of the sink's own.
	// Then the records of a process stay in order in one partition, and processes spread over
	// all partitions.
	Key         string
	Compression kafkago.Compression // 0: none
	MaxMessage  int                 // bytes; 0: DefaultMaxMessage
}

// Sink writes batches of records, several a message. All replicas in sync have a
// message before it counts as delivered.
type Sink struct {
	writer    *kafkago.Writer
	transport *kafkago.Transport
	key       []byte
	limit     int
}

var _ capture.Sink = (*Sink)(nil)

// New makes a sink; nothing is dialled yet. Until the brokers can be reached the
// recorder goes on trying.
func New(o Options) (*Sink, error) {
	switch {
	case len(o.Brokers) == 0:
		return nil, errors.New("capture: kafka: no brokers are named")
	case o.Topic == "":
		return nil, errors.New("capture: kafka: no topic is named")
	}
	transport := cmp.Or(o.Transport, &kafkago.Transport{})
	limit := cmp.Or(o.MaxMessage, DefaultMaxMessage)
	return &Sink{
		writer: &kafkago.Writer{
			Addr: kafkago.TCP(o.Brokers...), Topic: o.Topic, Transport: transport, Balancer: &kafkago.Hash{},
			RequiredAcks: kafkago.RequireAll, Compression: o.Compression,
			BatchSize: 1, BatchBytes: int64(limit) + 16<<10, BatchTimeout: time.Millisecond, MaxAttempts: 1,
		},
		transport: transport, key: []byte(cmp.Or(o.Key, rand.Text())), limit: limit,
	}, nil
}

// Write writes lines and waits until the brokers have them.
func (s *Sink) Write(ctx context.Context, lines [][]byte) error {
	return message.Deliver(lines, s.limit, func(m []byte) error {
		err := s.writer.WriteMessages(ctx, kafkago.Message{Key: s.key, Value: m})
		if err != nil {
			return fmt.Errorf("capture: kafka: topic %s: %w", s.writer.Topic, cause(err))
		}
		return nil
	}, tooLarge)
}

// cause is the error of the one message.
func cause(err error) error {
	var each kafkago.WriteErrors
	if errors.As(err, &each) && len(each) == 1 && each[0] != nil {
		return each[0]
	}
	return err
}

func tooLarge(err error) bool {
	var large kafkago.MessageTooLargeError
	return errors.As(err, &large) || errors.Is(err, kafkago.MessageSizeTooLarge)
}

// Close ends the connections.
func (s *Sink) Close() error {
	err := s.writer.Close()
	s.transport.CloseIdleConnections()
	return err
}
