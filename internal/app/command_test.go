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
		{"standard input of another source alone", config.PlacedInput{Input: config.Input{Stdin: true}, Source: "b", Only: true}, true},
		{"standard input of its own", config.PlacedInput{Input: config.Input{Stdin: true}, Source: "a", Only: true}, false},
		{"a new kind", config.PlacedInput{Source: "b"}, false},
	} {
		r := replayable{inputs: []config.PlacedInput{tail, c.other}}
		if got := r.command("a", &watch) != ""; got != c.want {
			t.Errorf("%s: a command is named: %v", c.name, got)
		}
	}
}

// A replay of a source with inputs of its own takes no record of another, and one of another source reads none of them.
func TestCommandOfOwnInputs(t *testing.T) {
	watch := config.DefaultWatch(config.LiveContract())
	file := func(name, source string, only bool) config.PlacedInput {
		return config.PlacedInput{Input: config.Input{Tail: []string{name}}, Source: source, Only: only}
	}
	own, other, all := file("/own", "a", true), file("/other", "b", false), file("/all", config.DefaultSource, false)
	for _, c := range []struct {
		source string
		inputs []config.PlacedInput
		want   string
	}{
		{"a", []config.PlacedInput{own, other, all}, "monitor replay --default-source a --own-inputs --file /own"},
		{"b", []config.PlacedInput{own, other, all}, "monitor replay --default-source b --file /other"},
		{"c", []config.PlacedInput{own, other, all}, "monitor replay --file /other --file /all"},
		{"a", []config.PlacedInput{own, file("/more", "a", false)}, "monitor replay --default-source a --file /own --file /more"},
		{config.DefaultSource, []config.PlacedInput{file("/own", config.DefaultSource, true)}, "monitor replay --own-inputs --file /own"},
	} {
		r := replayable{inputs: c.inputs}
		if got := r.command(c.source, &watch); got != c.want {
			t.Errorf("%s: %s, want %s", c.source, got, c.want)
		}
	}
}
