package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/sqlite"
)

// probeSource is the source of a probe's records.
const probeSource = "probe"

// connectWait bounds the first connection and the making of the tables.
const connectWait = 30 * time.Second

// mostSessions is what a database is asked for at most.
const mostSessions = 1000

// probeFlags are what a probe is told.
type probeFlags struct {
	service  config.Service
	sinks    sinkFlags
	output   string
	options  probe.Options
	workload string
	stress   bool
	history  string
	report   string
}

func probeCommand(t *terminal) *cobra.Command {
	p := probeFlags{
		service: config.DefaultService(), output: "text", workload: "mix",
		options: probe.Options{Source: probeSource, Rate: 50, Sessions: 8, Keys: 20},
	}
	s := &p.service
	s.Watch = config.DefaultWatch(config.WholeContract())
	s.Watch.KeyCap = config.DefaultKeyCap
	s.Watch.Contract.IgnoreIsolation = true
	s.Watch.Lateness = time.Second // all clients are in this process
	s.HTTP.Address, s.Log.Level = config.Off, "warn"
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "Run a small workload on a database, and watch it",
		Long: "Probe runs a small, steady workload on a database, in tables of its own, and watches what the database answers:\n" +
			"does it keep its promise? URL is sqlite:///FILE. No other table is touched; the tables are dropped at the end.\n\n" +
			"It ends after --duration, or at Ctrl-C or SIGTERM: transactions that run are finished, and all is decided.\n\n" +
			"Exit codes: 0 the expected level holds, 1 it is violated, 2 it is unknown; 254 wrong usage, or a database that\n" +
			"cannot be reached or refuses us, 255 internal error.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("expect") {
				if err := s.Watch.SetExpect("sqlite/serializable"); err != nil {
					return err
				}
			}
			if p.stress {
				p.options.Rate = 0
			} else if p.options.Rate <= 0 {
				return usagef("--rate %g: must be positive; --stress goes as fast as the database", p.options.Rate)
			}
			if !c.Flags().Changed("data") {
				remove, err := temporaryData(s)
				if err != nil {
					return err
				}
				defer remove()
			}
			return p.run(c.Context(), t, args[0])
		},
	}
	f := c.Flags()
	f.DurationVar(&p.options.Duration, "duration", 0, "end after this time; 0: at Ctrl-C")
	f.Float64Var(&p.options.Rate, "rate", p.options.Rate, "transactions a second, of all sessions")
	f.IntVar(&p.options.Sessions, "sessions", p.options.Sessions, "concurrent clients, with a connection each")
	f.IntVar(&p.options.Keys, "keys", p.options.Keys, "keys in use at a time, from 4")
	f.Uint64Var(&p.options.Seed, "seed", 0, "what the sessions choose follows from it; 0: another one each time")
	f.BoolVar(&p.stress, "stress", false, "as fast as the database goes, whatever --rate says")
	f.StringVar(&p.workload, "workload", p.workload, "what the sessions do: mix, blind, append, rows")
	f.StringVar(&p.history, "history", "", "file that keeps the records, as JSON lines")
	f.StringVar(&p.report, "report", "", "file that gets the verdict at the end, as JSON")
	f.StringVar(&s.Data, "data", s.Data, "folder for everything that is stored; a temporary one, unless named")
	f.StringVar(&s.HTTP.Address, "http", s.HTTP.Address, "address of pages, API and metrics; port 0: any; off: none")
	f.Var(expectValue{&s.Watch}, "expect", "level that the database promises; default: what its product documents")
	f.Lookup("expect").DefValue = ""
	f.Var(windowValue{&s.Watch.Window}, "window", "how long transactions are kept for comparison")
	f.DurationVar(&s.Watch.Lateness, "lateness", s.Watch.Lateness, "how far behind the latest record another one may come")
	outputFlag(f, &p.output)
	logFlags(f, &s.Log)
	p.sinks.register(f)
	return c
}

