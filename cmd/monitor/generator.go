package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/target"
)

// probeSource is the source of a probe's records.
const probeSource = "probe"

// connectWait bounds the first connection and the making of the tables.
const connectWait = 30 * time.Second

// transactionWait bounds a transaction.
const transactionWait = 10 * time.Second

// mostSessions is how many sessions a database is asked for at most.
const mostSessions = 1000

// maxPassword bounds a file with a password, bytes.
const maxPassword = 4 << 10

// generator is a workload on a database, as the command line names it.
type generator struct {
	options      probe.Options
	target       target.Options
	workload     string
	stress       bool
	dryRun       bool
	passwordFile string
	faults       faults
}

func newGenerator() generator {
	return generator{
		workload: "mix",
		options:  probe.Options{Source: probeSource, Rate: 50, Sessions: 8, Keys: 20, Timeout: transactionWait},
		target:   target.Options{Schema: "isowatch_probe", Timeout: transactionWait},
		faults:   faults{every: 30 * time.Second, last: 5 * time.Second},
	}
}

func (g *generator) register(f *pflag.FlagSet) {
	o := &g.options
	f.Var(isolationValue{&g.target.Isolation}, "isolation", `level that transactions ask for, in SQL's words: "repeatable read"; default: the database's own`)
	f.DurationVar(&o.Duration, "duration", 0, "end after this time; 0: at Ctrl-C")
	f.Float64Var(&o.Rate, "rate", o.Rate, "transactions a second, over all sessions")
	f.IntVar(&o.Sessions, "sessions", o.Sessions, "concurrent clients; each has one connection, to one endpoint at a time")
	f.IntVar(&o.Keys, "keys", o.Keys, "keys in use at a time, from 4")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the random choices of the sessions; 0: another seed each time")
	f.BoolVar(&g.stress, "stress", false, "run as fast as the database can; --rate does not count")
	f.Var(choiceValue{&g.workload, strings.Split(workloads, ", ")}, "workload", "what the sessions do: "+workloads)
	f.StringVar(&g.target.Schema, "schema", g.target.Schema, "schema that holds the tables (MySQL: the database); SQLite has none")
	f.StringArrayVar(&g.target.Endpoints, "endpoint", nil, "URL of a replica or another node of the same database; may be repeated")
	f.BoolVar(&g.target.Stale, "stale", false, "endpoints may show old data; this is not a violation")
	f.StringVar(&g.passwordFile, "password-file", "", "file whose first line is the password")
	f.BoolVar(&g.dryRun, "dry-run", false, "print the statements, and do not connect")
	g.faults.register(f)
}

const workloads = "mix, register, append, rows, bank, blind, counter"

// settle checks what was given, and draws what was not. work is the workload of the sessions.
func (g *generator) settle() (work *probe.Workload, err error) {
	switch o := &g.options; {
	case g.stress:
		o.Rate = 0
	case o.Rate <= 0:
		return nil, usagef("--rate %g: must be positive; --stress goes as fast as the database", o.Rate)
	}
	switch o := &g.options; {
	case o.Sessions <= 0 || o.Sessions > mostSessions:
		return nil, usagef("--sessions %d: want 1 to %d", o.Sessions, mostSessions)
	case o.Keys < 4:
		return nil, usagef("--keys %d: must be at least 4", o.Keys)
	case o.Duration < 0:
		return nil, usagef("--duration %v: must not be negative", o.Duration)
	case g.target.Stale && len(g.target.Endpoints) == 0:
		return nil, usagef("--stale needs --endpoint")
	}
	if work, err = steadyWorkload(g.workload); err != nil {
		return nil, err
	}
	if err := g.faults.validate(); err != nil {
		return nil, err
	}
	if g.passwordFile != "" {
		if g.target.Password, err = readPassword(g.passwordFile); err != nil {
			return nil, err
		}
	}
	var drawn [8]byte
	rand.Read(drawn[:])
	g.options.Seed = cmp.Or(g.options.Seed, uint64(binary.BigEndian.Uint32(drawn[:])))
	g.options.Epoch = "e" + strconv.FormatInt(time.Now().UnixMicro(), 36) + strconv.FormatUint(uint64(binary.BigEndian.Uint32(drawn[4:])), 36)
	g.target.Epoch, g.target.Sessions = g.options.Epoch, g.options.Sessions
	return work, nil
}

