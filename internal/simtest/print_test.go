package simtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

// findings are all stored findings, oldest first.
func (w *world) findings() (fs []finding.Finding, err error) {
	err = engine.Reader{Store: w.store}.Each(func(f *finding.Finding) error {
		fs = append(fs, *f)
		return nil
	})
	return fs, err
}

// summary is a finding on one line: state, revision, anomaly, what it refutes,
// and its cycle or its members.
func summary(f *finding.Finding) string {
	var b strings.Builder
	if f.Source != "default" {
		b.WriteString(f.Source + " ")
	}
	if f.Epoch != "" {
		b.WriteString("epoch " + f.Epoch + " ")
	}
	fmt.Fprintf(&b, "%s r%d %s", f.State, f.Revision, f.Anomaly)
	if len(f.Refutes) > 0 {
		b.WriteString(" refutes " + strings.Join(f.Refutes, ", "))
	}
	if !f.Certain && f.Kind == finding.KindViolation {
		b.WriteString(" (uncertain)")
	}
	if f.WithdrawnBy != "" {
		fmt.Fprintf(&b, " (%s)", f.WithdrawnBy)
	}
	if f.Expected {
		b.WriteString(" (expected)")
	}
	if f.AtLeast {
		b.WriteString(" (at least)")
	}
	for _, m := range f.During {
		b.WriteString(" (during " + m.Name)
		if m.End == "" {
			b.WriteString(", which goes on")
		}
		b.WriteString(")")
	}
	b.WriteString(":")
	if len(f.Edges) == 0 {
		return strings.TrimSuffix(b.String()+" "+strings.Join(f.Txns, ", "), ": ")
	}
	for i, e := range f.Edges {
		label := e.Type
		if e.Key != "" {
			label += "(" + e.Key + ")"
		}
		if e.Derived {
			label += " derived"
		}
		if i > 0 && e.From != f.Edges[i-1].To { // the cycle is closed, and this derives an edge of it
			fmt.Fprintf(&b, " %s;", f.Edges[i-1].To)
		}
		fmt.Fprintf(&b, " %s -%s->", e.From, label)
	}
	return b.String() + " " + f.Edges[len(f.Edges)-1].To
}

// deliveries prints what the outbox holds, oldest first: every revision that is
// said to the outside.
func (w *world) deliveries() (lines []string, err error) {
	pending, err := engine.Reader{Store: w.store}.Pending("nobody", 1<<30)
	for i := range pending {
		line := summary(&pending[i].Finding)
		if n := pending[i].Finding.Count; n > 0 {
			line += fmt.Sprintf("; it stands for %d", n)
		}
		lines = append(lines, line)
	}
	return lines, err
}

