package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// record is a transaction of partition p that ended so many seconds after the
// epoch of the test, as its offset says.
func record(p string, offset int, second int64, caughtUp bool) ingest.Chunk {
	end := awayEpoch + second*int64(time.Second)
	return ingest.Chunk{
		Partition: p, Cursor: ingest.Cursor{Next: int64(offset + 1)}, CaughtUp: caughtUp,
		Messages: []ingest.Message{{Offset: int64(offset), Value: fmt.Appendf(nil,
			`{"txn":"%s-%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"x","value":"%s-%d"}]}`,
			p, offset, end-1, end, p, offset)}},
	}
}

const awayEpoch = int64(1_750_000_000_000_000_000)

// TestAway reads two partitions again after a time much longer than the idle
// time-out (10 s). What came to them meanwhile is not late, in whatever order the
// partitions are read.
func TestAway(t *testing.T) {
	silent := func(p string) ingest.Chunk {
		return ingest.Chunk{Partition: p, Cursor: ingest.Cursor{Next: 1}, CaughtUp: true}
	}
	// What is not said of the silence of q while nobody listened is not counted.
	listened := append(slices.Repeat([]ingest.Chunk{silent("q")}, 12), record("p", 1, 3000, true), record("q", 1, 10, true))
	for _, c := range []struct {
		name   string
		chunks []ingest.Chunk // each in a step of its own, one second after another
		late   int64
	}{
		{"the one far behind comes second", []ingest.Chunk{record("p", 1, 3000, true), record("q", 1, 10, true)}, 0},
		{"it comes in the end", []ingest.Chunk{record("p", 1, 2000, false), record("p", 2, 3000, true), record("q", 1, 10, true)}, 0},
		{"it had nothing, and then something old", []ingest.Chunk{silent("q"), record("p", 1, 3000, true), record("q", 1, 10, true)}, 0},
		{"it had nothing for 12 s, and then something old", listened, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := store.Open(t.TempDir(), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			now := awayEpoch + int64(time.Second)
			open := func() *engine.Engine {
				e, err := engine.Open(st, engine.Options{
					Configure: func(string) window.Config { return window.Config{Clamp: true} },
					Now:       func() int64 { return now }, StepBytes: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			read := func(e *engine.Engine, chunks ...ingest.Chunk) {
				for _, chunk := range chunks {
					in := make(chan ingest.Chunk, 1)
					in <- chunk
					close(in)
					if err := e.Run(context.Background(), in, false); err != nil {
						t.Fatal(err)
					}
					now += int64(time.Second)
				}
			}
			read(open(), record("p", 0, 0, true), record("q", 0, 0, true))
			now = awayEpoch + int64(time.Hour)
			e := open()
			read(e, c.chunks...)
			if got := late(e); got != c.late {
				t.Errorf("%d records are late, want %d", got, c.late)
			}
			if got := late(open()); got != c.late {
				t.Errorf("%d records are late after a crash, want %d", got, c.late)
			}
		})
	}
}

// TestAwayForGood goes on, after a minute, without a partition that no reader
// knows any more.
func TestAwayForGood(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := awayEpoch + int64(time.Second)
	open := func(chunks ...ingest.Chunk) *engine.Engine {
		e, err := engine.Open(st, engine.Options{
			Configure: func(string) window.Config { return window.Config{Clamp: true} },
			Now:       func() int64 { now += int64(20 * time.Second); return now }, StepBytes: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		in := make(chan ingest.Chunk, len(chunks))
		for _, c := range chunks {
			in <- c
		}
		close(in)
		if err := e.Run(context.Background(), in, false); err != nil {
			t.Fatal(err)
		}
		return e
	}
	open(record("p", 0, 0, true), record("gone", 0, 0, true))
	var chunks []ingest.Chunk
	for i := range 10 {
		chunks = append(chunks, record("p", 1+i, int64(10+i), true))
	}
	e := open(chunks...)
	// The lateness is 5 s.
	if got, want := e.Status().Sources[0].Watermark, awayEpoch+int64(14*time.Second); got != want {
		t.Errorf("the watermark is %d s after the epoch, want %d", (got-awayEpoch)/int64(time.Second), (want-awayEpoch)/int64(time.Second))
	}
}

// TestInputAfterTheEnd reads a second input after the end of the first one: what it
// holds is not late, though the clock has moved on and another partition has been
// silent for longer than the idle time-out.
func TestInputAfterTheEnd(t *testing.T) {
	s := newSettled(t, 1<<40)
	open := func() {
		if err := s.open(window.Config{Clamp: true}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	s.read(record("p", 0, 0, true))
	in := make(chan ingest.Chunk)
	close(in)
	if err := s.engine.Run(context.Background(), in, true); err != nil {
		t.Fatal(err)
	}
	s.now += int64(time.Hour)
	for life := range 2 {
		open()
		for p := range s.engine.Cursors() {
			if life == 0 {
				t.Errorf("the ended input left a cursor of %s", p)
			}
		}
		for range 15 {
			s.read(ingest.Chunk{Partition: "q", CaughtUp: true})
		}
		s.read(record("p", 1+life, int64(1+life), true))
		if n := late(s.engine); n != 0 {
			t.Errorf("life %d: %d records are late", life, n)
		}
	}
	if got, want := s.source().Counters.Committed, int64(3); got != want {
		t.Errorf("%d transactions, want %d", got, want)
	}
}

func late(e *engine.Engine) int64 {
	var n int64
	for _, s := range e.Status().Sources {
		n += s.Counters.Late
	}
	return n
}

// TestTroubled reads a partition whose reader has trouble for longer than the idle
// time-out and than a start waits for partitions that are gone.
func TestTroubled(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := awayEpoch
	open := func() *engine.Engine {
		e, err := engine.Open(st, engine.Options{
			Configure: func(string) window.Config { return window.Config{Clamp: true} },
			Now:       func() int64 { return now }, StepBytes: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	read := func(e *engine.Engine, c ingest.Chunk) {
		now += int64(time.Second)
		in := make(chan ingest.Chunk, 1)
		in <- c
		close(in)
		if err := e.Run(context.Background(), in, false); err != nil {
			t.Fatal(err)
		}
	}
	e := open()
	read(e, record("p", 0, 0, true))
	read(e, record("q", 0, 0, true))
	for life := range 2 {
		read(e, ingest.Chunk{Partition: "q", Problem: "no answer"})
		for i := range 100 {
			offset := 1 + 100*life + i
			read(e, record("p", offset, int64(offset), true))
		}
		waiting := e.Status().Waiting
		if len(waiting) != 1 || waiting[0].Partition != "q" || waiting[0].Problem != "no answer" {
			t.Fatalf("waits for %+v, want q", waiting)
		}
		if since := now - waiting[0].Since; since < int64(100*time.Second) || since > int64(103*time.Second) {
			t.Errorf("q was not heard of for %v", time.Duration(since))
		}
		if life == 0 {
			e = open()
			if n := e.Cursors()["q"].Next; n != 1 {
				t.Errorf("the cursor of a partition in trouble moved to %d", n)
			}
		}
	}
	read(e, record("q", 1, 3, true))
	if n := late(e); n != 0 {
		t.Errorf("%d records are late", n)
	}
	read(e, record("p", 201, 201, true))
	if n := len(e.Status().Waiting); n != 0 {
		t.Errorf("waits for %d partitions still", n)
	}
	if n := late(open()); n != 0 {
		t.Errorf("%d records are late after a crash", n)
	}
}
