package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// A storm of dead letters gives a line each 10 s, with the number since the last one,
// and none is left out at the end. What they hold is not in the log.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	dead := func(from, to int) (list []DeadLetter) {
		for n := from; n < to; n++ {
			list = append(list, DeadLetter{Position: fmt.Sprintf("stdin:%d", n), Reason: "no object", Record: "secret"})
		}
		return list
	}
	const second = int64(1e9)
	var x warnings
	for _, step := range []struct {
		tick int64
		dead []DeadLetter
		want string // position and number, "" for no line
	}{
		{1000 * second, nil, ""},
		{1001 * second, dead(1, 4), "stdin:1 reason=\"no object\" records=3"},
		{1002 * second, dead(4, 5), ""},
		{1010 * second, dead(5, 7), ""},
		{1011 * second, dead(7, 8), "stdin:7 reason=\"no object\" records=4"},
		{1012 * second, dead(8, 10), ""},
	} {
		out.Reset()
		x.note(step.dead, step.tick, log)
		got := out.String()
		if step.want == "" && got != "" || !strings.Contains(got, step.want) || strings.Contains(got, "secret") {
			t.Errorf("at %d s: %q, want %q", step.tick/second, got, step.want)
		}
	}
	for _, want := range []string{"position=stdin:9 reason=\"no object\" records=2", ""} {
		out.Reset()
		x.rest(log)
		if got := out.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("at the end: %q, want %q", got, want)
		}
	}
}

// Times in seconds, and names of levels that are none, are told once.
func TestDoubts(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var d event.Decoder
	var x doubts
	for _, step := range []struct{ record, want string }{
		{`{"txn":"A","start":5,"end":6,"status":"committed","isolation":"READ COMMITTED","ops":[]}`, ""},
		{`{"txn":"B","start":1795000000,"end":1795000001,"status":"committed","ops":[]}`, "look like seconds"},
		{`{"txn":"C","start":1795000000,"end":1795000001,"status":"committed","isolation":"READ COMITTED","ops":[]}`, `isolation="READ COMITTED"`},
		{`{"txn":"D","status":"committed","isolation":"READ COMITTED","ops":[]}`, ""},
	} {
		b := event.Batch{Partitions: []string{"p"}}
		d.DecodeMessage(&b, event.Position{}, []byte(step.record))
		out.Reset()
		if x.note(&b, log); len(b.Txns) != 1 {
			t.Fatalf("%s is bad", step.record)
		}
		if got := out.String(); step.want == "" && got != "" || !strings.Contains(got, step.want) || strings.Count(got, "level=WARN") > 1 {
			t.Errorf("%s: %q, want %q", step.record, got, step.want)
		}
	}
}
