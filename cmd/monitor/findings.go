package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

func findingsCommand(t *terminal) *cobra.Command {
	data, output, id := config.DefaultData, "text", ""
	dead, panes := false, false
	var some selection
	name, state := "", "" // of a group
	c := &cobra.Command{
		Use:   "findings",
		Short: "Print stored findings, oldest first, also while a service runs",
		Long: "Findings prints the latest revision of every finding in a data folder, the oldest first. If a service has the folder\n" +
			"open, the service answers over the socket in it. Otherwise the folder is opened for reading only.\n\n" +
			"With --id it prints one finding, also as dot (Graphviz), as svg, or as history. A history holds the records of the\n" +
			"finding's transactions. \"monitor check --contract start=existing\" finds the anomaly again in this history.\n\n" +
			"With --group-state it prints what a group has found. Exit code 2: the state of some unit cannot be read as a whole.\n" +
			"The unit is named, and its other findings are printed.",
		Example: "  monitor findings --data ./isowatch-data --since 1h\n" +
			"  monitor findings --data ./isowatch-data --id ID --output history > history.jsonl",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := some.check(); err != nil {
				return err
			}
			kind := app.Findings
			switch {
			case dead && panes:
				return usagef("use --dead-letters or --panes, not both")
			case id == "" && pictured(output):
				return usagef("--output %s prints one finding: name it with --id", output)
			case id != "" && (dead || panes):
				return usagef("--id names a finding, not a dead letter or a pane")
			case some.any() && (dead || panes || id != ""):
				return usagef("--source, --anomaly, --violations, --since and --limit are for lists of findings: leave out --id, --dead-letters and --panes")
			case dead:
				kind = app.DeadLetters
			case panes:
				kind = app.Panes
			}
			show := showText(kind, t.colors())
			if pictured(output) {
				show = func(dst, record []byte) ([]byte, error) { return appendPictured(dst, record, output) }
			} else if output == "jsonl" {
				show = func(dst, record []byte) ([]byte, error) { return append(append(dst, record...), '\n'), nil }
			}
			var line []byte
			found := false
			some.now = time.Now()
			take := func(record []byte) (err error) {
				if id != "" && !isFinding(record, id) {
					return nil
				}
				found = true
				if line, err = show(line[:0], record); err == nil {
					_, err = t.stdout.Write(line)
				}
				return err
			}
			all := take
			if some.any() {
				all = func(record []byte) error { return some.take(record, take) }
			}
			var err error
			incomplete := false
			if name == "" && state == "" {
				err = app.ReadStored(c.Context(), data, kind, all)
			} else {
				incomplete, err = findGroup(c, t, name, state, kind, all)
				data = "the group"
			}
			if err == nil {
				err = some.rest(take)
			}
			if err == nil && id != "" && !found {
				return usagef("no finding has the id %s", id)
			}
			if err == nil && !found && some.any() {
				t.say("monitor: %s holds no such findings", printable(data))
			} else if err == nil && !found {
				t.say("monitor: %s holds no %s", printable(data), strings.ReplaceAll(string(kind), "-", " "))
			}
			if err == nil && incomplete {
				return exitError{exitUnknown}
			}
			return err
		},
	}
	groupFlags(c, &name, &state)
	f := c.Flags()
	f.StringVar(&data, "data", data, "data folder of the service")
	f.BoolVar(&dead, "dead-letters", false, "print the records that could not be decoded instead")
	f.BoolVar(&panes, "panes", false, "print the verdicts by stretch of time instead")
	f.StringVar(&id, "id", "", "print this finding only")
	some.flags(f)
	f.VarP(choiceValue{&output, []string{"text", "jsonl", "dot", "svg", "history"}}, "output", "o", "form of the output")
	return c
}

// findGroup gives the records of a group, and names units whose records cannot all be read.
func findGroup(c *cobra.Command, t *terminal, name, state string, kind app.Kind, take func([]byte) error) (incomplete bool, err error) {
	switch {
	case state == "":
		return false, usagef("name the store of the group with --group-state")
	case c.Flags().Changed("data"):
		return false, usagef("findings are of a group, or of a data folder: leave out --data, or --group and --group-state")
	}
	s, err := app.OpenGroup(c.Context(), state, name)
	if err != nil {
		return false, err
	}
	defer s.Close()
	err = app.GroupStored(c.Context(), s, kind, take, func(unit string, err error) {
		incomplete = true
		t.say(
			"monitor: %s of the unit %s are missing: its state cannot be read as a whole: %s",
			strings.ReplaceAll(string(kind), "-", " "),
			printable(unit),
			printable(err.Error()),
		)
	})
	return incomplete, err
}

// showText appends a record of the kind in its form for people.
func showText(kind app.Kind, color bool) func(dst, record []byte) ([]byte, error) {
	switch kind {
	case app.DeadLetters:
		return func(dst, record []byte) ([]byte, error) {
			var d engine.DeadLetter
			err := json.Unmarshal(record, &d)
			return fmt.Appendf(dst, "%s: %s\n  %q\n", printable(words.Place(d.Position, words.OfService)), printable(d.Reason), d.Record), err
		}
	case app.Panes:
		return func(dst, record []byte) ([]byte, error) {
			var p window.Pane
			err := json.Unmarshal(record, &p)
			return appendPane(dst, &p), err
		}
	}
	return func(dst, record []byte) ([]byte, error) {
		var f finding.Finding
		err := json.Unmarshal(record, &f)
		return words.Append(dst, &f, color), err
	}
}

// appendPane is a pane on one line. Panes of sources without times count
// transactions, and have no date.
func appendPane(dst []byte, p *window.Pane) []byte {
	from, to := fmt.Sprint(p.Start), fmt.Sprint(p.End)
	if p.Timed() {
		from, to = clock(p.Start), clock(p.End)
	}
	var verdicts []string
	for _, l := range isolation.AllLevels() {
		if v, ok := p.Verdicts[l.String()]; ok {
			verdicts = append(verdicts, l.String()+" "+v)
		}
	}
	var findings int64
	for _, n := range p.Findings {
		findings += n
	}
	return fmt.Appendf(dst, "%s  %s to %s  %s, %s  %s\n", printable(p.Source), from, to,
		whole.Plural(p.Transactions, "transaction", "transactions"), whole.Plural(findings, "finding", "findings"), strings.Join(verdicts, ", "))
}

func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05Z") }

// pictured says whether the form is for one finding only.
func pictured(output string) bool { return output == "dot" || output == "svg" || output == "history" }

func isFinding(record []byte, id string) bool {
	var f struct{ ID string }
	return json.Unmarshal(record, &f) == nil && f.ID == id
}

// appendPictured appends a finding as a graph, a picture, or the records that it
// rests on.
func appendPictured(dst, record []byte, output string) ([]byte, error) {
	var f finding.Finding
	if err := json.Unmarshal(record, &f); err != nil {
		return dst, err
	}
	if output != "history" && len(f.Txns) == 0 {
		return dst, usagef("finding %s names no transactions: there is nothing to draw", f.ID)
	}
	switch output {
	case "dot":
		return append(dst, picture.DOT(f)...), nil
	case "svg":
		return append(dst, picture.SVG(f)...), nil
	}
	if f.NoEvidence {
		return dst, usagef("the records of finding %s are no longer kept: they are older than retention.evidence", f.ID)
	}
	if len(f.History) == 0 {
		return dst, usagef("no records were kept of finding %s: it rests on none, or they are larger than 32 KiB", f.ID)
	}
	for _, r := range f.History {
		dst = append(append(dst, r...), '\n')
	}
	return dst, nil
}
