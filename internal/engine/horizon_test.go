package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// TestHorizonIDs: the ids of horizon findings follow from the records, and not from when they are
// read, nor how fast. A record whose times are ahead of the clock has those of its arrival: that is another finding.
func TestHorizonIDs(t *testing.T) {
	for _, times := range []bool{true, false} {
		ids := func(now int64, pause time.Duration, idle bool) (all []string) {
			x := newSettled(t, 1<<40)
			x.now = now
			if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0), LiveCap: 2, Clamp: true}); err != nil {
				t.Fatal(err)
			}
			n := int64(0)
			read := func(start, end int64, ops string) {
				when := ""
				if times {
					from := awayEpoch - int64(24*time.Hour)
					when = fmt.Sprintf(`"start":%d,"end":%d,`, from+start*int64(time.Second), from+end*int64(time.Second))
				}
				n++
				x.read(ingest.Chunk{Partition: "p", CaughtUp: idle, Cursor: ingest.Cursor{Next: n + 1}, Messages: []ingest.Message{{Offset: n, Value: fmt.Appendf(nil,
					`{"txn":"T%d",%s"status":"committed","ops":[%s]}`, n, when, ops)}}})
				x.now += int64(pause)
			}
			fill := func(at int64) {
				c := ingest.Chunk{Partition: "p", CaughtUp: idle}
				for range 5000 {
					when := ""
					if times {
						end := awayEpoch - int64(24*time.Hour) + at*int64(time.Second)
						when = fmt.Sprintf(`"start":%d,"end":%d,`, end, end)
					}
					n++
					c.Messages = append(c.Messages, ingest.Message{Offset: n, Value: fmt.Appendf(nil, `{"txn":"T%d",%s"status":"committed","ops":[{"op":"r","key":"w","found":false}]}`, n, when)})
				}
				c.Cursor.Next = n + 1
				x.read(c)
				x.now += int64(pause)
			}
			for i := range int64(3) {
				at := 7200 * i
				read(at, at+1, fmt.Sprintf(`{"op":"r","key":"y%d","value":[]},{"op":"append","key":"x%d","value":1}`, i, i))
				read(at+1, at+2, `{"op":"r","key":"n","found":false}`)
				fill(at + 3600)
				read(at+2, at+3, fmt.Sprintf(`{"op":"r","key":"x%d","value":[]},{"op":"append","key":"y%d","value":1}`, i, i))
			}
			if err := (engine.Reader{Store: x.store}).Each(func(f *finding.Finding) error {
				if f.Kind == finding.KindHorizon {
					all = append(all, f.ID+" "+strings.Join(f.Txns, ","))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return all
		}
		want := ids(awayEpoch, 0, false)
		if len(want) == 0 {
			t.Errorf("times %v: no horizon finding", times)
		}
		for _, c := range []struct {
			now   int64
			pause time.Duration
			idle  bool
		}{{awayEpoch + 40*int64(24*time.Hour), 0, false}, {awayEpoch, time.Second, false}, {awayEpoch, time.Minute, true}, {awayEpoch + 3*int64(time.Hour) + 12345, 7 * time.Second, true}} {
			if got := ids(c.now, c.pause, c.idle); !slices.Equal(got, want) {
				t.Errorf("times %v, read at %d with pauses of %v (idle %v): %v, want %v", times, c.now, c.pause, c.idle, got, want)
			}
		}
	}
}
