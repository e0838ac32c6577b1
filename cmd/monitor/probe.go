package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
	"github.com/isowatch/isowatch/internal/render/words"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/window"
)

// probeFlags are the settings of a probe.
type probeFlags struct {
	generator
	service config.Service
	sinks   sinkFlags
	output  string
	history string
	report  reportFile
}

func newProbe() *probeFlags {
	p := &probeFlags{generator: newGenerator(), service: config.DefaultService(), output: "text"}
	s := &p.service
	s.Watch = config.DefaultWatch(config.WholeContract())
	s.Watch.KeyCap = config.DefaultKeyCap
	s.Watch.Contract.IgnoreIsolation = true
	s.Watch.Lateness = time.Second // all clients are in this process
	s.HTTP.Address, s.Log.Level = config.Off, "warn"
	s.Inputs = []config.Input{{Stdin: true}} // the records come as lines, as from any other client
	return p
}

func probeCommand(t *terminal) *cobra.Command {
	p := newProbe()
	s := &p.service
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "Run a small workload on a database, and watch it",
		Long: "Probe runs a small, steady workload on a database, in tables of its own, and checks what the database answers:\n" +
			"does it keep its promise? Probe touches no other table, and drops its own at the end. URL is one of\n\n" +
			"  postgres://USER@HOST/DATABASE    mysql://USER@HOST/    sqlite:///FILE\n" +
			"  exec:COMMAND                     any database, through a program that speaks for it (docs/probe.md)\n" +
			"  sim:LEVEL                        a simulated store that keeps exactly this level, to try things\n\n" +
			"A password in the URL is refused, since the list of processes shows it: use --password-file, or PGPASSFILE.\n\n" +
			"Probe ends after --duration, or at Ctrl-C or SIGTERM. It finishes running transactions, heals a fault, and prints the\n" +
			"verdict. At a second signal it only heals and cleans up. A third signal ends it at once.\n\n" +
			"Exit codes: 0 the expected level holds, 1 it is violated, 2 it is unknown. 254 wrong usage, or a database that\n" +
			"cannot be reached or refuses the login. 255 internal error.",
		Example: "  monitor probe sim:snapshot-isolation --expect serializable --duration 10s\n" +
			"  monitor probe sqlite:///orders.db --duration 1m\n" +
			"  monitor probe postgres://probe@db.example/orders --password-file password --duration 10m\n" +
			"  monitor probe postgres://probe@db.example/orders --isolation 'repeatable read' --expect serializable --duration 1m",
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			work, err := p.settle()
			if err != nil {
				return err
			}
			if p.dryRun {
				return p.tellStatements(t, args[0])
			}
			if p.output == "log" && !c.Flags().Changed("log-level") {
				s.Log.Level = "info" // it is to hold findings and verdicts
			}
			if !c.Flags().Changed("data") {
				remove, err := temporaryData(t, s)
				if err != nil {
					return err
				}
				defer remove()
			}
			return p.run(c.Context(), t, args[0], work, c.Flags().Changed("expect"))
		},
	}
	f := c.Flags()
	p.generator.register(f)
	f.StringVar(&p.history, "history", "", "file to keep the records in, as JSON lines")
	p.report.register(f)
	f.Lookup("trace-url").Usage += ", and those on pages"
	f.StringVar(&s.Data, "data", s.Data, "folder for everything that is stored; default: a temporary folder")
	f.Lookup("data").DefValue = ""
	f.StringVar(&s.HTTP.Address, "http", s.HTTP.Address, "address of pages, API and metrics; port 0: any; off: none")
	f.Var(expectValue{&s.Watch}, "expect", "level that the database promises; default: what its product documents")
	f.Lookup("expect").DefValue = ""
	f.Var(windowValue{&s.Watch.Window}, "window", "how long transactions are kept for comparison")
	f.DurationVar(&s.Watch.Lateness, "lateness", s.Watch.Lateness, "how late a record may come, compared with the latest record")
	f.BoolVar(&s.Watch.ShowValues, "show-values", s.Watch.ShowValues, showValuesUsage)
	outputFlag(f, &p.output)
	logFlags(f, &s.Log)
	p.sinks.register(f)
	return c
}

// run opens the database and makes everything that may be refused before the monitor
// starts. expects says that the level was named.
func (p *probeFlags) run(ctx context.Context, t *terminal, database string, work *probe.Workload, expects bool) (err error) {
	t = withScreen(t, p.output)
	if p.service.Sinks, err = p.sinks.named(); err != nil {
		return err
	}
	if err := p.place(); err != nil {
		return err
	}
	b, err := p.begin(ctx, t, database, work)
	if err != nil {
		return err
	}
	defer b.close(t)
	if !expects {
		if err := p.expect(b.db.Expect()); err != nil {
			return err
		}
	}
	return p.watch(ctx, t, b)
}

