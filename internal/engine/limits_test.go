package engine_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// newTight is a store whose transactions hold 0.6 MB, as that of a unit among many, for steps of any size.
func newTight(t *testing.T) *settled {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{MemTable: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &settled{t: t, store: st, now: awayEpoch, options: engine.Options{SnapshotBytes: 1 << 40, StepBytes: 1 << 30}}
}

// TestCommitLimits takes steps in that do not fit one transaction, whichever part of
// them it is that is large.
func TestCommitLimits(t *testing.T) {
	t.Run("panes", func(t *testing.T) {
		x := newTight(t)
		const panes = 20_000
		if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0)}); err != nil {
			t.Fatal(err)
		}
		c := ingest.Chunk{Partition: "p"}
		for i := range panes {
			at := awayEpoch - int64(panes-i)*11*int64(time.Second)
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
				`{"txn":"%d","start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"k%d","value":%d}]}`, i, at, at+1000, i, i)})
		}
		c.Cursor.Next = panes
		x.read(c)
		stored := 0
		if err := (engine.Reader{Store: x.store}).Panes(func(*window.Pane) error { stored++; return nil }); err != nil {
			t.Fatal(err)
		}
		if stored < panes-10 {
			t.Errorf("%d panes are stored, of %d", stored, panes)
		}
		x.again(panes)
	})
	t.Run("a source's name", func(t *testing.T) {
		x := newTight(t)
		if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0)}); err != nil {
			t.Fatal(err)
		}
		c := ingest.Chunk{Partition: "p"}
		for i := range 20 {
			name := strings.Repeat("s", 1<<10+i%2*(50<<10)) // the longest, and one too long
			at := awayEpoch - int64(20-i)*11*int64(time.Second)
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
				`{"txn":"%d","source":%q,"start":%d,"end":%d,"status":"committed","ops":[]}`, i, name, at, at+1000)})
		}
		c.Cursor.Next = 20
		x.read(c)
		x.again(20)
		if n, dead := committed(x.engine), x.engine.Status().DeadLetters; n != 10 || dead != 10 {
			t.Errorf("%d transactions and %d dead letters, want 10 of each", n, dead)
		}
	})
	t.Run("sources", func(t *testing.T) {
		x := newTight(t)
		if err := x.open(window.Config{Window: window.For(time.Second), Lateness: window.For(0)}); err != nil {
			t.Fatal(err)
		}
		const most, beyond = 1_024, 6
		c := ingest.Chunk{Partition: "p"}
		for i := range 2 * (most + beyond) {
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(i), Value: fmt.Appendf(nil,
				`{"txn":"%d","source":"s%d","start":%d,"end":%[3]d,"status":"committed","ops":[]}`, i, i%(most+beyond), awayEpoch-int64(time.Minute))})
		}
		c.Cursor.Next = 2 * (most + beyond)
		x.read(c)
		x.again(2 * (most + beyond))
		if n, dead := len(x.engine.Status().Sources), x.engine.Status().DeadLetters; n != most || dead != 2*beyond || committed(x.engine) != 2*most {
			t.Errorf("%d sources, %d dead letters and %d transactions, want %d, %d and %d", n, dead, committed(x.engine), most, 2*beyond, 2*most)
		}
	})
	t.Run("cursors", func(t *testing.T) {
		x := newTight(t)
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		const partitions = 5000
		var chunks []ingest.Chunk
		for i := range partitions {
			chunks = append(chunks, ingest.Chunk{Partition: fmt.Sprintf("file:/%s/%d", strings.Repeat("d", 300), i), Cursor: ingest.Cursor{Next: 7, Identity: "i"}})
		}
		x.read(chunks...)
		if err := x.open(x.config); err != nil {
			t.Fatal(err)
		}
		if n := len(x.engine.Cursors()); n != partitions {
			t.Errorf("%d cursors are kept, of %d", n, partitions)
		}
	})
	t.Run("open transactions", func(t *testing.T) {
		x := newTight(t)
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		const open = 30_000
		long := strings.Repeat("v", 3<<20)
		x.read(begun(0, open, ""))
		x.read(begun(open, 1, long))
		x.again(2*open + 2)
		bare := x.assembly()
		for i := range 20 {
			x.read(begun(open+1+i, 1, ""))
			if i%7 == 0 {
				x.again(int64(2 * (open + 2 + i)))
			}
		}
		if grown := x.assembly() - bare; grown > 100<<10 {
			t.Errorf("20 steps of one transaction each wrote %d bytes", grown)
		}
		c := ingest.Chunk{Partition: "p"}
		for i := range open + 1 {
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(3*open + i), Value: fmt.Appendf(nil,
				`{"type":"commit","txn":"T%d","end":%d}`, i, awayEpoch+int64(i)+10)})
		}
		c.Cursor.Next = 4*open + 1
		x.read(c)
		x.again(c.Cursor.Next)
		if n := committed(x.engine); n != open+1 {
			t.Errorf("%d transactions committed, of %d", n, open+1)
		}
		if n := x.engine.Status().Open; n != 20 {
			t.Errorf("%d transactions are open, want 20", n)
		}
		for i := range 300 { // what is not needed any more goes
			x.read(begun(open+21+i, 1, ""))
		}
		if n := x.assembly(); n > 200<<10 {
			t.Errorf("%d bytes are kept of 320 small transactions", n)
		}
	})
	t.Run("a finding on long texts", func(t *testing.T) {
		x := newTight(t)
		long := strings.Repeat("v", 2<<20)
		txn := func(id, session, op string) string {
			at := awayEpoch + int64(len(session))
			return fmt.Sprintf(`{"txn":%q,"session":%q,"seq":1,"status":"committed","start":%d,"end":%d,"ops":[%s]}`, id, session, at, at+1, op)
		}
		rmw := func(value string) string {
			return fmt.Sprintf(`{"op":"r","key":"x","value":%q},{"op":"w","key":"x","value":%q}`, long, value)
		}
		chunk := ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: 5}}
		for i, text := range []string{
			txn("W", "a", fmt.Sprintf(`{"op":"w","key":"x","value":%q}`, long)),
			txn("R", "b", rmw("1"+long)), txn("S", "c", rmw("2"+long)), // a lost update
			txn("I", "d", fmt.Sprintf(`{"op":"w","key":%q,"value":1},{"op":"r","key":%q,"value":2}`, long, long)),
			txn(long, long, `{"op":"w","key":"y","value":1},{"op":"r","key":"y","value":2}`),
		} {
			chunk.Messages = append(chunk.Messages, ingest.Message{Offset: int64(i), Value: []byte(text)})
		}
		cfg := window.Config{Contract: window.Contract{Complete: true}}
		if err := x.open(cfg); err != nil {
			t.Fatal(err)
		}
		x.read(chunk)
		found := map[string]int{}
		err := engine.Reader{Store: x.store}.Each(func(f *finding.Finding) error {
			found[f.Anomaly]++
			for _, text := range append([]string{f.Explanation}, f.Txns...) {
				if len(text) > 64<<10 {
					t.Errorf("%s holds a text of %d bytes", f.Anomaly, len(text))
				}
			}
			if !strings.Contains(f.Explanation, "Then:") || strings.Contains(f.Explanation, long[:70<<10]) {
				t.Errorf("explanation %.2000s", f.Explanation)
			}
			return nil
		})
		if err != nil || found["lost-update"] != 1 || found["internal"] != 2 {
			t.Errorf("found %v, %v", found, err)
		}
		stored := x.findings()
		x.again(5)
		x.read(chunk) // the same again
		if again := x.findings(); again != stored {
			t.Errorf("after a new start\n%.3000s\nwant\n%.3000s", again, stored)
		}
	})
}