// printFindings prints a line a finding. "elle" adds what Elle says each rules
// out, "title" the plain name.
func (w *world) printFindings(rest string) (lines []string, err error) {
	fs, err := w.findings()
	for i := range fs {
		line := summary(&fs[i])
		switch {
		case rest == "elle" && len(fs[i].ElleNot) > 0:
			line += "; not " + strings.Join(fs[i].ElleNot, ", ")
		case rest == "title":
			line += "; " + fs[i].Title
		case rest == "rests" && len(fs[i].RestsOn) > 0:
			line += "; rests on " + strings.Join(fs[i].RestsOn, ", ")
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{"no findings"}
	}
	return lines, err
}

// explain prints the explanation of the finding with this number, from 1, with a
// dot for an empty line, and the command that replays.
func (w *world) explain(rest string) ([]string, error) {
	fs, err := w.findings()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > len(fs) {
		return nil, fmt.Errorf("explain %q: there are findings 1 to %d", rest, len(fs))
	}
	lines := strings.Split(strings.TrimRight(fs[n-1].Explanation, "\n"), "\n")
	for i := range lines {
		if lines[i] == "" {
			lines[i] = "."
		}
	}
	if fs[n-1].Command != "" {
		lines = append(lines, fs[n-1].Command)
	}
	return lines, nil
}

// verdicts prints the levels by verdict, and why the unknown ones are.
func (w *world) verdicts() (lines []string) {
	sources := w.engine.Status().Sources
	for i := range sources {
		s := sources[i]
		prefix := ""
		if len(sources) > 1 {
			prefix = s.Source + " "
		}
		levels := map[string][]string{}
		reasons := map[string]bool{}
		for name, v := range s.Verdicts {
			levels[v.Verdict] = append(levels[v.Verdict], name)
			if v.Reason != "" {
				reasons[": "+v.Reason] = true
			}
		}
		for _, v := range []string{window.Violated, window.Unknown, window.OK} {
			if names := levels[v]; names != nil {
				slices.Sort(names)
				line := prefix + v + " " + strings.Join(names, ", ")
				if v == window.Unknown {
					line += strings.Join(slices.Sorted(maps.Keys(reasons)), "")
				}
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// decided prints what part of the reads is decided, and why the rest is not, by level. "why"
// adds what decides them.
func (w *world) decided(rest string) (lines []string) {
	for _, s := range w.engine.Status().Sources {
		for _, name := range slices.Sorted(maps.Keys(s.Verdicts)) {
			d := s.Verdicts[name].Decided
			line := fmt.Sprintf("%s: %s of %d reads", name, d.Percent(), d.Reads)
			for _, x := range d.Why {
				line += fmt.Sprintf("; %d %s", x.Reads, x.Cause)
			}
			lines = append(lines, line)
			for _, x := range d.Why {
				if rest == "why" {
					lines = append(lines, "  "+x.Text)
				}
			}
		}
	}
	return lines
}

// totals prints why totals of counters are not compared.
func (w *world) totals() (lines []string) {
	for _, s := range w.engine.Status().Sources {
		if x := s.TotalsOff; x != nil {
			lines = append(lines, fmt.Sprintf("totals of %d counters: %s", x.Counters, x.Reason))
		}
	}
	return lines
}

// ended prints the levels that are no longer watched, with what they had come to.
func (w *world) ended() (lines []string) {
	for _, s := range w.engine.Status().Sources {
		for _, name := range slices.Sorted(maps.Keys(s.Ended)) {
			e := s.Ended[name]
			lines = append(lines, strings.TrimSuffix(e.Verdict+" "+name+": "+e.Reason, ": "))
		}
	}
	return lines
}

// counters prints those that are not zero, of all or of the named ones.
func (w *world) counters(rest string) (lines []string, err error) {
	asked := strings.Fields(rest)
	sources := w.engine.Status().Sources
	for i := range sources {
		values := map[string]int64{}
		var names []string
		eachCounter(reflect.ValueOf(sources[i].Counters), func(name string, n int64) {
			values[name] = n
			if n != 0 && len(asked) == 0 {
				names = append(names, name)
			}
		})
		for _, name := range asked {
			if _, ok := values[name]; !ok {
				return nil, fmt.Errorf("no counter is called %s", name)
			}
			names = append(names, name)
		}
		line := "counters"
		if len(sources) > 1 {
			line = sources[i].Source
		}
		for _, name := range names {
			line += fmt.Sprintf(" %s=%d", name, values[name])
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// live prints how many transactions have not retired.
func (w *world) live() (lines []string) {
	for _, s := range w.engine.Status().Sources {
		lines = append(lines, fmt.Sprintf("live %d", s.Live))
	}
	return lines
}

// returned prints whether retained state came back from the store. How much did
// depends on how the records are cut into steps.
func (w *world) returned() (lines []string) {
	for _, s := range w.engine.Status().Sources {
		if s.Spilled.Returned > 0 {
			lines = append(lines, "something came back")
		} else {
			lines = append(lines, "nothing came back")
		}
	}
	return lines
}

// eachCounter calls fn for the integer fields, in order, with their names in
// lower case: LateDuplicates is late-duplicates.
func eachCounter(v reflect.Value, fn func(name string, n int64)) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct {
			eachCounter(f, fn)
			continue
		}
		name := ""
		for j, r := range v.Type().Field(i).Name {
			if unicode.IsUpper(r) && j > 0 {
				name += "-"
			}
			name += string(unicode.ToLower(r))
		}
		fn(name, v.Field(i).Int())
	}
}

// panes prints the closed panes: their ms, what they hold, their verdicts.
func (w *world) panes() (lines []string, err error) {
	err = engine.Reader{Store: w.store}.Panes(func(p *window.Pane) error {
		start, end := p.Start, p.End
		if start > epoch/2 { // not a count of transactions
			start, end = (start-epoch)/ms, (end-epoch)/ms
		}
		line := fmt.Sprintf("%d..%d r%d: %d transactions", start, end, p.Revision, p.Transactions)
		for _, name := range isolation.AnomalyNames() {
			if n := p.Findings[name]; n > 0 {
				line += fmt.Sprintf(", %s=%d", name, n)
			}
		}
		if p.Horizon > 0 {
			line += fmt.Sprintf(", horizon=%d", p.Horizon)
		}
		for _, l := range isolation.AllLevels() {
			if v := p.Verdicts[l.String()]; v != "" && v != window.OK {
				line += ", " + l.String() + " " + v
			}
		}
		lines = append(lines, line)
		return nil
	})
	if len(lines) == 0 {
		lines = []string{"no panes"}
	}
	return lines, err
}

// deadLetters prints position and reason of the records that were refused.
func (w *world) deadLetters() (lines []string, err error) {
	err = engine.Reader{Store: w.store}.DeadLetters(func(d *engine.DeadLetter) error {
		lines = append(lines, d.Position+" "+d.Reason)
		return nil
	})
	return lines, err
}