// place puts what is watched for into the settings, and checks them.
func (p *probeFlags) place() error {
	p.service.HTTP.TraceURL = p.report.trace
	p.service.Sources = []config.Source{{Name: probeSource, Watch: p.service.Watch}}
	if err := p.service.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// expect takes what the product documents as what is expected.
func (p *probeFlags) expect(documented string) error {
	if documented == "" {
		return usagef("what this database promises is not known: name it with --expect, such as --expect serializable")
	}
	if err := p.service.Watch.SetExpect(documented); err != nil {
		return usagef("what %s promises is not known: name the level with --expect", documented)
	}
	return p.place()
}

// watch runs the workload and the monitor beside each other.
func (p *probeFlags) watch(ctx context.Context, t *terminal, b *begun) (err error) {
	records := &recordWriter{}
	if p.history != "" {
		if err := records.keep(p.history); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, records.close()) }()
	}
	if err := os.MkdirAll(p.service.Data, 0o700); err != nil {
		return usageError{err}
	}
	if records.again, err = newAgain(p.service.Data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.again.remove()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var closed func()
	if p.options.Duration == 0 { // nobody else ends it
		closed = cancel
	}
	if err := p.report.prepare(t, closed); err != nil {
		return err
	}
	var input *io.PipeReader
	input, records.monitor = io.Pipe()
	defer input.Close()
	own := *t
	own.stdin = input
	view := newView(t, p, &records.stats)
	service := service{terminal: &own, config: p.service, output: p.output, keep: true, violations: p.output == "text", reads: app.ProbeInput}
	service.during = func(ctx context.Context, a *app.App) error {
		t.say("probing %s", b.what())
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { <-a.Done(); cancel(); input.Close() }() // a monitor that failed reads no more
		stop := view.follow(a)
		err := b.run(ctx, t, records)
		records.monitor.Close()
		if err == nil {
			<-a.Done()
		}
		stop()
		return err
	}
	asked := func(source string) []isolation.Level { return []isolation.Level{p.service.WatchOf(source).Expect} }
	judged := false
	err = service.run(ctx, func(a *app.App) error {
		judged = true
		status := a.Status()
		told := p.sumUp(b, status, app.SourceReports(status, probeSource, asked), &records.stats)
		outcome := app.Outcome(status, asked)
		told.found = records.again.decide(p, told, hideKey(a, p.service.WatchOf(probeSource)))
		if told.Again {
			outcome = told.Sources[0].Verdicts[told.level]
		}
		if told.refused() {
			outcome = window.Unknown
		}
		if err := errors.Join(p.print(t, told.found), p.tell(ctx, t, a, &service, told, &records.stats)); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
		if records.fault != nil { // an incomplete run has no verdict
			return usageError{records.fault}
		}
		return exitWith(outcome)
	})
	if err == nil && !judged {
		return exitError{exitUnknown}
	}
	return err
}

// tell sums up.
func (p *probeFlags) tell(ctx context.Context, t *terminal, a *app.App, service *service, told *probeReport, s *probe.Stats) error {
	if p.report.isHTML() { // the JSON has counts
		sources, err := p.report.withStored(ctx, a, p.service.Data, told.Sources)
		if err != nil {
			return err
		}
		told.Sources[0].Findings = append(sources[0].Findings, told.found...)
	}
	if err := p.report.write(told, func() *page.Report { return told.page() }); err != nil {
		return err
	}
	out := t.stderr
	if p.output == "text" {
		out = t.stdout
	}
	text := counted(s)
	if told.Faults != "" {
		text += "\n" + told.Faults
	}
	if told.Again {
		text += "\nThe stream left the level open. All records together, as one history, decide it."
	}
	if allowed := anomalies(told.Allowed); allowed != "" && p.output == "text" {
		text += "\nAllowed by the expected level, and not shown: " + allowed + ". --output jsonl shows all findings."
	}
	if _, err := fmt.Fprintln(out, text); err != nil {
		return err
	}
	return service.tellVerdicts(told.Sources)
}

// print shows findings that were not made by the service.
func (p *probeFlags) print(t *terminal, found []finding.Finding) error {
	for i := range found {
		text := words.Append(nil, &found[i], t.colors())
		if p.output != "text" {
			line, err := json.Marshal(&found[i])
			if err != nil {
				return err
			}
			text = append(line, '\n')
		}
		if _, err := t.stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// counted are transactions, outcomes and latencies on one line.
func counted(s *probe.Stats) string {
	committed, aborted, unknown := s.Outcomes()
	return fmt.Sprintf("%s: %d committed, %d aborted, %d of unknown outcome; latency p50 %v, p99 %v, max %v",
		whole.Plural(committed+aborted+unknown, "transaction", "transactions"), committed, aborted, unknown, short(s.Latency(0.5)), short(s.Latency(0.99)), short(s.Latency(1)))
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
