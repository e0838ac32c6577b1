package app

import (
	be "encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

func TestRates(t *testing.T) {
	var r rates
	at := time.Unix(1000, 0)
	if got := r.of("a", at, 7); got != -1 {
		t.Errorf("without a sample: %v", got)
	}
	for i := range 20 {
		s := &engine.Status{Sources: []*engine.SourceStatus{{Source: "a"}}}
		s.Sources[0].Counters.Committed = int64(i) * 1000
		r.take(at.Add(time.Duration(i)*sampleEvery), s)
	}
	if got := r.of("a", at.Add(20*sampleEvery), 20_000); got != 100 { // since the sample of a minute before
		t.Errorf("%v a second, want 100", got)
	}
	if got := r.of("a", at.Add(20*sampleEvery), 0); got != 0 { // a new store
		t.Errorf("%v a second, want 0", got)
	}
}

// A source is behind as long as there is something to read. Without new records it is idle, and no further behind.
func TestBehind(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	x := &engine.SourceStatus{Watermark: at(995).UnixNano(), Latest: at(1000).UnixNano()}
	untimed := *x
	untimed.Watermark = 0
	came := at(1001)
	for _, c := range []struct {
		name         string
		x            *engine.SourceStatus
		came         time.Time
		read         bool
		now          int64
		behind, idle time.Duration
	}{
		{"records come", x, came, true, 1002, 6 * time.Second, 0},
		{"none for an hour", x, came, true, 4601, 6 * time.Second, time.Hour},
		{"there is more to read", x, came, false, 4601, 3606 * time.Second, 0},
		{"none since the start", x, time.Time{}, true, 4600, 5 * time.Second, time.Hour},
		{"a clock that runs ahead", x, came, true, 990, 0, 0},
		{"records of an hour ago come", x, at(4600), true, 4601, 3605 * time.Second, 0},
		{"records without times", &untimed, came, true, 4601, 0, time.Hour},
	} {
		if got := behind(c.x, c.came, c.read, at(c.now)); got != c.behind {
			t.Errorf("%s: %s behind, want %s", c.name, got, c.behind)
		}
		if got := idleFor(c.x, c.came, c.read, at(c.now)); got != c.idle {
			t.Errorf("%s: idle for %s, want %s", c.name, got, c.idle)
		}
	}
	in := []*input{{name: "a", looked: true, behind: map[string]bool{}, troubles: map[string]string{}}, {name: "b", looked: true, behind: map[string]bool{}, troubles: map[string]string{}}}
	if !allRead(in) {
		t.Error("all inputs are at their ends")
	}
	if in[1].behind["b-0"] = true; allRead(in) {
		t.Error("one is not at its end")
	}
}

// putPane stores a pane as the engine does (internal/engine/layout.go).
func putPane(t testing.TB, st *store.Store, p *window.Pane) {
	t.Helper()
	text, err := json.Marshal(p)
	if err == nil {
		key := be.BigEndian.AppendUint64(append([]byte(p.Source), 0), uint64(p.Start)^1<<63)
		err = st.Commit([]store.Entry{{Space: 'n', Key: key, Value: text}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Parts that a window does not let end yet are in work; those behind the watermark have no data.
func TestInWork(t *testing.T) {
	const minute = int64(time.Minute)
	var l web.Level
	l.Cells[50], l.Cells[56] = web.Violated, web.OK
	end := 1000*minute + 30*int64(time.Second)
	inWork(&l, end-minute, end, minute, minute) // 999.5, closed is what ended by 998.5
	if got := fmt.Sprint(l.Cells[54:]); got != "[0 0 1 5 5 0]" {
		t.Error(got)
	}
	if l.Cells[50] != web.Violated || l.Cells[10] != web.NoData {
		t.Error("older parts are in work")
	}
}

// Without a watermark, since an input has not answered yet, the strip has what came as parts in work.
func TestStripWithoutAWatermark(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	c := config.DefaultService()
	now := time.Date(2026, 11, 20, 10, 0, 45, 0, time.UTC)
	a := &App{rates: &rates{}, strips: newStrips(engine.Reader{Store: st}), options: Options{Now: func() time.Time { return now }}}
	a.current.Store(&c)
	for ago, last := range map[time.Duration]web.Cell{0: web.InWork, 30 * time.Second: web.InWork, 10 * time.Minute: web.NoData} {
		x := engine.SourceStatus{Source: "orders", Latest: now.Add(-ago).UnixNano(), Verdicts: map[string]engine.Verdict{}}
		view, all := a.sourceView(&x, false, now, time.Hour, now.Add(time.Second), nil)
		if cells := view.Levels[0].Cells; !all || cells[web.Parts-1] != last || !slices.Contains(cells[:], web.InWork) {
			t.Errorf("the latest record %v ago: %v", ago, cells)
		}
	}
}

// Of records that are older than the span, the chart and the strips show the end, also once the watermark has followed the clock.
func TestOldRecordsStayInView(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 45, 0, time.UTC)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	const span, day = time.Hour, 24 * time.Hour
	old := &engine.SourceStatus{Source: "old", Latest: ago(day), Watermark: ago(time.Second)}
	older := &engine.SourceStatus{Source: "older", Latest: ago(3 * day), Watermark: ago(3*day + time.Minute)}
	fresh := &engine.SourceStatus{Source: "fresh", Latest: ago(time.Minute), Watermark: ago(2 * time.Minute)}
	behind := &engine.SourceStatus{Source: "behind", Latest: ago(time.Minute), Watermark: ago(2 * day)}
	silent := &engine.SourceStatus{Source: "silent"}
	timeless := &engine.SourceStatus{Source: "timeless", Counters: window.Counters{Committed: 1}}
	for _, c := range []struct {
		sources []*engine.SourceStatus
		want    int64
	}{
		{nil, ago(0)},
		{[]*engine.SourceStatus{silent}, ago(0)},
		{[]*engine.SourceStatus{old}, ago(day)},
		{[]*engine.SourceStatus{older, old, silent}, ago(day)},
		{[]*engine.SourceStatus{old, fresh}, ago(0)},
		{[]*engine.SourceStatus{old, timeless}, ago(0)},
	} {
		if got := chartEnd(c.sources, now, span); got != c.want {
			t.Errorf("%v: the chart ends %v ago, want %v", c.sources, now.Sub(time.Unix(0, got)), now.Sub(time.Unix(0, c.want)))
		}
	}
	for x, want := range map[*engine.SourceStatus]int64{old: old.Latest, older: older.Watermark, fresh: ago(0), behind: behind.Watermark} {
		if got := stripEnd(x, now, span); got != want {
			t.Errorf("%s: the strip ends %v ago, want %v", x.Source, now.Sub(time.Unix(0, got)), now.Sub(time.Unix(0, want)))
		}
	}
}

// A strip is the worst of its panes. They are read once, until one is written. What is not read in time is told.
func TestStrips(t *testing.T) {
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixNano()
	const minute = int64(time.Minute)
	put := func(at int64, verdict string) {
		putPane(t, st, &window.Pane{Source: "orders", Start: at, Verdicts: map[string]string{"serializable": verdict, "read-committed": "ok"}})
	}
	put(start+2*minute, "ok")
	put(start+2*minute+1, "violated")
	put(start+2*minute+2, "unknown")
	put(start+59*minute, "unknown")
	open := func(at int64) {
		putPane(t, st, &window.Pane{Source: "orders", Start: at, Verdicts: map[string]string{"serializable": "unknown"}, ByContract: []string{"serializable"}})
	}
	open(start + 3*minute)
	open(start + 59*minute + 5) // the other is worse
	putPane(t, st, &window.Pane{Source: "orders2", Start: start + 3*minute, Verdicts: map[string]string{"serializable": "violated"}})
	s := newStrips(engine.Reader{Store: st})
	now := func() time.Time { return time.Unix(0, start) }
	end := start + 60*minute - 1
	parts, whole := s.of("orders", end, minute, now().Add(time.Second), now)
	got := ""
	for _, p := range parts {
		got += fmt.Sprint(p["serializable"])
	}
	want := "0042" + "000000000000000000000000000000000000000000000000000000000000"[:55] + "3"
	if got != want || !whole || parts[2]["read-committed"] != web.OK {
		t.Errorf("%s, %v, want %s", got, whole, want)
	}
	if _, whole := s.of("orders", end, 2*minute, now().Add(-time.Second), now); whole {
		t.Error("nothing was read in time, and it says that all was")
	}
	kept := len(s.cells)
	if kept != web.Parts {
		t.Fatalf("%d cells are kept", kept)
	}
	again := func() string {
		parts, whole := s.of("orders", end, minute, now().Add(-time.Second), now)
		return fmt.Sprint(parts[59]["serializable"], parts[5]["serializable"], whole)
	}
	if got := again(); got != "3 0 true" {
		t.Errorf("%s without reading", got)
	}
	put(start+59*minute+1, "violated")
	s.written("orders", start+59*minute+1)
	s.written("orders2", start+5*minute)
	if got := again(); got != "0 0 false" || len(s.cells) != kept-1 {
		t.Errorf("%s behind an amended pane, %d cells", got, len(s.cells))
	}
	if parts, whole := s.of("orders", end, minute, now().Add(time.Second), now); parts[59]["serializable"] != web.Violated || !whole {
		t.Error("an amended pane is not read again")
	}
	for i := range maxAmended + 2 { // more than are noted
		s.written("orders", start+int64(i))
	}
	if got := again(); got != "0 0 false" || len(s.cells) != 0 {
		t.Errorf("%s behind many amended panes, %d cells", got, len(s.cells))
	}
}

// An input says what it has lost: all sources say that records are missing, and only one input may be the cause.
func TestInputSaysWhatItLost(t *testing.T) {
	i := quiet(nil)
	for n := range mostTold + 2 {
		i.note(&ingest.Chunk{Partition: fmt.Sprint("file:", n), Gaps: []ingest.Gap{{Reason: "it was truncated"}}})
	}
	if got := i.hasLost(); len(got) != mostTold+1 || got[0] != "records of file:0 were lost: it was truncated" || got[mostTold] != "and 2 more" {
		t.Errorf("%q", got)
	}
	if got := quiet(nil).hasLost(); len(got) != 0 {
		t.Errorf("%q of an input that lost nothing", got)
	}
}
