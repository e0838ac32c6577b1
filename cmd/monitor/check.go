package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// formatValue is the format of recorded histories; "auto" recognises it.
type formatValue struct{ to *history.Format }

func (v formatValue) String() string {
	if v.to == nil || *v.to == "" {
		return "auto"
	}
	return string(*v.to)
}

func (v formatValue) Type() string { return "FORMAT" }

// formats are the values of --format.
func formats() []string {
	names := []string{"auto"}
	for _, f := range history.Formats() {
		names = append(names, string(f))
	}
	return names
}

// formatUsage is the help of --format.
func formatUsage(of string) string {
	return of + ": " + strings.Join(formats(), ", ") + "; histories of cobra and viper are folders"
}

func (v formatValue) Set(text string) (err error) {
	if *v.to = ""; text != "auto" {
		*v.to, err = history.ParseFormat(text)
	}
	if err != nil {
		return usageError{errors.New(wanted(text, formats()))}
	}
	return nil
}

func checkCommand(t *terminal) *cobra.Command {
	w := config.DefaultWatch(config.WholeContract())
	var format history.Format
	var report reportFile
	output, allowEmpty := "text", false
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check whole histories, exactly",
		Long: "Check reads recorded histories and shows whether they satisfy isolation levels. A file has one transaction as JSON on\n" +
			"each line, or the format of another checker (--format), which is recognized by the content. FILE - is standard input.\n" +
			"Check keeps the whole history in memory, unless --window is given.\n\n" +
			"A record that cannot be decoded is reported on standard error, and makes verdicts unknown. If a file has several\n" +
			"sources, each is checked by itself. The verdict on a level is the worst one of all sources.\n\n" +
			"--expect names one level, or a setting of a product. The exit code is the verdict on this level, even if --levels\n" +
			"names more levels. If some transactions asked for a weaker level (isolation in their records), the verdict is unknown\n" +
			"at best. --contract isolation=ignore judges all transactions by the expected level.\n\n" +
			"Exit codes: 0 all levels hold in all files, 1 one is violated, 2 one is unknown and none is violated. 130 interrupted.\n" +
			"254 wrong usage, or a file that cannot be read (the others are still checked). 255 internal error.",
		Example: "  monitor check history.jsonl\n" +
			"  monitor check --contract start=existing,unmonitored-writers=yes --expect postgresql/read-committed txns.jsonl",
		Args: arguments(1, -1),
		RunE: func(c *cobra.Command, files []string) error {
			if err := w.Validate(); err != nil {
				return usageError{err}
			}
			if err := report.prepare(t, nil); err != nil {
				return err
			}
			expecting := c.Flags().Changed("expect")
			if expecting {
				w.AskExpected(c.Flags().Changed("levels"))
			}
			p := newProgress(t, files)
			return p.while(c.Context(), func() error {
				return checkFiles(t, files, output, allowEmpty, &report, &whole.Whole{
					Brief: output == "text" && report.path == "", Raws: report.raws(),
					Watch: w, Expecting: expecting, Bounded: c.Flags().Changed("window"), HideKey: whole.HideKey(w.ShowValues), Stdin: t.stdin,
					Format: format, FixedContract: c.Flags().Changed("contract"), Tell: p.tell, Doing: p.doing,
					Collector: &whole.Collector{SetPercent: debug.SetGCPercent, Collect: runtime.GC},
				})
			})
		},
	}
	f := c.Flags()
	watchFlags(f, &w)
	f.Var(expectValue{&w}, "expect", "level that the histories must satisfy: only this level is checked, and the exit code is its verdict")
	f.Lookup("expect").DefValue = "" // without it all levels are asked for alike
	f.Lookup("window").DefValue = "" // without it nothing is forgotten
	f.Var(formatValue{&format}, "format", formatUsage("format of the files"))
	f.BoolVar(&allowEmpty, "allow-empty", false, "a file without transactions is ok, not unknown")
	f.VarP(choiceValue{&output, []string{"text", "jsonl", "junit"}}, "output", "o", "form of the output; junit: a test suite for CI, with a case for each file and level")
	report.register(f)
	return c
}