// again begins another life, which goes on at next.
func (s *settled) again(next int64) {
	s.t.Helper()
	if err := s.open(s.config); err != nil {
		s.t.Fatal(err)
	}
	if got := s.engine.Cursors()["p"].Next; got != next {
		s.t.Errorf("goes on at %d, want %d", got, next)
	}
}

// begun are count open transactions with a write each, from the number first on.
func begun(first, count int, value string) ingest.Chunk {
	c := ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: int64(2 * (first + count))}}
	for i := first; i < first+count; i++ {
		c.Messages = append(c.Messages,
			ingest.Message{Offset: int64(2 * i), Value: fmt.Appendf(nil, `{"type":"begin","txn":"T%d","start":%d}`, i, awayEpoch+int64(i))},
			ingest.Message{Offset: int64(2*i + 1), Value: fmt.Appendf(nil, `{"type":"op","txn":"T%d","index":0,"op":"w","key":"k%d","value":"%d%s"}`, i, i, i, value)})
	}
	return c
}

// assembly is how many bytes are stored of open transactions.
func (s *settled) assembly() (n int) {
	s.t.Helper()
	if err := s.store.Scan('a', nil, nil, func(_, value []byte) error { n += len(value); return nil }); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestCutOff takes back the last transaction of each step, as if the process had been
// killed before it, and takes in something else in its place. What the transactions
// before it have left is not seen.
func TestCutOff(t *testing.T) {
	x := newTight(t)
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	x.read(begun(0, 10, ""))
	for i := range 10 {
		head, err := x.store.Get('h', []byte("head"))
		if err != nil {
			t.Fatal(err)
		}
		cursor, err := x.store.Get('p', []byte("p"))
		if err != nil {
			t.Fatal(err)
		}
		back := []store.Entry{{Space: 'h', Key: []byte("head"), Value: head}, {Space: 'p', Key: []byte("p"), Value: cursor}}
		var at struct{ Step uint64 }
		if err := json.Unmarshal(head, &at); err != nil {
			t.Fatal(err)
		}
		until := binary.BigEndian.AppendUint64(nil, at.Step+1)
		err = x.store.Scan('a', nil, until, func(key, value []byte) error { // the last transaction removes some
			back = append(back, store.Entry{Space: 'a', Key: bytes.Clone(key), Value: bytes.Clone(value)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x.read(begun(1000*(i+1), 100*(i%3)+1, strings.Repeat("x", 50_000))) // several transactions, or one
		for i := range back {                                               // more than one transaction holds
			if err := x.store.Commit(back[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.open(x.config); err != nil {
			t.Fatal(err)
		}
		if n := x.engine.Status().Open; n != 10 {
			t.Fatalf("%d transactions are open behind a step that was cut off, want 10", n)
		}
		if i%2 == 0 { // a step that changes nothing of what is open
			x.read(ingest.Chunk{Partition: "p", Cursor: ingest.Cursor{Next: int64(21 + i)}})
			if err := x.open(x.config); err != nil {
				t.Fatal(err)
			}
			if n := x.engine.Status().Open; n != 10 {
				t.Fatalf("%d transactions are open in the place of a step that was cut off, want 10", n)
			}
		}
	}
}
