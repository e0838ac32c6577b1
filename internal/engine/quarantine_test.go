package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// slip is a hook that panics once a machine has taken in a transaction whose id begins with "bad".
func slip(_ string, b *event.Batch, txns []int32) {
	for _, i := range txns {
		if id := b.Bytes(b.Txns[i].ID); strings.HasPrefix(string(id), "bad") {
			panic("a slip of ours at " + string(id))
		}
	}
}

// chunkOf has a write of a key for each id, of the source that is before the colon.
func chunkOf(from int64, ids ...string) ingest.Chunk {
	c := ingest.Chunk{Partition: "p"}
	for i, id := range ids {
		source, id, _ := strings.Cut(id, ":")
		at := awayEpoch + from + int64(i)
		c.Messages = append(c.Messages, ingest.Message{Offset: from + int64(i), Value: fmt.Appendf(nil,
			`{"txn":%q,"source":%q,"start":%d,"end":%d,"status":"committed","ops":[{"op":"w","key":"x","value":%d}]}`, id, source, at, at, from+int64(i))})
	}
	c.Cursor.Next = from + int64(len(ids))
	return c
}

// shaky is a store under an engine whose machines have slips.
func shaky(t *testing.T, snapshotBytes int64) *settled {
	x := newSettled(t, snapshotBytes)
	x.options.Hook, x.options.Faults = slip, filepath.Join(t.TempDir(), "faults")
	return x
}

func (s *settled) statusOf(name string) engine.SourceStatus {
	s.t.Helper()
	for _, x := range s.engine.Status().Sources {
		if x.Source == name {
			status := *x
			status.Sizes.Bytes = 0
			return status
		}
	}
	s.t.Fatalf("there is no source %s", name)
	return engine.SourceStatus{}
}

func (s *settled) dead() (all []engine.DeadLetter) {
	s.t.Helper()
	if err := (engine.Reader{Store: s.store}).DeadLetters(func(d *engine.DeadLetter) error { all = append(all, *d); return nil }); err != nil {
		s.t.Fatal(err)
	}
	return all
}

