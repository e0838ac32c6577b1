package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/probe"
)

// What is written comes above the lines that are drawn, which stand once.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out}
	fmt.Fprint(above{s, &out}, "before\n")
	s.draw([]byte("a\nb\n"))
	fmt.Fprint(above{s, &out}, "finding\n")
	s.draw([]byte("c\n"))
	s.draw(nil)
	fmt.Fprint(above{s, &out}, "end\n")
	const up2, up1 = "\x1b[2A\x1b[J", "\x1b[1A\x1b[J"
	want := "before\n" + "a\nb\n" + up2 + "finding\n" + "a\nb\n" + up2 + "c\n" + up1 + "end\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The table has the expected level, and all others on which there is a verdict.
func TestTable(t *testing.T) {
	var stats probe.Stats
	for i := range 4 {
		r := event.Record{Status: event.Status(1 + i/2), Start: 0, End: int64(i) * 1e6}
		stats.Add(&r)
	}
	began := time.Unix(1000, 0)
	expect, err := isolation.ParseLevel("serializable")
	if err != nil {
		t.Fatal(err)
	}
	v := &view{t: &terminal{stdout: &bytes.Buffer{}, lookupEnv: func(string) (string, bool) { return "", false }}, expect: expect, stats: &stats, began: began}
	var s engine.Status
	want := `
  serializable                       -         expected
  2s: 2 committed, 2 aborted, 0 unknown; 2/s
  latency p50 1.05ms, p99 2.1ms, max 3ms
`[1:]
	if got := string(v.table(&s, began.Add(2*time.Second))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.Sources = []*engine.SourceStatus{
		{Source: "other", Verdicts: map[string]engine.Verdict{"read-committed": {Verdict: "violated"}}},
		{Source: probeSource, Verdicts: map[string]engine.Verdict{"serializable": {Verdict: "violated"}, "snapshot-isolation": {Verdict: "ok"}}},
	}
	want = `
  snapshot-isolation                 ok      
  serializable                       VIOLATED  expected
`[1:]
	if got := string(v.table(&s, began.Add(2*time.Second))); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
