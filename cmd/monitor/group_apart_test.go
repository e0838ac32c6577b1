package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupUnitsAreApart: while nobody runs, the broker drops records that the state of one unit has not, and another unit gets what is no
// record. A gap in the first names what was dropped. The other sources have the findings, and the texts, of one monitor that nobody
// disturbed.
func TestGroupUnitsAreApart(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 3_000, 250)
	const first, dropped = 100, 150 // messages
	alone := newGroupRun(t, records, kafkaGroup, "")
	alone.start(t, "alone")
	alone.publish(t.Context(), t, time.Second)
	history := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := groupSources * len(checkedIDs(t, history))
	alone.await(t, "all findings of one monitor", func() bool { return len(alone.texts()) >= planted })
	alone.settle(t, nil)
	want := map[string]string{} // of s2
	for id, text := range alone.texts() {
		if strings.HasPrefix(id, "s2 ") {
			want[id] = text
		}
	}

	r := newGroupRun(t, records[:first], kafkaGroup, "file")
	r.start(t, "a")
	r.publish(t.Context(), t, 2*time.Second)
	r.await(t, "findings of each unit", func() bool { return len(r.texts()) >= groupSources })
	a := r.members[0]
	a.signal(t, syscall.SIGTERM)
	if err := a.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	r.records = records[first:dropped]
	r.publish(t.Context(), t, 0)
	dropRecords(t, r.input.addresses, "g0", dropped)
	if err := r.input.publish(t.Context(), 1, []byte("no record")); err != nil {
		t.Fatal(err)
	}
	r.start(t, "b")
	r.records = records[dropped:]
	r.publish(t.Context(), t, time.Second)
	r.await(t, "a gap", func() bool { return r.gaps(`"source":"s0"`) > 0 })
	r.await(t, "a dead letter", func() bool { return r.members[1].logged("bad record") > 0 })
	r.settle(t, want)
	r.settle(t, nil)

	out, err := r.monitor("findings", "--group-state", r.state.url(nil), "--output", "jsonl", "--dead-letters")
	if err != nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), `"kafka:g1/0/150"`) {
		t.Errorf("the dead letters of the group are (%v): %.1000s", err, out)
	}
	sources := map[string]int{}
	for id, text := range r.texts() {
		var f struct {
			Anomaly string
			Gap     json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		source, _, _ := strings.Cut(id, " ")
		switch sources[source]++; {
		case f.Anomaly == "gap" && source != "s0":
			t.Errorf("the gap of another unit is told of %s: %s", source, text)
		case source == "s2" && text != want[id]:
			t.Errorf("%s: the text differs:\n%.300s\nwant\n%.300s", id, text, want[id])
		}
	}
	if sources["s2"] != len(want) || sources["s1"] == 0 {
		t.Errorf("s2 has %d findings, want %d, and s1 has %d", sources["s2"], len(want), sources["s1"])
	}
	if n := r.gaps(`"first_position":"kafka:g0/0/100"`); n != 1 {
		t.Errorf("%d gaps name what was dropped", n)
	}
}

// dropRecords has the broker drop the records of the topic's partition before one.
func dropRecords(t *testing.T, addresses []string, topic string, before int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis = 10_000
	partition := kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Offset = before
	of := kmsg.NewDeleteRecordsRequestTopic()
	of.Topic, of.Partitions = topic, append(of.Partitions, partition)
	request.Topics = append(request.Topics, of)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := request.RequestWith(ctx, client)
	if err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("records cannot be dropped: %v, %+v", err, answer)
	}
}
