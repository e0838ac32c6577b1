package app

import (
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// A finding names no replay where an input may hold its records and cannot be read again: standard
// input, the probe of its source, and a kind that a replay does not know.
func TestNoCommandWithoutAllRecords(t *testing.T) {
	tail := config.PlacedInput{Input: config.Input{Tail: []string{"/log"}}, Source: "a"}
	watch := config.DefaultWatch(config.LiveContract())
	for _, c := range []struct {
		name  string
		other config.PlacedInput
		want  bool
	}{
		{"files", tail, true},
		{"standard input", config.PlacedInput{Input: config.Input{Stdin: true}, Source: "b"}, false},
		{"a probe", config.PlacedInput{Input: config.Input{Probe: &config.Probe{}}, Source: "a"}, false},
		{"the probe of another source", config.PlacedInput{Input: config.Input{Probe: &config.Probe{}}, Source: "b"}, true},
		{"a new kind", config.PlacedInput{Source: "b"}, false},
	} {
		r := replayable{inputs: []config.PlacedInput{tail, c.other}}
		if got := r.command("a", &watch) != ""; got != c.want {
			t.Errorf("%s: a command is named: %v", c.name, got)
		}
	}
}
