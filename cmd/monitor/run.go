package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/isolation"
)

const (
	// startWait bounds a start: the recovery of a large state takes seconds, the
	// embedded server's of a large backlog too.
	startWait = 5 * time.Minute
	// stopWait bounds a stop. Kubernetes kills after 30 s by default.
	stopWait = 25 * time.Second
)

func runCommand(t *terminal) *cobra.Command {
	s := config.DefaultService()
	var in inputFlags
	var out outputFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Watch transactions as they come in",
		Long: "Run reads records from NATS, Kafka, files or standard input, and reports findings as they are made. Without an\n" +
			"input it starts a NATS server that clients can publish to: stream " + config.DefaultStream + ", subjects " + config.DefaultSubjects + ".\n\n" +
			"SIGTERM: what was read is committed, then the service ends. A second signal ends it at once.\n\n" +
			"Exit codes: 0 after a signal; at the end of standard input 0 all levels hold, 1 one is violated, 2 one is unknown;\n" +
			"254 wrong usage, configuration or an input that refuses us, 255 internal error.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := in.apply(c.Flags(), &s, t.lookupEnv); err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return usageError{err}
			}
			warnUnused(t, s.Watch.Contract)
			asked := s.Watch.Levels
			if !c.Flags().Changed("levels") {
				asked = []isolation.Level{s.Watch.Expect}
			}
			if s.Stdin && !c.Flags().Changed("data") {
				remove, err := temporaryData(&s)
				if err != nil {
					return err
				}
				defer remove()
			}
			p := service{terminal: t, config: s, output: out}
			return p.run(c.Context(), func(a *app.App) error {
				if c.Context().Err() != nil {
					return nil // ended by a signal: no verdict is asked for
				}
				return exitWith(app.Outcome(a.Status(), asked))
			})
		},
	}
	f := c.Flags()
	f.StringVar(&s.Data, "data", s.Data, "folder for everything that is stored; for --stdin a temporary one, unless named")
	f.Var(choiceValue{&s.Durability, []string{config.Async, config.Fsync}}, "durability", "what is committed survives: async, a killed process; fsync, a power cut too, each step waiting for the disk")
	f.StringVar(&s.HTTP, "http", s.HTTP, "address of pages, API and metrics; port 0: any; off: none")
	f.StringSliceVar(&s.Sources, "source", s.Sources, "sources to expect: their metrics exist from the start")
	liveFlags(f, &s.Watch)
	in.register(f, &s)
	out.register(f, "text", "info")
	return c
}

// outputFlags say where findings and logs go.
type outputFlags struct {
	output, logLevel, logFormat string
	webhook, secretFile         string
}

func (o *outputFlags) register(f *pflag.FlagSet, output, logLevel string) {
	o.output, o.logLevel, o.logFormat = output, logLevel, "text"
	f.Var(choiceValue{&o.output, []string{"text", "jsonl", "log"}}, "output", "form of the findings on standard output; log: in the log instead")
	f.StringVar(&o.logLevel, "log-level", o.logLevel, "least level of the log: debug, info, warn, error")
	f.StringVar(&o.logFormat, "log-format", o.logFormat, "form of the log on standard error: text, json")
	f.StringVar(&o.webhook, "webhook", "", "URL that alerts are posted to")
	f.StringVar(&o.secretFile, "webhook-secret-file", "", "file whose content signs the posts")
}

// service is a run of the app in this process.
type service struct {
	*terminal
	config config.Service
	output outputFlags
	// during, unless nil, runs beside the started app until its context ends.
	during func(ctx context.Context, a *app.App) error
}

// run starts the app, and stops it when ctx ends, the input does or something
// fails. ended gives the answer when nothing failed.
func (p *service) run(ctx context.Context, ended func(*app.App) error) error {
	log, err := p.logger(p.output.logLevel, p.output.logFormat)
	if err != nil {
		return err
	}
	switch {
	case p.output.webhook != "":
		p.config.Webhook = &config.Webhook{URL: p.output.webhook, SecretFile: p.output.secretFile}
	case p.output.secretFile != "":
		return usagef("--webhook-secret-file is of no use without --webhook")
	}
	route := alert.Route{Filter: alert.Everything()}
	switch p.output.output {
	case "jsonl":
		route.Sink = alert.NewJSONL(p.stdout)
	case "log":
		route.Sink = alert.NewLog(log)
	default:
		route.Sink = alert.NewText(p.stdout, p.colors())
	}
	a, err := app.New(app.Options{Config: p.config, Sinks: []alert.Route{route}, Stdin: p.stdin, Log: log})
	if err != nil {
		return usageError{err}
	}
	starting, cancel := context.WithTimeout(ctx, startWait)
	err = a.Start(starting)
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it started
		}
		return err
	}
	p.announce(a)
	err = p.wait(ctx, a)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err = errors.Join(err, a.Stop(stopping)); err != nil {
		return err
	}
	return ended(a)
}

// announce tells where the service can be reached.
func (p *service) announce(a *app.App) {
	if addr := a.HTTPAddr(); addr != "" {
		p.say("listening http=%s", addr)
	}
	if url := a.NATSURL(); url != "" {
		p.say("listening nats=%s", url)
	}
	p.say("expected level=%s", p.config.Watch.Expect)
}

// wait returns when the service is to stop.
func (p *service) wait(ctx context.Context, a *app.App) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside := make(chan error, 1)
	if p.during != nil {
		go func() { beside <- p.during(ctx, a) }()
	}
	select {
	case <-a.Done():
	case <-ctx.Done():
		if p.during != nil {
			return <-beside
		}
	case err := <-beside:
		return err
	}
	return nil
}
