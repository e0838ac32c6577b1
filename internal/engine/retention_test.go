package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// stored are the positions of what is lost, by the findings that are stored, oldest first.
func (x *told) stored() (positions []string) {
	x.t.Helper()
	err := engine.Reader{Store: x.store}.Each(func(f *finding.Finding) error {
		positions = append(positions, f.FirstPosition)
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return positions
}

func (x *told) hasStored(first, last int) {
	x.t.Helper()
	got := x.stored()
	if len(got) != last+1-first || len(got) > 0 && (got[0] != fmt.Sprintf("p:%d", first) || got[len(got)-1] != fmt.Sprintf("p:%d", last)) {
		x.t.Errorf("stored %v, want p:%d to p:%d", got, first, last)
	}
}

// idle makes steps that find nothing, one a second.
func (x *told) idle(steps int) {
	for range steps {
		x.read(ingest.Chunk{Partition: "p", CaughtUp: true, Cursor: ingest.Cursor{Next: 1}})
	}
}

func TestFindingsAreRemovedByAge(t *testing.T) {
	x := newTold(t, 0, 0)
	x.options.Retention.Findings.Age = 10 * time.Second
	x.life()
	x.find(3)
	x.idle(4)
	x.find(2)
	x.hasStored(1, 5)
	x.idle(6)
	x.hasStored(4, 5)
	// What was removed is still delivered, and stays removed after a kill.
	x.kept(1, 5, 0)
	x.life()
	x.hasStored(4, 5)
	if got := x.engine.Status().Removed; got != (engine.Removed{Findings: 3}) {
		t.Errorf("removed %+v", got)
	}
	x.idle(5)
	x.hasStored(0, -1)
	if got := x.engine.Status().Kept; got != (engine.Kept{}) {
		t.Errorf("left %+v", got)
	}
	x.find(1)
	x.hasStored(6, 6)
}

// A finding loses its records at the age of its evidence, and keeps the rest. A later revision has them again,
// until it is as old. Without a bound nothing is lost.
func TestEvidenceIsRemovedByAge(t *testing.T) {
	for _, age := range []time.Duration{0, 5 * time.Second} {
		s := newSettled(t, 1<<40)
		s.options.Retention.Evidence = age
		if err := s.open(window.Config{Pane: time.Second, Window: window.For(time.Second), Lateness: window.For(time.Second), MaxTxn: time.Second}); err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		read := func(lines ...string) {
			c := ingest.Chunk{Partition: "p", CaughtUp: true}
			for _, l := range lines {
				c.Messages = append(c.Messages, ingest.Message{Offset: next, Value: []byte(l)})
				next++
			}
			c.Cursor.Next = next
			s.read(c)
		}
		own := func(id string) string {
			return fmt.Sprintf(`{"txn":%q,"start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":%q,"value":1},{"op":"r","key":%[4]q,"value":2}]}`, id, s.now, s.now+1, id)
		}
		count := func(bare, whole int) {
			t.Helper()
			err := engine.Reader{Store: s.store}.Each(func(f *finding.Finding) error {
				if f.NoEvidence != (len(f.History) == 0) || f.Explanation == "" || f.Headline == "" || len(f.Txns) == 0 || len(f.Refutes) == 0 {
					t.Errorf("%v: %+v", age, f)
				}
				if first, last, ok := f.EndedBetween(); !ok || last < first || f.NoEvidence != (len(f.Ended) == 2) {
					t.Errorf("%v: its transactions ended from %d to %d, %q", age, first, last, f.Ended)
				}
				raw, err := engine.Reader{Store: s.store}.Raw(f.ID)
				if err != nil || f.NoEvidence != (len(raw) == 0) {
					t.Errorf("%v: without evidence %v, and %d records as they came, %v", age, f.NoEvidence, len(raw), err)
				}
				if f.NoEvidence {
					bare--
				} else {
					whole--
				}
				return nil
			})
			if err != nil || bare != 0 || whole != 0 {
				t.Errorf("%v: %d more without records wanted, %d with, %v", age, bare, whole, err)
			}
			var bytes int64
			add := func(_, value []byte) error { bytes += int64(len(value)); return nil }
			if err := errors.Join(s.store.Scan('f', nil, nil, add), s.store.Scan('r', nil, nil, add)); err != nil || bytes != s.engine.Status().Kept.FindingBytes {
				t.Errorf("%v: %d bytes are there, %d are known, %v", age, bytes, s.engine.Status().Kept.FindingBytes, err)
			}
		}
		idle := func() {
			for range 8 {
				read()
			}
		}
		read(own("A"), own("B"))
		read(own("C"))
		count(0, 3)
		idle()
		if age == 0 {
			count(0, 3)
			continue
		}
		count(3, 0)
		read(own("D")) // the others are final now
		read()
		count(0, 4)
		idle()
		count(4, 0)
		read(own("E"))
		read()
		count(3, 2)
	}
}

func TestFindingsAreRemovedBySize(t *testing.T) {
	x := newTold(t, 0, 0)
	x.find(1)
	one := x.engine.Status().Kept.FindingBytes
	if one < 100 {
		t.Fatalf("a finding takes %d bytes", one)
	}
	x.options.Retention.Findings.Bytes = 10*one + one/2
	x.life()
	x.find(2000) // 500 are removed with a commit: sizes differ by the digits of a position
	for range 4 {
		x.idle(1)
	}
	kept := x.engine.Status().Kept.FindingBytes
	if n := len(x.stored()); n < 8 || n > 10 || kept > x.options.Retention.Findings.Bytes {
		t.Errorf("%d findings are left, %d bytes", n, kept)
	}
	if got := x.stored(); got[len(got)-1] != "p:2001" {
		t.Errorf("the latest is %s", got[len(got)-1])
	}
	var bytes int64
	if err := x.store.Scan('f', nil, nil, func(_, value []byte) error { bytes += int64(len(value)); return nil }); err != nil || bytes != kept {
		t.Errorf("%d bytes are there, %d are known, %v", bytes, kept, err)
	}
}

func TestDeadLettersAreRemoved(t *testing.T) {
	for _, keep := range []engine.Keep{{Age: 2 * time.Second}, {Bytes: 150}} {
		x := newTold(t, 0, 0)
		x.options.Retention.DeadLetters = keep
		x.life()
		for i := range 5 {
			x.read(ingest.Chunk{Partition: "p", CaughtUp: true, Cursor: ingest.Cursor{Next: int64(i + 2)}, Messages: []ingest.Message{{Offset: int64(i + 1), Value: []byte("no record")}}})
		}
		x.idle(1)
		var left []string
		if err := (engine.Reader{Store: x.store}).DeadLetters(func(d *engine.DeadLetter) error { left = append(left, d.Position); return nil }); err != nil {
			t.Fatal(err)
		}
		if len(left) < 1 || len(left) > 2 || left[len(left)-1] != "p:5" {
			t.Errorf("%+v: left %v", keep, left)
		}
		if got := x.engine.Status().Removed.DeadLetters; got != uint64(5-len(left)) {
			t.Errorf("%+v: %d are counted as removed", keep, got)
		}
	}
}

// Panes go by their age, those of each source, and such as count transactions never.
func TestPanesAreRemoved(t *testing.T) {
	s := newSettled(t, 1<<40)
	s.options.Retention.Panes = 30 * time.Second
	if err := s.open(window.Config{Pane: time.Second, Window: window.For(time.Second), Lateness: window.For(time.Second), MaxTxn: time.Second}); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		at := s.now
		timed := fmt.Appendf(nil, `{"txn":"T%d","source":"timed","start":%d,"end":%d,"status":"committed","ops":[{"op":"r","key":"x","found":false}]}`, i, at, at+1)
		s.read(ingest.Chunk{Partition: "p", CaughtUp: true, Cursor: ingest.Cursor{Next: int64(i + 1)}, Messages: []ingest.Message{{Offset: int64(i), Value: timed}}})
	}
	oldest, count := s.now, 0
	err := engine.Reader{Store: s.store}.Panes(func(p *window.Pane) error {
		oldest = min(oldest, p.End)
		count++
		return nil
	})
	if err != nil || count < 20 || s.now-oldest > int64(32*time.Second) || s.engine.Status().Removed.Panes == 0 {
		t.Errorf("%d panes, the oldest is %v old, %d removed, %v", count, time.Duration(s.now-oldest), s.engine.Status().Removed.Panes, err)
	}
}

// Deltas that are old make a snapshot, however few they are, unless there is no room.
func TestSnapshotByAge(t *testing.T) {
	for _, room := range []bool{true, false} {
		x := newTold(t, 0, 0)
		x.options.SnapshotAge = 5 * time.Second
		x.options.HasRoom = func(int64) bool { return room }
		x.life()
		x.idle(10)
		x.engine.Run(t.Context(), closed(), false) // waits for what is being written
		if gen := x.store.Metrics().Generation; (gen > 0) != room {
			t.Errorf("with room %v: generation %d", room, gen)
		}
	}
}

func closed() chan ingest.Chunk {
	in := make(chan ingest.Chunk)
	close(in)
	return in
}
