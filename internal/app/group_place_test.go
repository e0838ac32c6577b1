package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// reads is the status of an engine that has read so many records of one partition. Each source has its own time, s.
func reads(next int64, times ...float64) *engine.Status {
	s := &engine.Status{Cursors: []engine.CursorStatus{{Partition: "p", Next: next, Identity: "i"}}}
	for i, at := range times {
		x := &engine.SourceStatus{Source: fmt.Sprint("s", i), Counters: window.Counters{Committed: next}}
		if at > 0 {
			x.Latest = int64(at * float64(time.Second))
			x.Watermark, x.Counters.Committed = x.Latest-int64(time.Second), int64(100*at)
		}
		s.Sources = append(s.Sources, x)
	}
	return s
}

// TestPlaces: the place of a unit lies one window of its records before its last cursor, however fast they are read. Before a window was read it is the
// place of the owner before, or the oldest record.
func TestPlaces(t *testing.T) {
	window := reach{10 * time.Second, 1000}
	began := time.Now()
	// after is the time since the start. It gives the offset of the place; -1: the oldest, -2: not known.
	look := func(p *places, after time.Duration, s *engine.Status) int64 {
		text := p.look(began.Add(after), s)
		if text == nil {
			return -2
		}
		var b beginning
		if err := json.Unmarshal(text, &b); err != nil || b.Read["p"] != s.Cursors[0].Next || b.Reason != "" {
			t.Fatalf("%s: %v", text, err)
		}
		if b.Oldest {
			return -1
		}
		if c, ok := b.Cursors["p"]; ok && c.Identity != "i" {
			t.Fatalf("%s names another partition", text)
		}
		return b.Cursors["p"].Next
	}
	for name, c := range map[string]struct {
		state   string
		at      func(second int) *engine.Status
		seconds int
		least   int64
		most    int64
	}{
		"as they happen":       {"", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(n)) }, 60, 100 * (60 - 13), 100 * (60 - 10)},
		"a backlog":            {"", func(n int) *engine.Status { return reads(int64(100*n), 1000+3600*float64(n)) }, 4, 200, 300},
		"less than a window":   {"", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(n)) }, 9, -1, -1},
		"an idle stream":       {"", func(n int) *engine.Status { n = min(n, 60); return reads(int64(100*n), 1000+float64(n)) }, 600, 100 * (60 - 13), 100 * (60 - 10)},
		"a source that ended":  {"", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(min(n, 20)), 1000+float64(n)) }, 60, 100 * (60 - 13), 100 * (60 - 10)},
		"a slow source":        {"", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(n), 1000+60*float64(n)) }, 60, 100 * (60 - 13), 100 * (60 - 10)},
		"no times":             {"", func(n int) *engine.Status { return reads(int64(100*n), 0) }, 60, 6000 - 1300, 6000 - 1000},
		"nothing decoded":      {"", func(n int) *engine.Status { return reads(int64(100 * n)) }, 60, 100 * (60 - 13), 100 * (60 - 10)},
		"after another owner":  {`{"format":1,"place":{"cursors":{"p":{"next":7,"identity":"i"}},"reason":"x"}}` + "\n", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(n)) }, 5, 7, 7},
		"after an old release": {`{"format":1}` + "\n", func(n int) *engine.Status { return reads(int64(100*n), 1000+float64(n)) }, 5, -2, -2},
	} {
		p := newPlaces(window, []byte(c.state))
		got := int64(0)
		for n := range c.seconds {
			got = look(p, time.Duration(n+1)*time.Second, c.at(n+1))
		}
		if got < c.least || got > c.most {
			t.Errorf("%s: the place is %d, want %d to %d", name, got, c.least, c.most)
		}
		if len(p.spots) > mostSpots {
			t.Errorf("%s: %d spots are kept", name, len(p.spots))
		}
	}
	p := newPlaces(window, nil)
	for n := range 1000 { // its watermark stands still
		look(p, time.Duration(n+1)*time.Second, reads(int64(n+1), 1000))
	}
	if len(p.spots) > mostSpots {
		t.Errorf("%d spots are kept while the watermark stands still", len(p.spots))
	}
}

// TestGroupRemembersPlaces: the latest owner's place counts, whether this member or the store has it. Nothing overwrites a later one.
func TestGroupRemembersPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := lonelyGroup(t, "a", dir), lonelyGroup(t, "b", dir)
	if a.remembered("u") != nil {
		t.Error("a place that nobody wrote")
	}
	for _, c := range []struct {
		g     *Group
		term  uint64
		place string
		write bool
		by    *Group
		want  string
	}{
		{a, 1, `"one"`, true, b, `"one"`},
		{b, 3, `"three"`, true, a, `"three"`},
		{a, 2, `"two"`, true, b, `"three"`},
		{a, 4, `"four"`, false, b, `"three"`},
		{a, 4, ``, false, a, `"four"`},
	} {
		c.g.remember("u", c.term, []byte(c.place))
		if c.write {
			if err := c.g.writePlace(t.Context(), "u"); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(c.by.remembered("u")); got != c.want {
			t.Errorf("after %s of the term %d, %s knows %s, want %s", c.place, c.term, c.by.id, got, c.want)
		}
	}
	if a.remember("u", 4, []byte(`"four"`)) || !a.remember("u", 4, []byte(`"later"`)) {
		t.Error("whether the place is another one is not told")
	}
}

// TestBeginsAnewSaysWhere: the reason of the gap says how far the unit had been read.
func TestBeginsAnewSaysWhere(t *testing.T) {
	for _, c := range []struct {
		b      beginning
		begins int64
		want   string
	}{
		{beginning{Reason: "lost", Read: map[string]int64{"p": 90}, Cursors: map[string]ingest.Cursor{"p": {Next: 1}}}, 1, "read up to 90, and is read again from 1 on, from the beginning of the input"},
		{beginning{Reason: "lost"}, 70, "lost: what came before is not known"},
		{beginning{Reason: "lost", Read: map[string]int64{"p": 90}, Cursors: map[string]ingest.Cursor{"p": {Next: 70}}}, 70, "read up to 90, and is read again from 70 on, a window before"},
		{beginning{Reason: "lost", Read: map[string]int64{"p": 90}, Oldest: true}, 70, "read up to 90, less than a window, and is read again from 70 on"},
	} {
		if got := c.b.why("p", c.begins); !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestPlaceBeforeTheBegin: a unit may be handed over before its app has started. Its state says where it began all the same: else the next owner
// would know no place until it has read a window.
func TestPlaceBeforeTheBegin(t *testing.T) {
	for state, want := range map[string]string{
		"": `{"oldest":true}`,
		`{"format":1,"place":{"cursors":{"p":{"next":7}},"read":{"p":9},"reason":"lost"}}` + "\n": `{"cursors":{"p":{"next":7}},"read":{"p":9}}`,
		`{"format":1}` + "\n": "",
	} {
		u := &unit{places: newPlaces(reach{}, []byte(state))}
		if got := string(u.place()); got != want {
			t.Errorf("the place behind the state %q is %s, want %s", state, got, want)
		}
	}
}
