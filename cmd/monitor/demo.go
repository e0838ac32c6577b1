package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/internal/app"
)

func demoCommand(t *terminal) *cobra.Command {
	s := config.DefaultService()
	s.Watch = config.DefaultWatch(config.WholeContract())
	s.Watch.Lateness = time.Second // all clients are in this process
	s.HTTP.Elsewhere, s.Log.Level = true, "warn"
	s.Embedded.Port = 0
	var sinks sinkFlags
	output := "text"
	var length time.Duration
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a database with isolation bugs, with nothing installed",
		Long: "Demo runs everything in one process: a NATS server, a small in-memory database with isolation bugs, its clients, and\n" +
			"the monitor. The clients publish what they saw. The monitor prints what it finds, and serves its pages.\n" +
			"Demo ends at Ctrl-C, or after --duration.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if length < 0 {
				return usagef("--duration %v: must not be negative", length)
			}
			s.Sources = []config.Source{{Name: app.DemoSource, Watch: s.Watch}}
			var err error
			if s.Sinks, err = sinks.named(); err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return usageError{err}
			}
			remove, err := temporaryData(t, &s)
			if err != nil {
				return err
			}
			defer remove()
			return runDemo(c.Context(), t, s, output, length)
		},
	}
	f := c.Flags()
	f.DurationVar(&length, "duration", 0, "end after this time; 0: at Ctrl-C")
	f.StringVar(&s.HTTP.Address, "http", s.HTTP.Address, "address of pages, API and metrics; any port when it is in use; off: none")
	f.IntVar(&s.Embedded.Port, "nats-port", s.Embedded.Port, "port of the NATS server; 0: any")
	liveFlags(f, &s.Watch)
	outputFlag(f, &output)
	logFlags(f, &s.Log)
	sinks.register(f)
	return c
}

func runDemo(ctx context.Context, t *terminal, s config.Service, output string, length time.Duration) error {
	var summary app.DemoSummary
	began := time.Now()
	p := service{terminal: t, config: s, output: output, violations: output == "text"}
	p.during = func(ctx context.Context, a *app.App) error {
		if addr := a.HTTPAddr(); addr != "" {
			t.say("Pages at http://%s/ (--http chooses the port; another one is taken where it is in use). Ctrl-C ends the demo.", addr)
			t.say("A bank whose database loses updates, skews writes, and serves old and uncommitted data now and then. Violations follow.")
		}
		if length > 0 {
			limited, cancel := context.WithTimeout(ctx, length)
			defer cancel()
			ctx = limited
		}
		var err error
		summary, err = app.RunDemo(ctx, a)
		return err
	}
	if err := p.run(ctx, func(*app.App) error { return nil }); err != nil {
		return err
	}
	if output != "text" {
		return nil // standard output belongs to the findings
	}
	_, err := t.stdout.Write(appendSummary(nil, &summary, time.Since(began)))
	return err
}

// appendSummary sets what the demo's database did wrong against what was found.
func appendSummary(dst []byte, s *app.DemoSummary, took time.Duration) []byte {
	dst = fmt.Appendf(dst, "%d transactions checked in %.1f s. The database broke its promise in %d of them:\n\n", s.Transactions, took.Seconds(), s.Bugs())
	dst = fmt.Appendf(dst, "  %-12s %8s %6s   %s\n", "bug", "planted", "found", "the first one")
	for _, p := range s.Planted {
		first := "none was seen"
		if p.Found > 0 {
			first = fmt.Sprintf("planted at %.1f s, found %s later", p.First.Seconds(), short(p.Took))
		}
		dst = fmt.Appendf(dst, "  %-12s %8d %6d   %s\n", p.Bug, p.Planted, p.Found, first)
	}
	dst = fmt.Appendf(dst, "\nA bug is an anomaly only if some transaction sees it: the others left no trace.\n")
	if len(s.Findings) == 0 {
		return fmt.Appendf(dst, "No findings yet.\n")
	}
	dst = fmt.Appendf(dst, "\nFindings by anomaly, with those that the expected level allows:\n")
	for _, f := range s.Findings {
		dst = fmt.Appendf(dst, "  %5d  %-24s monitor explain %s\n", f.Count, f.Anomaly, f.Anomaly)
	}
	return dst
}
