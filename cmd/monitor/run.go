package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

const (
	// startWait bounds a start: the recovery of a large state takes seconds, the
	// embedded server's of a large backlog too.
	startWait = 5 * time.Minute
	// stopWait bounds a stop. Kubernetes kills after 30 s by default.
	stopWait = 25 * time.Second
	// lingerWait is how long a service that failed by itself still shows its metrics: two of the
	// usual 15 s between two scrapes.
	lingerWait = 30 * time.Second
)

func runCommand(t *terminal) *cobra.Command {
	r := newSettings()
	allowEmpty := false
	c := &cobra.Command{
		Use:   "run",
		Short: "Watch transactions as they come in",
		Long: "Run reads records from NATS, Kafka, files or standard input, and reports findings as it makes them. Without an\n" +
			"input it starts a NATS server that clients can publish to: stream " + config.DefaultStream + ", subjects " + config.DefaultSubjects + ".\n\n" +
			"--config names a YAML file with the same settings and more, such as several sources (docs/configuration.md). A flag\n" +
			"overrides its environment variable, and a variable overrides the file.\n\n" +
			"SIGTERM: the service stores the results of all records that it has read, then ends. A second signal ends it at once.\n\n" +
			"Exit codes: 0 after a signal. At the end of standard input: 0 all levels hold, 1 one is violated, 2 one is unknown.\n" +
			"254 wrong usage or configuration, an address or a folder in use, an input that refuses the login. 255 internal error.",
		Example: "  monitor run --tail '/var/log/app/*.jsonl' --expect postgresql/read-committed\n" +
			"  monitor run --kafka broker:9092 --topic transactions --expect mysql/repeatable-read\n" +
			"  monitor run --config isowatch.yaml",
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := r.effective(c.Flags(), t.lookupEnv)
			if t.unread != nil {
				err = usageError{errors.Join(t.unread, err)}
			}
			if s.Log.Format == "json" {
				t.asJSON() // the file can ask for it, even if something in it is wrong
			}
			if err != nil {
				t.warnOfMisspelt(c) // it may be why
				return err
			}
			t.warnOfUnknown(c, &s)
			asked := func(source string) []isolation.Level {
				if w := s.WatchOf(source); w.Named || c.Flags().Changed("levels") {
					return w.Levels
				}
				return []isolation.Level{s.WatchOf(source).Expect}
			}
			if s.UsesStdin() && !c.Flags().Changed("data") && s.Data == config.DefaultData {
				remove, err := temporaryData(t, &s)
				if err != nil {
					return err
				}
				defer remove()
			}
			p := service{terminal: t, config: s, output: r.output, keep: true}
			if r.file != "" {
				p.reload = func() (config.Service, error) {
					next, err := r.effective(c.Flags(), t.lookupEnv)
					if s.UsesStdin() && next.Data == config.DefaultData {
						next.Data = s.Data // the temporary one
					}
					return next, err
				}
			}
			return p.run(c.Context(), func(a *app.App) error {
				if c.Context().Err() != nil {
					return nil // ended by a signal: no verdict is asked for
				}
				reports := app.SourceReports(a.Status(), s.SourceNames()[0], asked)
				if err := p.tellVerdicts(reports); err != nil {
					return fmt.Errorf("write the verdicts: %w", err)
				}
				if verdict := app.Outcome(a.Status(), asked); verdict != window.OK || allowEmpty || holdsAny(reports) {
					return exitWith(verdict)
				}
				t.say("monitor: unknown: the input holds no transactions, so it shows nothing (--allow-empty takes that for ok)")
				return exitWith(window.Unknown)
			})
		},
	}
	r.register(c.Flags())
	c.Flags().BoolVar(&allowEmpty, "allow-empty", false, "standard input without transactions is ok, not unknown")
	return c
}

// holdsAny says whether there are transactions, of whichever source.
func holdsAny(reports []app.Report) bool {
	return slices.ContainsFunc(reports, func(r app.Report) bool { return r.Transactions > 0 })
}

// service is a run of the app in this process.
type service struct {
	*terminal
	config config.Service
	output string // form of the findings on standard output
	// findings, unless nil, takes all findings instead of standard output.
	findings alert.Sink
	// violations: what is expected, and what is uncertain, is counted and not shown.
	violations bool
	also       []alert.Route // other sinks in this process
	// reload, unless nil, reads the settings again at SIGHUP. Without it SIGHUP ends the
	// process, unless keep says that it is ignored.
	reload func() (config.Service, error)
	keep   bool
	// reads names what comes on standard input in positions; default stdin.
	reads string
	// during, unless nil, runs beside the started app until its context ends.
	during func(ctx context.Context, a *app.App) error
}