// run makes everything that may be refused before the monitor starts.
func (p *probeFlags) run(ctx context.Context, t *terminal, target string) (err error) {
	s := &p.service
	s.Inputs = []config.Input{{Stdin: true}} // the records come as lines, as from any other client
	s.Sources = []config.Source{{Name: probeSource, Watch: s.Watch}}
	if s.Sinks, err = p.sinks.named(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	switch o := &p.options; {
	case o.Sessions <= 0 || o.Sessions > mostSessions:
		return usagef("--sessions %d: want 1 to %d", o.Sessions, mostSessions)
	case o.Keys < 4:
		return usagef("--keys %d: must be at least 4", o.Keys)
	case o.Duration < 0:
		return usagef("--duration %v: must not be negative", o.Duration)
	case o.Duration == 0 && p.workload == "append":
		return usagef("--workload append makes new lists as it goes: it needs a --duration")
	}
	work, err := steadyWorkload(p.workload)
	if err != nil {
		return err
	}
	file, err := sqliteFile(target)
	if err != nil {
		return err
	}
	var drawn [8]byte
	rand.Read(drawn[:])
	if p.options.Seed == 0 {
		p.options.Seed = uint64(binary.BigEndian.Uint32(drawn[:]))
	}
	p.options.Epoch = "e" + strconv.FormatInt(time.Now().UnixMicro(), 36) + strconv.FormatUint(uint64(binary.BigEndian.Uint32(drawn[4:])), 36)

	connecting, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	db, err := sqlite.OpenEpoch(connecting, file, p.options.Epoch)
	if err != nil {
		return notBegun(ctx, target, err)
	}
	defer func() {
		if closing := db.Close(); closing != nil {
			t.say("monitor: warning: the tables of the probe remain: %s", printable(closing.Error()))
		}
	}()
	first, err := probe.Fill(connecting, db, work, p.options)
	if err != nil {
		return notBegun(ctx, target, err)
	}
	return p.watch(ctx, t, db, work, first)
}

// notBegun is a fault of the target, or a signal during the start.
func notBegun(ctx context.Context, target string, err error) error {
	if ctx.Err() != nil {
		return exitError{exitUnknown} // nothing is known of the database
	}
	return usagef("%s: %w", printable(target), err) // a file has no password
}

// watch runs the workload and the monitor beside each other. first is the record of what
// was there at the start.
func (p *probeFlags) watch(ctx context.Context, t *terminal, db probe.Database, work *probe.Workload, first event.Record) (err error) {
	records := &recordWriter{}
	if p.history != "" {
		file, err := os.Create(p.history)
		if err != nil {
			return usageError{err}
		}
		records.history = bufio.NewWriter(file)
		defer func() { err = errors.Join(err, records.history.Flush(), file.Close()) }()
	}
	var report *os.File
	if p.report != "" {
		if report, err = os.Create(p.report); err != nil {
			return usageError{err}
		}
		defer func() { err = errors.Join(err, report.Close()) }()
	}
	var input *io.PipeReader
	input, records.monitor = io.Pipe()
	defer input.Close()
	own := *t
	own.stdin = input
	service := service{terminal: &own, config: p.service, output: p.output, keep: true}
	service.during = func(ctx context.Context, a *app.App) error {
		t.say("probing epoch=%s workload=%s seed=%d", p.options.Epoch, work.Name(), p.options.Seed)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { <-a.Done(); cancel(); input.Close() }() // a monitor that failed reads no more
		records.emit(first)
		err := probe.Run(ctx, db, work, p.options, records.emit)
		records.monitor.Close()
		if err == nil {
			<-a.Done()
		}
		return err
	}
	asked := func(source string) []isolation.Level { return []isolation.Level{p.service.WatchOf(source).Expect} }
	judged := false
	err = service.run(ctx, func(a *app.App) error {
		judged = true
		reports := app.SourceReports(a.Status(), probeSource, asked)
		if err := p.tell(t, &service, report, reports, &records.stats); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
		return errors.Join(records.fault, exitWith(app.Outcome(a.Status(), asked)))
	})
	if err == nil && !judged {
		return exitError{exitUnknown}
	}
	return err
}

// tell sums up. report is the file that gets the verdict, nil for none.
func (p *probeFlags) tell(t *terminal, service *service, report *os.File, reports []app.Report, s *probe.Stats) error {
	if report != nil {
		form := json.NewEncoder(report)
		form.SetIndent("", "  ")
		if err := form.Encode(reports); err != nil {
			return err
		}
	}
	out := t.stderr
	if p.output == "text" {
		out = t.stdout
	}
	committed, aborted, unknown := s.Outcomes()
	if _, err := fmt.Fprintf(out, "%d transactions: %d committed, %d aborted, %d of unknown outcome; latency p50 %v, p99 %v, max %v\n",
		committed+aborted+unknown, committed, aborted, unknown, short(s.Latency(0.5)), short(s.Latency(0.99)), short(s.Latency(1))); err != nil {
		return err
	}
	return service.tellVerdicts(reports)
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// steadyWorkload is one whose values are unique. The tables of all but append stay as
// large as --keys makes them.
func steadyWorkload(name string) (*probe.Workload, error) {
	switch name {
	case "mix", "blind", "append", "rows":
		return probe.ByName(name)
	}
	return nil, usagef("--workload %q: want mix, blind, append or rows", name)
}

// sqliteFile is the file of a URL.
func sqliteFile(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", usagef("the URL %q cannot be read: want sqlite:///FILE", printable(config.MaskURL(target)))
	}
	file := strings.TrimPrefix(u.Path, "/")
	if u.Scheme != "sqlite" || u.Host != "" || file == "" || u.RawQuery != "" {
		return "", usagef("the URL %q names no database that can be probed: want sqlite:///FILE, with a fourth slash where the path is absolute", printable(config.MaskURL(target)))
	}
	return file, nil
}

// recordWriter hands each record to the monitor, and to the history.
type recordWriter struct {
	mu      sync.Mutex
	monitor *io.PipeWriter
	history *bufio.Writer // nil: none
	stats   probe.Stats
	line    []byte
	fault   error // the first of the history
}

func (w *recordWriter) emit(r event.Record) {
	w.stats.Add(&r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = append(event.AppendJSON(w.line[:0], &r), '\n')
	if w.history != nil && w.fault == nil {
		_, w.fault = w.history.Write(w.line)
	}
	_, _ = w.monitor.Write(w.line) // fails only when the monitor has ended, which tells why
}