// steadyWorkload returns the named workload. Its values are unique, and --keys bounds the size of its
// tables.
func steadyWorkload(name string) (*probe.Workload, error) {
	for _, known := range strings.Split(workloads, ", ") {
		if name == known {
			return probe.ByName(name)
		}
	}
	return nil, usagef("--workload %q: want %s", name, workloads)
}

// readPassword is the first line of a file.
func readPassword(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("--password-file: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 || len(line) > maxPassword {
		return "", usagef("--password-file %s: its first line must hold the password", file)
	}
	return string(line), nil
}

// tellStatements is --dry-run.
func (g *generator) tellStatements(t *terminal, database string) error {
	all, err := target.Statements(database, g.target)
	if err != nil {
		return usageError{err}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(t.stdout, "-- no statements: this target takes whole transactions, as JSON or in memory")
		return err
	}
	for _, s := range all {
		if _, err := fmt.Fprintln(t.stdout, s); err != nil {
			return err
		}
	}
	return nil
}

// begun is a generator whose database is ready.
type begun struct {
	*generator
	db    *target.Target
	work  *probe.Workload
	first event.Record // what was there at the start
}

// begin opens the database and fills the tables. Nothing is left behind when it fails.
func (g *generator) begin(ctx context.Context, t *terminal, database string, work *probe.Workload) (*begun, error) {
	connecting, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	g.target.Log = func(line string) { t.say("child: %s", printable(line)) }
	db, err := target.Open(connecting, t.simulated(database), g.target)
	if err != nil {
		return nil, notBegun(ctx, database, err)
	}
	b := &begun{generator: g, db: db, work: work}
	g.options.Isolation = db.Isolation
	if b.first, err = probe.Fill(connecting, db, work, g.options); err != nil {
		b.close(t)
		return nil, notBegun(ctx, database, err)
	}
	return b, nil
}

// simulated is the URL with the level in our spelling, where it names one that a simulated store keeps.
func (t *terminal) simulated(database string) string {
	name, ok := strings.CutPrefix(database, "sim:")
	l, known := isolation.Understood(name)
	if !ok || !known {
		return database
	}
	if note := isolation.Taken(name); note != "" {
		t.say("note: %s", note)
	}
	return "sim:" + l.String()
}

// notBegun is a fault of the database, or a signal during the start.
func notBegun(ctx context.Context, database string, err error) error {
	if ctx.Err() != nil {
		return exitError{exitUnknown} // nothing is known of the database
	}
	name := target.Redact(database)
	if strings.HasPrefix(name, "exec:") {
		name = "exec" // the command may be long, and hold secrets
	}
	if !strings.Contains(err.Error(), name) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return usageError{errors.New(printable(err.Error()))}
}

// oneLine is an error whose text a driver may have broken into lines.
func oneLine(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}

func (b *begun) close(t *terminal) {
	if err := b.db.Close(); err != nil {
		t.say("monitor: warning: the tables of epoch %s may remain; the next probe drops them: %s", b.options.Epoch, oneLine(err))
	}
}

// what says on one line what is probed.
func (b *begun) what() string {
	name := strings.TrimSpace(b.db.Product + " " + b.db.Version)
	if b.db.Isolation != "" {
		name += " at " + b.db.Isolation
	}
	return strings.TrimSpace(printable(name) + " epoch=" + b.options.Epoch + " workload=" + b.work.Name() + " seed=" + strconv.FormatUint(b.options.Seed, 10))
}

// emitter takes what a generator makes. It is safe for concurrent use.
type emitter interface {
	emit(event.Record)
	mark(event.Mark)
}

// run runs the workload and the faults until the duration or ctx ends. Transactions that run
// are finished, and a fault is healed, when it returns.
func (b *begun) run(ctx context.Context, t *terminal, to emitter) error {
	o := b.options
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	to.emit(b.first)
	healed := make(chan struct{})
	go func() {
		defer close(healed)
		b.faults.run(ctx, t, func(m event.Mark) {
			m.Source, m.Epoch = o.Source, o.Epoch
			to.mark(m)
		})
	}()
	o.Duration = 0 // the context tells, for the faults too
	out := newOutages(ctx, t, &o)
	o.Observer = out
	err := probe.Run(ctx, b.db, b.work, o, to.emit)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = nil // ended while it opened its sessions
	}
	out.end()
	cancel()
	<-healed
	return err
}