// run starts the app, and stops it when ctx ends, the input does or something
// fails. ended gives the answer when nothing failed.
func (p *service) run(ctx context.Context, ended func(*app.App) error) error {
	if p.config.Log.Format == "json" { // which the file of settings can say too
		p.asJSON()
	}
	log, err := p.log()
	if err != nil {
		return err
	}
	p.logNotes(log, &p.config)
	route := alert.Route{Filter: alert.Everything()}
	if p.violations {
		route.Filter = alert.Filter{}
	}
	switch {
	case p.findings != nil:
		route.Sink = p.findings
	case p.output == "jsonl":
		route.Sink = alert.NewJSONL(p.stdout)
	case p.output == "log":
		route.Sink = alert.NewLog(log)
	default:
		route.Sink = alert.NewText(p.stdout, p.colors())
	}
	memory, from, err := memoryOf(p.config.Memory, "/", p.lookupEnv)
	if err != nil {
		return usageError{err}
	}
	reserve := func(bytes int64) { limitRuntime(app.HeapLimit(int64(memory)), bytes, p.lookupEnv) }
	reserve(0)
	watching, done := context.WithCancel(ctx)
	defer done()
	go keepCalm(watching, p.lookupEnv)
	tellMemory := func() { log.Info("memory", "most", memory, "from", from) }
	if p.config.Group.Name == "" {
		tellMemory()
	}
	var hangups <-chan os.Signal // those that come during a start wait for its end
	if p.reload != nil || p.keep {
		var ignore func()
		hangups, ignore = onHangup()
		defer ignore()
	}
	options := app.Options{
		Config:    p.config,
		Memory:    int64(memory),
		Reserve:   reserve,
		Sinks:     append([]alert.Route{route}, p.also...),
		Stdin:     p.stdin,
		StdinName: p.reads,
		Log:       log,
		Temporary: temporary(p.config.Data),
		Linger:    p.linger,
		Reread:    p.rereads(log),
		Hook:      p.hook,
	}
	if p.config.Group.Name != "" {
		return p.runInGroup(ctx, options, tellMemory, hangups, log)
	}
	a, err := app.New(options)
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
	stopReloading := p.reloadAtHangup(ctx, hangups, a, log)
	err = p.wait(ctx, a)
	stopReloading()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err = errors.Join(err, a.Stop(stopping)); err != nil {
		return err
	}
	return ended(a)
}

// log is the service's, with the name of this monitor on each line where it has one.
func (p *service) log() (*slog.Logger, error) {
	log, err := p.logger(p.config.Log.Level, p.config.Log.Format)
	if err == nil && p.config.Replica != "" {
		log = log.With("replica", p.config.Replica)
	}
	return log, err
}

// tellVerdicts tells the verdicts on each source at the end of the input: behind the
// findings, and in the log where these are. Where a line of JSON holds a finding, another one holds
// the verdicts, and people read them on standard error.
func (p *service) tellVerdicts(reports []app.Report) error {
	if p.output == "log" {
		return p.logVerdicts(reports)
	}
	out, color := p.stderr, false
	if p.output == "text" {
		out, color = p.stdout, p.colors()
	}
	for i := range reports {
		r := &reports[i]
		if r.Transactions == 0 {
			p.say("monitor: warning: source %s holds no transactions", printable(r.File))
		}
		if len(r.Verdicts) == 0 {
			continue
		}
		if _, err := out.Write(whole.AppendVerdicts(nil, r, color)); err != nil {
			return err
		}
		if p.output != "jsonl" {
			continue
		}
		line, err := whole.AppendVerdictLine(nil, r)
		if err != nil {
			return err
		}
		if _, err := p.stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func (p *service) logVerdicts(reports []app.Report) error {
	log, err := p.log()
	if err != nil {
		return err
	}
	for i := range reports {
		r := &reports[i]
		for _, l := range isolation.AllLevels() {
			if v, ok := r.Verdicts[l.String()]; ok {
				log.Info("verdict", "source", r.File, "level", l.String(), "verdict", v, "decided", r.Share(l.String()), "reason", r.Reasons[l.String()])
			}
		}
	}
	return nil
}

// announce tells where the service can be reached.
func (p *service) announce(a *app.App) {
	if addr := a.HTTPAddr(); addr != "" {
		p.say("listening http=%s", addr)
	}
	if url := a.NATSURL(); url != "" {
		p.say("listening nats=%s", url)
	}
	if !p.config.Differ() {
		p.say("expected level=%s", p.config.WatchOf(p.config.SourceNames()[0]).Expect)
		return
	}
	for _, name := range p.config.SourceNames() {
		p.say("expected level=%s source=%s", p.config.WatchOf(name).Expect, name)
	}
}

// reloader reads its settings again.
type reloader interface {
	ReloadFile(context.Context) ([]string, error)
}

// reloadAtHangup lets SIGHUP read the settings again, or be ignored where there is no
// file to read.
func (p *service) reloadAtHangup(ctx context.Context, hangups <-chan os.Signal, a reloader, log *slog.Logger) (stop func()) {
	if hangups == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				if p.reload == nil {
					log.Warn("SIGHUP is ignored: without --config there is no file to read again")
					continue
				}
				a.ReloadFile(ctx) // it logs how that went
			}
		}
	}()
	return func() { cancel(); <-done }
}

// rereads reads the settings again, and logs their notes; nil where there is no file.
func (p *service) rereads(log *slog.Logger) func() (config.Service, error) {
	if p.reload == nil {
		return nil
	}
	return func() (config.Service, error) {
		next, err := p.reload()
		if err == nil {
			p.logNotes(log, &next)
		}
		return next, err
	}
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
		if p.during != nil { // it ends with the monitor, and writes no line behind what follows
			cancel()
			<-beside
		}
	case <-ctx.Done():
		if p.during != nil {
			return <-beside
		}
	case err := <-beside:
		return err
	}
	return nil
}