func (s *settled) faultFiles() []string {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.options.Faults, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestQuarantine: a record that panics is taken out, filed with a file that reproduces the fault, and
// told by a gap. All others are checked, those of its step too, and other sources notice nothing.
func TestQuarantine(t *testing.T) {
	for _, snapshots := range []int64{1, 1 << 40} {
		x := shaky(t, snapshots)
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		x.read(chunkOf(0, "a:1", "b:1", "a:2"))
		x.read(chunkOf(3, "a:3", "b:2", "a:bad1", "a:4", "b:3", "a:5"))
		x.read(chunkOf(9, "a:6", "b:4"))
		check := func(when string) {
			t.Helper()
			a, b := x.statusOf("a"), x.statusOf("b")
			if a.Counters.Committed != 6 || a.Counters.Gaps != 1 || a.Quarantined != 1 || a.Stopped != "" {
				t.Errorf("%s: %+v", when, a)
			}
			if v := a.Verdicts["serializable"]; v.Verdict != window.Unknown || !strings.Contains(v.Reason, "1 missing record") {
				t.Errorf("%s: the verdict on a is %+v", when, v)
			}
			if b.Counters.Committed != 4 || b.Counters.Gaps != 0 || b.Quarantined != 0 {
				t.Errorf("%s: %+v", when, b)
			}
			if n := x.engine.Status().DeadLetters; n != 0 {
				t.Errorf("%s: %d records count as bad, for every source", when, n)
			}
		}
		check("before")
		dead := x.dead()
		if len(dead) != 1 || !strings.Contains(dead[0].Reason, "a slip of ours at bad1") || !strings.Contains(dead[0].Record, `"bad1"`) || dead[0].Position != "p:5" {
			t.Fatalf("%+v", dead)
		}
		if n := strings.Count(x.findings(), `"kind":"gap"`); n != 1 {
			t.Errorf("%d gaps:\n%s", n, x.findings())
		}
		files := x.faultFiles()
		if len(files) != 1 || !strings.Contains(dead[0].Reason, files[0]) {
			t.Fatalf("files %q; the dead letter says %s", files, dead[0].Reason)
		}
		if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
		if head, again, err := engine.Reproduce(files[0], slip); err != nil || again != "a slip of ours at bad1" || head.Source != "a" {
			t.Errorf("%q %v of %s", again, err, head.Source)
		}
		if _, again, err := engine.Reproduce(files[0], nil); err != nil || again != "" {
			t.Errorf("without the slip it fails: %q %v", again, err)
		}
		before, stored := x.statusOf("a"), x.findings()
		if err := x.open(x.config); err != nil { // as after a kill
			t.Fatal(err)
		}
		check("after a restart")
		if after := x.statusOf("a"); fmt.Sprint(after) != fmt.Sprint(before) || x.findings() != stored {
			t.Errorf("a restart changes it:\n%+v\n%+v", before, after)
		}
		x.read(chunkOf(11, "a:7"))
		if n := x.statusOf("a").Counters.Committed; n != 7 {
			t.Errorf("%d are checked after a restart", n)
		}
	}
}

// TestQuarantineKilled kills before the step with the fault is committed: the fault comes again,
// and leaves what it had left without the kill.
func TestQuarantineKilled(t *testing.T) {
	run := func(kill bool) (status engine.SourceStatus, findings string, dead []engine.DeadLetter, files int) {
		x := shaky(t, 1<<40)
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		x.read(chunkOf(0, "a:1"))
		if kill {
			stop, cancel := context.WithCancel(t.Context())
			x.options.Room = func(context.Context) bool { cancel(); return false } // what is stepped is not committed
			if err := x.open(x.config); err != nil {
				t.Fatal(err)
			}
			in := make(chan ingest.Chunk, 1)
			in <- chunkOf(1, "a:2", "a:bad", "a:3")
			close(in)
			if err := x.engine.Run(stop, in, false); !errors.Is(err, engine.ErrNoRoom) {
				t.Fatal(err)
			}
			if n := len(x.dead()); n != 0 {
				t.Fatalf("%d dead letters of a step that was not committed", n)
			}
			x.options.Room = nil
			if err := x.open(x.config); err != nil {
				t.Fatal(err)
			}
		}
		x.now = awayEpoch + int64(10*time.Second)
		x.read(chunkOf(1, "a:2", "a:bad", "a:3"))
		dead = x.dead()
		for i := range dead {
			dead[i].Reason = strings.ReplaceAll(dead[i].Reason, x.options.Faults, "")
		}
		return x.statusOf("a"), x.findings(), dead, len(x.faultFiles())
	}
	s1, f1, d1, n1 := run(false)
	s2, f2, d2, n2 := run(true)
	if fmt.Sprint(s1) != fmt.Sprint(s2) || f1 != f2 || !slices.Equal(d1, d2) || n1 != 1 || n2 != 1 {
		t.Errorf("%+v\n%+v\n%s\n%s\n%+v\n%+v\n%d %d files", s1, s2, f1, f2, d1, d2, n1, n2)
	}
}

// TestThirdFaultStops: the third fault within an hour stops that source and no other. A later start
// takes it up again, and counts what came in between as lost.
func TestThirdFaultStops(t *testing.T) {
	for _, snapshots := range []int64{1, 1 << 40} {
		x := shaky(t, snapshots)
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		x.read(chunkOf(0, "a:1", "b:1"))
		x.read(chunkOf(2, "a:bad1", "a:2"))
		x.read(chunkOf(4, "a:bad2", "a:3", "b:2", "a:bad3", "a:4", "b:3"))
		if err := x.open(x.config); err != nil { // stopped, and not yet taken up
			t.Fatal(err)
		}
		check := func(when string, b int64) {
			t.Helper()
			a := x.statusOf("a")
			if a.Counters.Committed != 2 || a.Quarantined != 3 || !strings.Contains(a.Stopped, "a slip of ours at bad3") {
				t.Errorf("%s: %+v", when, a)
			}
			for level, v := range a.Verdicts {
				if v.Verdict != window.Unknown || !strings.Contains(v.Reason, "stopped") {
					t.Errorf("%s: %s is %+v", when, level, v)
				}
			}
			if s := x.statusOf("b"); s.Counters.Committed != b || s.Counters.Gaps != 0 || s.Stopped != "" || strings.Contains(s.Verdicts["serializable"].Reason, "missing") {
				t.Errorf("%s: %+v", when, s)
			}
		}
		check("after a restart", 3)
		if n := len(x.dead()); n != 3 {
			t.Errorf("%d dead letters", n)
		}
		x.read(chunkOf(10, "a:5", "b:4")) // the first step takes it up again
		a := x.statusOf("a")
		if a.Stopped != "" || a.Counters.Committed != 3 || a.Counters.Gaps != 3+4 || a.Quarantined != 3 {
			t.Errorf("%+v", a)
		}
		if v := a.Verdicts["serializable"]; v.Verdict != window.Unknown {
			t.Errorf("%+v", v)
		}
		before := x.statusOf("a")
		if err := x.open(x.config); err != nil {
			t.Fatal(err)
		}
		if after := x.statusOf("a"); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("\n%+v\n%+v", before, after)
		}
		// Two faults, an hour later one more: it goes on.
		x.read(chunkOf(12, "a:bad4", "a:bad5", "a:6"))
		x.now += int64(2 * time.Hour)
		x.read(chunkOf(15, "a:bad6", "a:7"))
		if a := x.statusOf("a"); a.Stopped != "" || a.Counters.Committed != 5 {
			t.Errorf("%+v", a)
		}
	}
}

// TestStoppedSourceIsPassedOver: in the life in which it was stopped, its records are passed over.
func TestStoppedSourceIsPassedOver(t *testing.T) {
	x := shaky(t, 1<<40)
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	x.read(chunkOf(0, "b:1", "a:bad1", "a:bad2", "a:bad3"))
	x.read(chunkOf(4, "a:1", "b:2"), ingest.Chunk{Partition: "p", CaughtUp: true, Cursor: ingest.Cursor{Next: 6}})
	if a, b := x.statusOf("a"), x.statusOf("b"); a.Stopped == "" || a.Counters.Committed != 0 || b.Counters.Committed != 2 {
		t.Errorf("%+v\n%+v", a, b)
	}
	x.again(6)
	if c := x.engine.Cursors()["p"]; c.Next != 6 {
		t.Errorf("%+v", c)
	}
}

