//go:build integration

package kafka

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/internal/testkafka"
)

// TestBrokerAway kills a real broker while transactions are recorded. The service goes
// on, the queue fills and drops, and when the broker is back the rest arrives, with
// what is missing told. The topic takes less than a batch.
func TestBrokerAway(t *testing.T) {
	broker := testkafka.ForTest(t, testkafka.Config{})
	if err := broker.CreateTopic(t.Context(), "txns", 2, map[string]string{"max.message.bytes": "3000"}); err != nil {
		t.Fatal(err)
	}
	addr := []string{broker.Addr()}
	r := recorder(t, Options{Brokers: addr, Topic: "txns"}, capture.WithQueue(64<<10), capture.WithMaxRecord(8<<10))
	until := func(what string, ok func(capture.Stats) bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !ok(r.Stats()); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v, %v", what, r.Stats(), r.Err())
			}
		}
	}
	record(r, 100, "before")
	until("before", func(s capture.Stats) bool { return s.Delivered == 100 })
	broker.Kill()
	record(r, 2000, "meanwhile") // returns though nothing is delivered
	until("meanwhile", func(s capture.Stats) bool { return s.Failures > 0 })
	if s := r.Stats(); s.Full == 0 || s.Delivered != 100 {
		t.Errorf("meanwhile: %+v", s)
	}
	if err := broker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("after", func(s capture.Stats) bool { return s.QueuedBytes == 0 })
	record(r, 100, "after")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	got := read(t, addr, "txns", int(s.Delivered))
	ids, values, gap := map[string]bool{}, map[string]int{}, int64(0)
	for _, rec := range got.records {
		switch {
		case ids[rec.ID]: // a batch that was written again
		case rec.Name != "":
			gap = max(gap, rec.Seq)
		default:
			values[rec.Ops[0].Value]++
		}
		ids[rec.ID] = true
	}
	if values[`"before"`] != 100 || values[`"after"`] != 100 || int64(values[`"meanwhile"`]) != 2000-s.Full || gap < s.Full {
		t.Errorf("stored: %v, %+v; the gaps leave room for %d", values, s, gap)
	}
}
