package engine_test

import (
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// TestOwnLosses: what an input with records of one source alone loses counts for this source, also where the source or another
// one is met later, and in another life. What any other input loses counts for all.
func TestOwnLosses(t *testing.T) {
	for _, every := range []int64{1, 1 << 40} { // a snapshot after each step, or none
		s := newSettled(t, every)
		next := map[string]int64{}
		life := func() {
			t.Helper()
			if err := s.open(window.Config{}); err != nil {
				t.Fatal(err)
			}
		}
		// send lets an input send a record of the source; "": nonsense. lost records go before it.
		send := func(input, only, source string, lost int64) {
			t.Helper()
			n := next[input]
			next[input] = n + lost + 1
			value := fmt.Appendf(nil, `{"txn":"%s-%d","source":%q,"status":"committed","ops":[{"op":"w","key":"k","value":%d}]}`, input, n, source, n)
			if source == "" {
				value = []byte("nonsense")
			}
			c := ingest.Chunk{Partition: input, Source: only, Only: only != "", Messages: []ingest.Message{{Offset: n + lost, Value: value}}, Cursor: ingest.Cursor{Next: n + lost + 1}}
			if lost > 0 {
				c.Gaps = []ingest.Gap{{From: n, To: n + lost, Reason: "the broker let it go"}}
			}
			s.read(c)
		}
		want := func(when, counts string) {
			t.Helper()
			got := ""
			for _, x := range s.engine.Status().Sources {
				got += fmt.Sprintf("%s %d %d, ", x.Source, x.Counters.Gaps, x.Counters.DeadLetters)
			}
			if got != counts {
				t.Errorf("snapshots every %d, %s: %swant %s", every, when, got, counts)
			}
		}
		life()
		send("nats:A", "a", "a", 0)
		send("nats:B", "b", "b", 0)
		send("nats:A", "a", "a", 2)
		want("A lost two", "a 2 0, b 0 0, ")
		send("nats:A", "a", "", 0)
		send("nats:B", "b", "", 3)
		want("B lost three, and both had nonsense", "a 2 1, b 3 1, ")
		send("nats:D", "d", "", 4) // its source is not met yet
		life()
		want("another life", "a 2 1, b 3 1, ")
		send("nats:A", "a", "b", 0)
		want("a record of another source in A", "a 2 2, b 3 1, ")
		send("nats:C", "", "c", 0)
		want("a source is met later", "a 2 2, b 3 1, c 0 0, ")
		send("nats:C", "", "c", 1)
		send("nats:C", "", "", 0)
		want("what may be of any source", "a 3 3, b 4 2, c 1 1, ")
		life()
		send("nats:D", "d", "d", 0)
		want("the last source", "a 3 3, b 4 2, c 1 1, d 5 2, ")
		send("nats:A", "", "a", 1) // now A may have records of others
		want("A is not alone any more", "a 4 3, b 5 2, c 2 1, d 6 2, ")
		life()
		send("nats:C", "", "e", 0)
		want("a source that is met after it", "a 4 3, b 5 2, c 2 1, d 6 2, e 4 1, ")
	}
}