// TestNoSourceLeft: with the last source the engine ends. The step that stopped it is committed.
func TestNoSourceLeft(t *testing.T) {
	x := shaky(t, 1<<40)
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	in := make(chan ingest.Chunk, 1)
	in <- chunkOf(0, "a:bad1", "a:bad2", "a:bad3", "a:1")
	close(in)
	if err := x.engine.Run(t.Context(), in, false); !errors.Is(err, engine.ErrStopped) || !strings.Contains(err.Error(), "bad3") {
		t.Error(err)
	}
	if err := x.engine.Close(); err != nil {
		t.Error(err)
	}
	if err := x.open(x.config); err != nil {
		t.Fatal(err)
	}
	if n := len(x.dead()); n != 3 || x.engine.Cursors()["p"].Next != 4 {
		t.Errorf("%d dead letters, cursors %+v", n, x.engine.Cursors())
	}
}

// TestFaultWithoutCulprit: where no record alone is to blame, the last of the shortest row that
// panics together is. Where the step fails even without records, the source is stopped.
func TestFaultWithoutCulprit(t *testing.T) {
	x := shaky(t, 1<<40)
	x.options.Hook = func(_ string, b *event.Batch, txns []int32) {
		seen := map[string]bool{}
		for _, i := range txns {
			seen[b.Text(b.Txns[i].ID)] = true
		}
		if seen["one"] && seen["two"] {
			panic("together")
		}
	}
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	x.read(chunkOf(0, "a:one", "a:1", "a:two", "a:2"))
	if a := x.statusOf("a"); a.Counters.Committed != 3 || a.Stopped != "" || !strings.Contains(x.dead()[0].Record, `"two"`) {
		t.Errorf("%+v %+v", a, x.dead())
	}
	x = shaky(t, 1<<40)
	x.options.Hook = func(source string, _ *event.Batch, txns []int32) {
		if source == "a" && len(txns) == 0 {
			panic("at once")
		}
	}
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	x.read(chunkOf(0, "a:1", "b:1"))
	x.read(chunkOf(2, "b:2"))
	if a, b := x.statusOf("a"), x.statusOf("b"); a.Stopped == "" || b.Counters.Committed != 2 || len(x.dead()) != 0 || len(x.faultFiles()) != 1 {
		t.Errorf("%+v\n%+v\n%q", a, b, x.faultFiles())
	}
}

// TestFaultThatDoesNotComeAgain loses nothing.
func TestFaultThatDoesNotComeAgain(t *testing.T) {
	x := shaky(t, 1<<40)
	times := 0
	x.options.Hook = func(string, *event.Batch, []int32) {
		if times++; times == 1 {
			panic("once")
		}
	}
	if err := x.open(window.Config{}); err != nil {
		t.Fatal(err)
	}
	x.read(chunkOf(0, "a:1", "a:2"))
	if a := x.statusOf("a"); a.Counters.Committed != 2 || a.Counters.Gaps != 0 || a.Quarantined != 0 || len(x.dead()) != 0 {
		t.Errorf("%+v %+v", a, x.dead())
	}
}

// TestQuarantineIsExact: the findings beside the gap are those of the input without the record. The
// machine that panicked had taken it in; what it knew of it is gone.
func TestQuarantineIsExact(t *testing.T) {
	anomaly := func(x *settled, bad bool) map[string]string {
		t.Helper()
		if err := x.open(window.Config{}); err != nil {
			t.Fatal(err)
		}
		c := ingest.Chunk{Partition: "p"}
		add := func(id, ops string) {
			if id == "bad" && !bad {
				return
			}
			at := awayEpoch + int64(len(c.Messages))
			c.Messages = append(c.Messages, ingest.Message{Offset: int64(len(c.Messages)), Value: fmt.Appendf(nil,
				`{"txn":%q,"start":%d,"end":%d,"status":"committed","ops":[%s]}`, id, at, at, ops)})
		}
		add("1", `{"op":"w","key":"x","value":1}`)
		add("2", `{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":2}`)
		add("bad", `{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":9}`) // a lost update, if it counted
		add("3", `{"op":"r","key":"x","value":1},{"op":"w","key":"x","value":3}`)   // one that counts
		c.Cursor.Next = int64(len(c.Messages))
		x.read(c)
		found := map[string]string{}
		if err := (engine.Reader{Store: x.store}).Each(func(f *finding.Finding) error {
			if f.Kind != finding.KindGap {
				found[f.ID] = fmt.Sprint(f.Anomaly, f.Txns)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	got, want := anomaly(shaky(t, 1<<40), true), anomaly(shaky(t, 1<<40), false)
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestReproduceRefuses what is no file of a fault.
func TestReproduceRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.fault")
	for _, text := range []string{"", "{}", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xaa"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := engine.Reproduce(path, nil); !errors.Is(err, engine.ErrFaultFile) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
