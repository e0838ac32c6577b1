package engine_test

import (
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// told is a store in which each step may make findings for the sinks a and b.
type told struct {
	*settled
	log  strings.Builder
	next int64
}

func newTold(t *testing.T, entries int, size int64) *told {
	x := &told{settled: newSettled(t, 1<<40)}
	x.options.Sinks = []string{"a", "b"}
	x.options.Outbox, x.options.OutboxBytes = entries, size
	x.options.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
	x.life()
	x.read(record("p", 0, 0, true))
	return x
}

// life begins one, as after a kill.
func (x *told) life() {
	x.t.Helper()
	if err := x.open(window.Config{}); err != nil {
		x.t.Fatal(err)
	}
}

// find makes a step with so many findings: of lost input.
func (x *told) find(count int) {
	x.t.Helper()
	c := ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: 1}}
	for range count {
		x.next++
		c.Gaps = append(c.Gaps, ingest.Gap{From: x.next, To: x.next + 1, Reason: "lost"})
	}
	x.read(c)
}

func (x *told) given(sink string, seq uint64) {
	x.t.Helper()
	if err := (engine.Reader{Store: x.store}).Advance(sink, seq, nil); err != nil {
		x.t.Fatal(err)
	}
}

// kept wants the outbox to hold the entries first to last, and to know it.
func (x *told) kept(first, last, dropped uint64) {
	x.t.Helper()
	var have []uint64
	var size int64
	err := x.store.Scan('o', nil, nil, func(key, value []byte) error {
		have = append(have, binary.BigEndian.Uint64(key))
		size += int64(len(value))
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	count := last + 1 - first
	if uint64(len(have)) != count || count > 0 && (have[0] != first || have[count-1] != last) {
		x.t.Errorf("kept %v, want %d to %d", have, first, last)
	}
	if s, want := x.engine.Status().Outbox, (engine.OutboxStatus{Findings: count, Bytes: size, Dropped: dropped}); s != want {
		x.t.Errorf("status %+v, want %+v", s, want)
	}
}

func TestOutboxIsTrimmed(t *testing.T) {
	x := newTold(t, 0, 0)
	x.find(10)
	x.given("a", 10)
	x.find(0)
	x.kept(1, 10, 0) // b was given nothing
	x.given("b", 4)
	x.find(1)
	x.kept(5, 11, 0)
	x.life()
	x.kept(5, 11, 0)
	x.given("a", 11)
	x.given("b", 11)
	x.find(0)
	x.kept(12, 11, 0)
	x.find(2)
	x.kept(12, 13, 0)
	pending, err := engine.Reader{Store: x.store}.Pending("b", 100)
	if err != nil || len(pending) != 2 || pending[0].Seq != 12 {
		t.Errorf("pending %v, %v", pending, err)
	}
	x.options.Sinks = []string{"a"} // b is configured no more
	x.life()
	x.given("a", 13)
	x.find(0)
	x.kept(14, 13, 0)
	if strings.Contains(x.log.String(), "full") {
		t.Errorf("logged:\n%s", x.log.String())
	}
}

// A step removes at most 1,000 entries.
func TestOutboxIsTrimmedBitByBit(t *testing.T) {
	x := newTold(t, 0, 0)
	x.find(2500)
	x.given("a", 2500)
	x.given("b", 2500)
	for _, first := range []uint64{1001, 2001, 2501, 2501} {
		x.find(0)
		x.kept(first, 2500, 0)
	}
}

func TestOutboxOfDeadSink(t *testing.T) {
	x := newTold(t, 10, 0)
	x.find(8)
	x.given("a", 8)
	x.kept(1, 8, 0)
	x.find(5) // what a step adds is not dropped in it
	x.kept(4, 13, 3)
	x.find(1)
	x.kept(5, 14, 4)
	x.life()
	x.find(1)
	x.kept(6, 15, 5)
	pending, err := engine.Reader{Store: x.store}.Pending("b", 2)
	if err != nil || len(pending) != 2 || pending[0].Seq != 6 {
		t.Errorf("pending %v, %v", pending, err)
	}
	if n := strings.Count(x.log.String(), "the outbox is full"); n != 2 {
		t.Errorf("logged %d times in two lives:\n%s", n, x.log.String())
	}
	if n := strings.Count(x.findings(), "\n"); n != 15 {
		t.Errorf("%d findings are stored, want all 15", n)
	}
}

func TestOutboxBytes(t *testing.T) {
	x := newTold(t, 0, 4000)
	x.find(1)
	one := x.engine.Status().Outbox.Bytes
	if one < 200 || one > 2000 {
		t.Fatalf("a finding takes %d bytes", one)
	}
	for range 20 {
		x.find(1)
	}
	if s := x.engine.Status().Outbox; s.Bytes > 4000 || s.Bytes < 4000-2*one || s.Findings+s.Dropped != 21 {
		t.Errorf("kept %+v of 21, want some 4000 bytes", s)
	}
}

// A sink with a new name begins at the present, also when what came before is kept
// for another; one that comes back goes on where it was, and one that was there
// before the first step is given everything.
func TestOutboxOfNewSink(t *testing.T) {
	x := newTold(t, 0, 0)
	want := func(sink string, first uint64, count int) {
		t.Helper()
		pending, err := engine.Reader{Store: x.store}.Pending(sink, 100)
		if err != nil || len(pending) != count || count > 0 && pending[0].Seq != first {
			t.Errorf("%s is to be given %v, %v; want %d from %d on", sink, pending, err, count, first)
		}
	}
	x.find(5)
	want("a", 1, 5)
	x.given("a", 2)
	x.options.Sinks = []string{"c", "b"}
	x.life()
	want("c", 0, 0)
	want("b", 1, 5)
	x.find(3)
	want("c", 6, 3)
	x.life() // it is not new any more
	want("c", 6, 3)
	x.given("c", 7)
	x.options.Sinks = []string{"a", "b", "c"}
	x.life()
	want("a", 3, 6)
	want("c", 8, 1)
}
