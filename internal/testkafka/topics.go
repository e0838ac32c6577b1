package testkafka

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// serves tells whether the broker answers for its own cluster.
func (b *Broker) serves(ctx context.Context) error {
	return b.admin(ctx, func(ctx context.Context, c *kafka.Client) error {
		m, err := c.Metadata(ctx, &kafka.MetadataRequest{})
		if err == nil && len(m.Brokers) == 0 {
			err = kafka.BrokerNotAvailable
		}
		return err
	})
}

// admin runs f on a client of its own, so that no cached layout is in the way.
func (b *Broker) admin(ctx context.Context, f func(context.Context, *kafka.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t := &kafka.Transport{DialTimeout: 2 * time.Second}
	defer t.CloseIdleConnections()
	return f(ctx, &kafka.Client{Addr: kafka.TCP(b.Addr()), Transport: t})
}

// CreateTopic makes a topic and returns when the broker shows it. config holds
// the topic's own settings, such as cleanup.policy.
func (b *Broker) CreateTopic(ctx context.Context, name string, partitions int, config map[string]string) error {
	entries := make([]kafka.ConfigEntry, 0, len(config))
	for k, v := range config {
		entries = append(entries, kafka.ConfigEntry{ConfigName: k, ConfigValue: v})
	}
	return b.admin(ctx, func(ctx context.Context, c *kafka.Client) error {
		res, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
			Topic: name, NumPartitions: partitions, ReplicationFactor: -1, ConfigEntries: entries, // the broker's default
		}}})
		if err == nil {
			err = res.Errors[name]
		}
		if err != nil {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
		return nil
	})
}

// DeleteTopic deletes a topic and all its records.
func (b *Broker) DeleteTopic(ctx context.Context, name string) error {
	return b.admin(ctx, func(ctx context.Context, c *kafka.Client) error {
		res, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
		if err == nil {
			err = res.Errors[name]
		}
		if err != nil {
			return fmt.Errorf("delete topic %s: %w", name, err)
		}
		return nil
	})
}
