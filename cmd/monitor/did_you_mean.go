package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// meantFlag adds the nearest flag of the command to an error about one that it does not have.
func meantFlag(c *cobra.Command, err error) error {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	if best := isolation.Closest(name, names); best != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, best)
	}
	return err
}

// mostChoices is how many an error names.
const mostChoices = 5

// wanted lists the choices for a text that is not one of them, and names the likeliest.
func wanted(text string, choices []string) string {
	want := "want " + strings.Join(choices[:min(len(choices), mostChoices)], ", ")
	if len(choices) > mostChoices {
		want += " or another one that --help lists"
	} else if i := strings.LastIndex(want, ", "); i >= 0 {
		want = want[:i] + " or " + want[i+2:]
	}
	if best := isolation.Likely(text, choices); best != "" {
		want += fmt.Sprintf("; did you mean %s?", best)
	}
	return want
}

// tellTaken says which level is taken where a name that was given has other meanings elsewhere.
func (t *terminal) tellTaken(flags *pflag.FlagSet) {
	for _, name := range []string{"expect", "levels"} {
		f := flags.Lookup(name)
		if f == nil {
			continue
		}
		switch v := f.Value.(type) {
		case expectValue:
			t.tellNotes(v.to)
		case levelsValue:
			t.tellNotes(v.to)
		}
	}
}

func (t *terminal) tellNotes(w *config.Watch) {
	for _, note := range w.Notes() {
		if !t.noted[note] {
			t.say("note: %s", note)
			t.note(note)
		}
	}
}

// note keeps that it was told.
func (t *terminal) note(text string) {
	if t.noted == nil {
		t.noted = map[string]bool{}
	}
	t.noted[text] = true
}

// logNotes does the same for what the file of settings names, for each of its sources.
func (t *terminal) logNotes(log *slog.Logger, s *config.Service) {
	told := map[string]bool{}
	for _, source := range s.SourceNames() {
		for _, note := range s.WatchOf(source).Notes() {
			if !t.noted[note] {
				log.Warn("a level has another name here", "note", note, "source", source)
				told[note] = true
			}
		}
	}
	for note := range told {
		t.note(note)
	}
}
