//go:build integration

package testkafka

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// write sends values to partition 0 and returns when the broker holds them.
func write(t *testing.T, b *Broker, topic string, values ...string) {
	t.Helper()
	w := &kafka.Writer{Addr: kafka.TCP(b.Addr()), Topic: topic, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond}
	defer w.Close()
	for _, v := range values {
		if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
}

// end is the offset behind the last record of partition 0.
func end(t *testing.T, b *Broker, topic string) int64 {
	t.Helper()
	var got int64
	err := b.admin(t.Context(), func(ctx context.Context, c *kafka.Client) error {
		res, err := c.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0)}}})
		if err == nil {
			got = res.Topics[topic][0].LastOffset
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestKillAndStopKeepTheRecords(t *testing.T) {
	b := ForTest(t, Config{Heap: "128m"})
	if err := b.CreateTopic(t.Context(), "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	for i, down := range []func(){b.Kill, b.Stop} {
		write(t, b, "t", fmt.Sprint("value ", i))
		down()
		if err := b.serves(t.Context()); err == nil {
			t.Fatal("the broker still serves")
		}
		began := time.Now()
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("restart took %v", time.Since(began).Round(time.Millisecond))
		if got := end(t, b, "t"); got != int64(i+1) {
			t.Errorf("the topic ends at %d, want %d", got, i+1)
		}
	}
	if err := b.Start(t.Context()); err == nil {
		t.Error("a running broker was started again")
	}
	if err := b.CreateTopic(t.Context(), "t", 1, nil); !errors.Is(err, kafka.TopicAlreadyExists) {
		t.Errorf("second creation: %v", err)
	}
	if err := b.DeleteTopic(t.Context(), "t"); err != nil {
		t.Error(err)
	}
	if err := b.DeleteTopic(t.Context(), "t"); !errors.Is(err, kafka.UnknownTopicOrPartition) {
		t.Errorf("second deletion: %v", err)
	}
}

func TestBadConfigurationIsTold(t *testing.T) {
	ForTest(t, Config{Heap: "128m"}) // skips without java
	_, err := Launch(t.Context(), Config{Dir: t.TempDir(), Properties: map[string]string{"process.roles": "nonsense"}})
	if err == nil {
		t.Fatal("a broker with a bad configuration started")
	}
	t.Log(err)
}
