package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
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
