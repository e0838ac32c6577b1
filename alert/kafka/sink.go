// Package kafka writes findings to a Kafka topic.
package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/isowatch/isowatch/alert"
	brokerkafka "github.com/isowatch/isowatch/internal/broker/kafka"
)

// Options say where findings are written.
type Options struct {
	Name   string // the sink's
	Broker brokerkafka.Options
	Topic  string
}

// Sink writes one record a finding: its JSON, under its id. So all revisions of a finding
// are in one partition, and compaction keeps the last. All replicas in sync have
// it before it counts as delivered.
type Sink struct {
	name    string
	cluster *brokerkafka.Cluster
	writer  *kafkago.Writer
}

// New reads the files that the options name; nothing is dialled.
func New(o Options) (*Sink, error) {
	o.Broker.Topics = []string{o.Topic}
	cluster, err := brokerkafka.Open(o.Broker)
	if err != nil {
		return nil, err
	}
	return &Sink{o.Name, cluster, &kafkago.Writer{
		Addr: cluster.Addr, Transport: cluster.Transport, Topic: o.Topic, Balancer: &kafkago.Hash{},
		RequiredAcks: kafkago.RequireAll, BatchTimeout: 5 * time.Millisecond, MaxAttempts: 2,
	}}, nil
}

// Name is the name of the options.
func (s *Sink) Name() string { return s.name }

// Close ends the connections.
func (s *Sink) Close() error {
	err := s.writer.Close()
	s.cluster.Close()
	return err
}

// Deliver implements [alert.Sink].
func (s *Sink) Deliver(ctx context.Context, findings []alert.Delivery) error {
	var records []kafkago.Message
	for i := range findings {
		f := &findings[i].Finding
		records = append(records, kafkago.Message{
			Key: []byte(f.ID), Value: findings[i].JSON,
			Headers: []kafkago.Header{
				{Key: "isowatch-kind", Value: []byte("finding")},
				{Key: "isowatch-revision", Value: []byte(strconv.Itoa(f.Revision))},
			},
		})
	}
	return s.write(ctx, records)
}

// Digest implements [alert.Digester].
func (s *Sink) Digest(ctx context.Context, held []alert.Held) error {
	var records []kafkago.Message
	for i := range held {
		text, err := json.Marshal(map[string]any{"digest": held[i : i+1]})
		if err != nil {
			return fmt.Errorf("digest: %w", err)
		}
		records = append(records, kafkago.Message{
			Key: []byte(held[i].Key), Value: text, Headers: []kafkago.Header{{Key: "isowatch-kind", Value: []byte("digest")}},
		})
	}
	return s.write(ctx, records)
}

func (s *Sink) write(ctx context.Context, records []kafkago.Message) error {
	owner := alert.Headers(ctx)
	for _, name := range slices.Sorted(maps.Keys(owner)) {
		for i := range records {
			records[i].Headers = append(records[i].Headers, kafkago.Header{Key: strings.ToLower(name), Value: []byte(owner[name])})
		}
	}
	err := s.writer.WriteMessages(ctx, records...)
	if err == nil {
		return nil
	}
	if isTooLarge(err) {
		return fmt.Errorf("%w: kafka: %w", alert.ErrRejected, err)
	}
	s.cluster.Reconnect(time.Now())
	if cause := s.cluster.Probe(ctx); cause != nil { // kafka-go says "topic not found" for most of them
		return cause
	}
	return s.cluster.Explain(first(err))
}

func isTooLarge(err error) bool {
	var large kafkago.MessageTooLargeError
	var each kafkago.WriteErrors
	if errors.As(err, &each) {
		for _, e := range each {
			if errors.Is(e, kafkago.MessageSizeTooLarge) {
				return true
			}
		}
	}
	return errors.As(err, &large) || errors.Is(err, kafkago.MessageSizeTooLarge)
}

// first is the first error of several records.
func first(err error) error {
	var each kafkago.WriteErrors
	if errors.As(err, &each) {
		for _, e := range each {
			if e != nil {
				return e
			}
		}
	}
	return err
}
