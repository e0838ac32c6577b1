package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
)

func replayCommand(t *terminal) *cobra.Command {
	r := config.Replay{Watch: config.DefaultWatch(config.LiveContract())}
	var in inputFlags
	var format history.Format
	var report reportFile
	output, logLevel, logFormat, fault := "text", "error", "text", ""
	c := &cobra.Command{
		Use:   "replay",
		Short: "Check a range of the input again, and close a horizon finding",
		Long: "Replay reads records again, from a broker or from files, and shows whether they satisfy isolation levels. It stores\n" +
			"nothing. It keeps the whole range in memory, unless --window is given. Without --to it reads all records that are\n" +
			"there when it begins.\n\n" +
			"--from and --to (exclusive) are times in RFC 3339, or positions. A position is the sequence of a NATS message, the byte\n" +
			"of a line in a file, or PARTITION:OFFSET,... for Kafka. A range of times holds the transactions that ran in it. A range\n" +
			"leaves out records, so it is checked with --contract capture=partial, and with --from also with start=existing.\n\n" +
			"A horizon finding contains the replay command that decides it. This command closes the finding in one of two ways:\n" +
			"  resolved-violated   the range holds a violation of --expect, and a transaction named by --txn is part of it\n" +
			"  resolved-ok         the whole range was read, with the writer of every value that a --txn read, and holds no such violation\n" +
			"Otherwise the finding stays open, and standard error shows the reason. The service that uses the folder --data checks\n" +
			"the answer, stores it, and sends it to its sinks.\n\n" +
			"Unlike check, replay takes its exit code from --levels: --expect is the level of the service that made --finding,\n" +
			"which the answer must fit.\n\n" +
			"Exit codes: 0 all levels hold, 1 one is violated, 2 one is unknown and none is violated. 130 interrupted. 254 wrong\n" +
			"usage, or an input that cannot be read. 255 internal error, and with --fault: the failure happens again.",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if r.NATS, r.Kafka, err = in.named(c.Flags(), t.lookupEnv); err != nil {
				return err
			}
			if fault != "" {
				return reproduce(t, fault)
			}
			r.Bounded = c.Flags().Changed("window")
			if err := r.Validate(); err != nil {
				return usageError{err}
			}
			if err := report.prepare(t, nil); err != nil {
				return err
			}
			log, err := t.logger(logLevel, logFormat)
			if err != nil {
				return err
			}
			p := newProgress(t, []string{"-"})
			var bar progressBar
			replay := &app.Replay{
				Config: r, Log: log, Format: format, FixedContract: c.Flags().Changed("contract"), Progress: bar.take, Doing: bar.doing, Raws: report.raws(),
			}
			return p.showing(c.Context(), bar.text, func() error { return replayAll(c.Context(), t, replay, output, &report) })
		},
	}
	f := c.Flags()
	f.StringArrayVar(&r.Files, "file", nil, "files to read, a pattern such as 'log/*.jsonl'; may be repeated")
	f.Var(formatValue{&format}, "format", formatUsage("format of the files"))
	f.StringVar(&fault, "fault", "", "only replay a file of the folder 'faults': does this version still fail on these records?")
	in.brokers(f)
	f.Var(boundValue{&r.From}, "from", "where the range begins (default: the input's beginning)")
	f.Var(boundValue{&r.To}, "to", "where the range ends, exclusive (default: the input's present end)")
	f.StringVar(&r.Source, "source", "", "only this source (default all)")
	f.StringVar(&r.DefaultSource, "default-source", "", "source of records that name no source (default \"default\")")
	f.BoolVar(&r.OwnInputs, "own-inputs", false, "no record is of another source than --default-source: one that names another is a bad record")
	f.StringVar(&r.Key, "key", "", "show only findings about this key; all keys are checked")
	f.StringVar(&r.Finding, "finding", "", "id of the horizon finding to close")
	f.StringVar(&r.Data, "data", "", "data folder of the running service in which to close --finding (default: only print it)")
	f.StringArrayVar(&r.Txns, "txn", nil, "transaction that --finding names; may be repeated")
	f.StringVar(&r.Epoch, "epoch", "", "epoch of the transactions of --txn")
	f.Int64Var(&r.Unnamed, "unnamed", 0, "number of edges of --finding to transactions without a name")
	f.Var(expectValue{&r.Watch}, "expect", "level that decides --finding: the level that its service expects; the exit code is the verdict on --levels")
	watchFlags(f, &r.Watch)
	f.Lookup("window").DefValue = "" // without it nothing is forgotten
	f.VarP(choiceValue{&output, []string{"text", "jsonl", "junit"}}, "output", "o", "form of the output; junit: a test suite for CI, with a case for each level")
	report.register(f)
	f.Var(choiceValue{&logLevel, logLevels}, "log-level", "lowest level that is logged")
	f.Var(choiceValue{&logFormat, logFormats}, "log-format", "form of the log on standard error")
	return c
}

// reproduce says whether the fault of a file comes again.
func reproduce(t *terminal, path string) error {
	x, err := app.ReproduceFault(path)
	if err != nil {
		return err
	}
	of := "source " + x.Source
	if x.Position != "" {
		of += ", record at " + x.Position
	}
	fmt.Fprintf(t.stdout, "%s\nIt was: %s\n", printable(of), printable(x.Was))
	if x.Again == "" {
		fmt.Fprintln(t.stdout, "This version does not have the fault.")
		return nil
	}
	fmt.Fprintf(t.stdout, "This version has the fault: %s\n", printable(x.Again))
	return exitError{exitInternal}
}

