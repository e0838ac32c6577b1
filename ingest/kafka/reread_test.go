package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// A record is read again by its offset, also within a batch. Other topics and partitions, and what is beyond the end, are not
// there. A cluster that is away costs no more than the time given.
func TestReread(t *testing.T) {
	t.Parallel()
	c := fake(t, kfake.SeedTopics(2, "orders"))
	put(t, client(t, c), "orders", 0, "zero", "one", "two")
	source, err := New(options("orders", c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		partition string
		offset    int64
		want      string
	}{
		{"kafka:orders/0", 1, "one"}, {"kafka:orders/0", 2, "two"}, {"kafka:orders/0", 3, "error"}, {"kafka:orders/0", 99, "error"}, {"kafka:orders/0", -1, "error"},
		{"kafka:orders/1", 0, "error"}, {"kafka:other/0", 0, "error"}, {"kafka:orders", 0, "error"}, {"nats:orders", 0, "error"},
	} {
		text, err := source.Reread(t.Context(), x.partition, x.offset)
		if err != nil {
			text = []byte("error")
		}
		if string(text) != x.want {
			t.Errorf("%s/%d is %q (%v), want %q", x.partition, x.offset, text, err, x.want)
		}
	}
	c.Close()
	began := time.Now()
	if text, err := source.Reread(t.Context(), "kafka:orders/0", 1); err == nil || time.Since(began) > testPatience {
		t.Errorf("%q after %v", text, time.Since(began))
	}
}
