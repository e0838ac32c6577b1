package kafka

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOffsets: a tool that shows the lag of consumer groups sees what was committed last.
func TestOffsets(t *testing.T) {
	c := fake(t, kfake.SeedTopics(2, "t"))
	o, err := NewOffsets(options("t", c.ListenAddrs()...).Broker, []string{"t"}, "isowatch-g")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, next := range []map[string]int64{{"kafka:t/0": 3, "kafka:t/1": -1}, {}, {"kafka:t/0": 7, "kafka:t/1": 2, "nats:S": 9, "kafka:": 1}} {
		if err := o.Commit(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = "isowatch-g"
	answer, err := request.RequestWith(t.Context(), client(t, c))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int32]int64{}
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			got[p.Partition] = p.Offset
		}
	}
	for _, group := range answer.Groups {
		for _, topic := range group.Topics {
			for _, p := range topic.Partitions {
				got[p.Partition] = p.Offset
			}
		}
	}
	if want := map[int32]int64{0: 7, 1: 2}; !maps.Equal(got, want) {
		t.Errorf("the consumer group is at %v, want %v", got, want)
	}
	if err := o.Commit(t.Context(), map[string]int64{"kafka:none/0": 1}); err == nil {
		t.Error("a topic that does not exist has a position")
	}
}