// replayAll replays and answers.
func replayAll(ctx context.Context, t *terminal, replay *app.Replay, output string, file *reportFile) error {
	told, r := 0, &replay.Config
	var bad []whole.DeadLetter
	replay.DeadLetter = func(position, reason string) {
		if told++; told <= whole.MaxDeadLetters {
			bad = append(bad, whole.DeadLetter{Position: position, Reason: reason})
			t.say("monitor: bad record at %s: %s", printable(position), printable(reason))
		}
	}
	answer, err := replay.Run(ctx)
	suite := junitSuite{}
	if output == "junit" && err != nil && ctx.Err() == nil {
		suite.unreadable("replay", err)
		return errors.Join(err, suite.write(t.stdout, "monitor replay"))
	}
	if err != nil && ctx.Err() != nil {
		return exitError{exitInterrupted}
	}
	if err != nil {
		return err
	}
	if told > whole.MaxDeadLetters {
		t.say("monitor: %d more bad records", told-whole.MaxDeadLetters)
	}
	var untold error
	if r.Data != "" && answer.Closed != nil {
		untold = app.CloseFinding(ctx, r, answer.Closed)
	}
	if errors.Is(untold, app.ErrStaysOpen) { // the service knows better
		answer.Closed, answer.Undecided = nil, "the service in "+r.Data+" says: "+untold.Error()
		untold = nil
	}
	suite.bad(answer.File, bad, told)
	err = tellReplayed(t, answer, r, output, &suite)
	if err == nil {
		all := answer.Report
		if answer.Closed != nil {
			all.Findings = append(slices.Clip(all.Findings), *answer.Closed)
		}
		err = file.write(all, func() *page.Report { return reportPage("monitor replay", []whole.Report{all}) })
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if untold != nil {
		t.say("monitor: the service in %s was not told: %s", printable(r.Data), printable(untold.Error()))
	}
	return exitWith(answer.Outcome())
}

// tellReplayed prints findings to standard output, one a line as JSON or for people,
// the closed horizon finding last. As JSON, verdicts go to standard error.
func tellReplayed(t *terminal, r *app.Replayed, c *config.Replay, output string, suite *junitSuite) error {
	for _, x := range []struct {
		n         int64
		one, many string
	}{
		{r.Outside, "record is outside of the range or of another source", "records are outside of the range or of another source"},
		{r.Untimed, "record has no times, and is in no range of times", "records have no times, and are in no range of times"},
		{int64(r.Hidden), "finding is about other keys, and not shown", "findings are about other keys, and not shown"},
	} {
		if x.n > 0 {
			t.say("monitor: %s", whole.Plural(x.n, x.one, x.many))
		}
	}
	for _, g := range r.Gaps {
		t.say("monitor: input is lost: %s", printable(g))
	}
	if r.Transactions == 0 {
		t.say("monitor: warning: there are no transactions in the range")
	}
	if r.Undecided != "" {
		t.say("monitor: finding %s stays open: %s", printable(c.Finding), printable(r.Undecided))
	}
	if output == "junit" {
		suite.add(&r.Report)
		if r.Closed != nil {
			suite.Out += string(words.Append(nil, r.Closed, false))
		}
		return suite.write(t.stdout, "monitor replay")
	}
	if output == "jsonl" {
		out := json.NewEncoder(t.stdout)
		var faults []error
		for i := range r.Findings {
			faults = append(faults, out.Encode(&r.Findings[i]))
		}
		if r.Closed != nil {
			faults = append(faults, out.Encode(r.Closed))
		}
		if len(r.Verdicts) > 0 {
			line, err := whole.AppendVerdictLine(nil, &r.Report)
			if err == nil {
				_, err = t.stdout.Write(line)
			}
			faults = append(faults, err)
		}
		_, err := t.stderr.Write(whole.AppendVerdicts(nil, &r.Report, false))
		return errors.Join(append(faults, err)...)
	}
	text := whole.AppendReport(nil, &r.Report, t.colors())
	if r.Closed != nil {
		text = words.Append(text, r.Closed, t.colors())
	}
	_, err := t.stdout.Write(text)
	return err
}

// progressBar is how far a replay is. Safe for concurrent use.
type progressBar struct {
	mu    sync.Mutex
	now   app.Progress
	rate  float64 // records a second
	phase string  // "": it reads
	began time.Time
}

func (b *progressBar) take(p app.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = float64(p.Records-b.now.Records) / max(p.Took-b.now.Took, time.Millisecond).Seconds()
	b.now = p
}

func (b *progressBar) doing(phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phase, b.began = phase, time.Now()
}

func (b *progressBar) text(now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.phase != "":
		return doingText(b.phase, now.Sub(b.began))
	case b.now.Took == 0:
		return "" // nothing is told yet
	}
	return progressText(b.now, b.rate)
}

// progressText names the records read, how many a second, and how long it takes
// from here at the pace so far.
func progressText(p app.Progress, rate float64) string {
	text := fmt.Sprintf("%s, %.0f/s", whole.Plural(p.Records, "record", "records"), rate)
	if p.Share > 0 {
		left := time.Duration(float64(p.Took) * (1 - p.Share) / p.Share)
		text += fmt.Sprintf(", %.0f%%, about %s left", 100*p.Share, left.Round(time.Second))
	}
	return text
}