// checkFiles answers on the files in their order. An unreadable file outweighs every
// verdict, since the answer is then not complete.
func checkFiles(t *terminal, files []string, output string, allowEmpty bool, file *reportFile, w *whole.Whole) error {
	worst, unreadable := 0, 0
	var first *finding.Finding
	suite := junitSuite{}
	others := &others{}
	table := newChecked()
	var reports []whole.Report
	var values []any // the same, in the form of JSON
	err := w.CheckFiles(files, func(a *whole.Answer) error {
		tellDeadLetters(t, a)
		r := a.Report
		if a.Err != nil {
			unreadable++
			table.unreadable(a.File)
			if output == "junit" {
				suite.unreadable(a.File, a.Err)
			}
			if file.path != "" {
				reports = append(reports, whole.Report{File: a.File, Error: reasonOf(a.Err)})
				values = append(values, unreadableFile{a.File, reasonOf(a.Err)})
			}
			return tellUnreadable(t, a.File, output, a.Err)
		}
		if r.Transactions == 0 {
			t.say("monitor: warning: %s holds no transactions", printable(a.File))
			if !allowEmpty {
				nothingDecided(r)
			}
		}
		worst = max(worst, rank(r.Outcome()))
		if file.path != "" {
			reports, values = append(reports, *r), append(values, *r)
		}
		table.add(r)
		for i := range r.Findings {
			first = worse(first, &r.Findings[i])
			others.add(&r.Findings[i])
		}
		if output == "junit" {
			suite.bad(a.File, a.DeadLetters, a.NumDead)
			suite.add(r)
			return nil
		}
		return tellReport(t, r, output)
	})
	switch {
	case err == nil && output == "junit":
		err = suite.write(t.stdout, "monitor check")
	case err == nil && output == "text":
		var end []byte
		if first != nil {
			end = others.append(appendAdvice(nil, first), first)
		}
		_, err = t.stdout.Write(table.append(end))
	}
	if !errors.Is(err, context.Canceled) { // also where standard output takes no more
		err = errors.Join(err, file.write(values, func() *page.Report { return reportPage("monitor check", reports) }))
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if unreadable > 0 {
		return exitError{exitUsage}
	}
	return exitWith([]string{window.OK, window.Unknown, window.Violated}[worst])
}

func tellDeadLetters(t *terminal, a *whole.Answer) {
	for _, d := range a.DeadLetters {
		t.say("monitor: bad record at %s: %s", printable(d.Position), printable(d.Reason))
	}
	if more := a.NumDead - len(a.DeadLetters); more > 0 {
		t.say("monitor: %s in %s", whole.Plural(int64(more), "more bad record", "more bad records"), printable(a.File))
	}
}

// nothingDecided says of a file without transactions that it shows nothing.
func nothingDecided(r *whole.Report) {
	for level, verdict := range r.Verdicts {
		if verdict == window.Unknown {
			continue // there is another reason, as bad records
		}
		r.Verdicts[level] = window.Unknown
		r.Reasons[level] = "the file holds no transactions (--allow-empty takes that for ok)"
	}
}

// rank orders verdicts by what the exit code says of several.
func rank(verdict string) int {
	switch verdict {
	case window.Violated:
		return 2
	case window.Unknown:
		return 1
	}
	return 0
}

func tellReport(t *terminal, r *whole.Report, output string) error {
	if output == "jsonl" {
		return json.NewEncoder(t.stdout).Encode(r)
	}
	_, err := t.stdout.Write(whole.AppendProofs(nil, r, t.colors()))
	return err
}

func tellUnreadable(t *terminal, file, output string, fault error) error {
	reason := reasonOf(fault)
	if output == "jsonl" {
		return json.NewEncoder(t.stdout).Encode(unreadableFile{file, reason})
	}
	t.fail(fmt.Errorf("%s cannot be read: %s", printable(file), reason))
	return nil
}

// unreadableFile stands in the place of the report on a file.
type unreadableFile struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

// reasonOf is why a file cannot be read; the file is named beside it.
func reasonOf(fault error) string {
	var path *fs.PathError
	if errors.As(fault, &path) {
		return path.Err.Error()
	}
	return fault.Error()
}
