package main

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/render/page"
)

func demoCommand(t *terminal) *cobra.Command {
	s := config.DefaultService()
	s.Watch = config.DefaultWatch(config.WholeContract())
	// All clients are in this process, and their transactions take some 0.1 s.
	s.Watch.Lateness, s.Watch.MaxTransaction = time.Second, 2*time.Second
	s.HTTP.Elsewhere, s.Log.Level = true, "warn"
	s.Embedded.Port = 0
	var sinks sinkFlags
	var report reportFile
	output := "text"
	var length time.Duration
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a database with isolation bugs, with nothing installed",
		Long: "Demo runs everything in one process: a NATS server, a small in-memory database with isolation bugs, its clients, and\n" +
			"the monitor. The clients publish what they saw. The monitor prints what it finds, and serves its pages.\n" +
			"The demo says when it plants a bug, and when the monitor finds it. It ends with a table of both.\n\n" +
			"Demo ends at Ctrl-C, or after --duration.",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if length < 0 {
				return usagef("--duration %v: must not be negative", length)
			}
			s.HTTP.TraceURL = report.trace
			s.Sources = []config.Source{{Name: app.DemoSource, Watch: s.Watch}}
			if s.Sinks, err = sinks.named(); err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return usageError{err}
			}
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			var closed func()
			if length == 0 { // nobody else ends it
				closed = cancel
			}
			if err := report.prepare(t, closed); err != nil {
				return err
			}
			remove, err := temporaryData(t, &s)
			if err != nil {
				return err
			}
			defer remove()
			return runDemo(ctx, t, s, output, length, &report)
		},
	}
	f := c.Flags()
	f.DurationVar(&length, "duration", 0, "end after this time; 0: at Ctrl-C")
	f.StringVar(&s.HTTP.Address, "http", s.HTTP.Address, "address of pages, API and metrics, or any other port if it is in use; off: none")
	f.IntVar(&s.Embedded.Port, "nats-port", s.Embedded.Port, "port of the NATS server; 0: any")
	liveFlags(f, &s.Watch)
	outputFlag(f, &output)
	logFlags(f, &s.Log)
	sinks.register(f)
	report.register(f)
	f.Lookup("trace-url").Usage += ", and those on pages"
	return c
}

func runDemo(ctx context.Context, t *terminal, s config.Service, output string, length time.Duration, file *reportFile) error {
	var summary app.DemoSummary
	var lasted time.Duration
	told := newStory(t.say, &s.Watch)
	p := service{terminal: t, config: s, output: output}
	if output == "text" {
		told.text, told.color = t.stdout, t.colors()
		p.findings = told
	} else {
		p.also = []alert.Route{{Sink: told, Filter: alert.Everything()}}
	}
	p.during = func(ctx context.Context, a *app.App) error {
		t.introduce(a, &s)
		if length > 0 {
			limited, cancel := context.WithTimeout(ctx, length)
			defer cancel()
			ctx = limited
		}
		var err error
		summary, err = app.RunDemo(ctx, a, told)
		lasted = time.Since(told.began)
		return err
	}
	ended := func(a *app.App) error {
		if file.path == "" {
			return nil
		}
		levels := func(source string) []isolation.Level { return []isolation.Level{s.WatchOf(source).Expect} }
		reports, err := file.withStored(ctx, a, s.Data, app.SourceReports(a.Status(), app.DemoSource, levels))
		if err != nil {
			return err
		}
		return file.write(reports, func() *page.Report { return reportPage("monitor demo", reports) })
	}
	if err := p.run(ctx, ended); err != nil {
		return err
	}
	if output != "text" {
		return nil // standard output belongs to the findings
	}
	text := []byte("\n")
	if told.first != nil {
		text = append(appendAdvice(text, told.first), '\n')
	}
	_, err := t.stdout.Write(told.ending(lasted).append(text, &summary))
	return err
}

// introduce says what the demo is about to do, and where it can be watched.
func (t *terminal) introduce(a *app.App, s *config.Service) {
	t.say("")
	t.say("A bank keeps its accounts in a database that promises %s, and has four bugs:", s.Watch.Expect)
	for _, bug := range bugNames {
		t.say("  %-12s %s", bug, meant(bug))
	}
	t.say("The demo says when it plants one, and when the monitor has found it. The monitor sees only what the clients were answered.")
	t.say(
		"The first finding of each bug is shown with its proof. A dirty read is told after %s: until then a record that is still on its way may explain it.",
		ms(s.Watch.Lateness+s.Watch.MaxTransaction),
	)
	addr := a.HTTPAddr()
	switch _, port, _ := net.SplitHostPort(s.HTTP.Address); {
	case addr == "":
		t.say("There are no pages, because of --http off. Ctrl-C ends the demo.")
	case port != "0" && addr != s.HTTP.Address:
		t.say("All findings are on a page: http://%s/, since %s is in use (--http chooses another address). Ctrl-C ends the demo.", addr, s.HTTP.Address)
	default:
		t.say("All findings are on a page: http://%s/ (--http chooses another address). Ctrl-C ends the demo.", addr)
	}
	t.say("")
}
