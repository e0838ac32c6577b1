package kafka

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/isowatch/isowatch/ingest"
)

// TestReadsOnePartition: a source of one partition names and reads no other. A trouble of the whole topic is told for it.
func TestReadsOnePartition(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(3, "t"))
	k := client(t, c)
	for p := range int32(3) {
		for _, value := range numbered(PartitionName("t", int(p)), 20) { // a batch each
			put(t, k, "t", p, value)
		}
	}
	found, err := Partitions(t.Context(), options("t", c.ListenAddrs()...).Broker, []string{"t"})
	if err != nil || !maps.Equal(found, map[string]int{"t": 3}) {
		t.Fatalf("partitions %v (%v)", found, err)
	}
	if found, err := Partitions(t.Context(), options("t", c.ListenAddrs()...).Broker, []string{"t", "none"}); err == nil || found["t"] != 3 {
		t.Errorf("partitions %v (%v)", found, err)
	}
	o := options("t", c.ListenAddrs()...)
	o.Partitions, o.MaxBytes = []int{2}, 100 // a message or two a chunk
	f := follow(t, o, nil)
	f.all(20)
	f.want("kafka:t/2", numbered(PartitionName("t", 2), 20)...)
	f.stop()
	if len(f.chunks) < 5 {
		t.Errorf("only %d chunks", len(f.chunks))
	}
	for _, chunk := range f.chunks {
		if want := 20 - max(chunk.Cursor.Next, 0); chunk.Behind != want && chunk.Cursor.Next > 0 {
			t.Errorf("%d messages follow offset %d, want %d", chunk.Behind, chunk.Cursor.Next, want)
		}
	}
	if len(f.cursors) != 1 {
		t.Errorf("cursors of %v", f.cursors)
	}

	missing := options("none", c.ListenAddrs()...)
	missing.Partitions = []int{2}
	g := follow(t, missing, nil)
	g.until("the trouble", func() bool { return len(g.problems) > 0 })
	g.stop()
	for _, chunk := range g.chunks {
		if chunk.Partition != "kafka:none/2" {
			t.Errorf("%s is told of", chunk.Partition)
		}
	}

	// The topic was made again with fewer partitions: what the reader of the third one has is lost, and that is told.
	fewer := fake(t, kfake.SeedTopics(2, "t"))
	o = options("t", fewer.ListenAddrs()...)
	o.Partitions = []int{2}
	h := follow(t, o, map[string]ingest.Cursor{"kafka:t/2": {Next: 20}})
	h.until("the gap", func() bool { return len(h.gaps) > 0 })
	h.stop()
}
