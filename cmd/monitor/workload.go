package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/publisher"
	"github.com/isowatch/isowatch/probe/target"
)

// flushWait bounds the wait for what a broker has not acknowledged at the end.
const flushWait = 10 * time.Second

// workloadFlags are the settings of a workload without a monitor.
type workloadFlags struct {
	generator
	to     string
	broker inputFlags
}

func workloadCommand(t *terminal) *cobra.Command {
	w := workloadFlags{generator: newGenerator()}
	c := &cobra.Command{
		Use:   "workload URL --to FILE|nats://HOST/STREAM|kafka://HOST/TOPIC",
		Short: "Run the workload of probe, and write its records",
		Long: "Workload runs the workload of probe on a database (see 'monitor probe --help' for URL). It writes the records to a file,\n" +
			"a JetStream stream or a Kafka topic, where a monitor reads them. The stream or topic must exist.\n\n" +
			"Give that monitor this contract:\n" +
			"  --contract " + probeContract + "\n\n" +
			"Exit codes: 0 at the end of --duration or after a signal. 254 wrong usage, or a database or broker that cannot be\n" +
			"reached or refuses the login, or records that could not be written. 255 internal error.",
		Example: "  monitor workload sqlite:///orders.db --to history.jsonl --duration 1m\n" +
			"  monitor check --contract isolation=ignore --expect serializable history.jsonl\n\n" +
			"  monitor workload postgres://probe@db.example/orders --to nats://broker:4222/TRANSACTIONS --isolation serializable",
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			work, err := w.settle()
			if err != nil {
				return err
			}
			if w.dryRun {
				return w.tellStatements(t, args[0])
			}
			if err := w.fits(t, c.Flags()); err != nil {
				return err
			}
			return w.run(c.Context(), t, args[0], work)
		},
	}
	f := c.Flags()
	w.generator.register(f)
	f.StringVar(&w.options.Source, "source", w.options.Source, "source of the records")
	f.StringVar(&w.to, "to", "", "where to write the records: a file, nats://HOST:PORT/STREAM or kafka://HOST:PORT,.../TOPIC")
	brokers := pflag.NewFlagSet("", pflag.ContinueOnError)
	w.broker.brokers(brokers)
	brokers.VisitAll(func(x *pflag.Flag) {
		if strings.HasPrefix(x.Name, "nats-") || strings.HasPrefix(x.Name, "kafka-") {
			f.AddFlag(x)
		}
	})
	return c
}

// probeContract is the contract that is true of these records.
const probeContract = "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique,isolation=ignore"

func (w *workloadFlags) run(ctx context.Context, t *terminal, database string, work *probe.Workload) (err error) {
	open, name, err := w.destination(t)
	if err != nil {
		return usageError{err}
	}
	b, err := w.begin(ctx, t, database, work)
	var signalled exitError
	switch {
	case errors.As(err, &signalled):
		return nil // before anything was done
	case err != nil:
		return err
	}
	defer b.close(t)
	opening, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	to, err := open(opening)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return usageError{err}
	}
	t.say("running %s to=%s", b.what(), name)
	p := &published{to: to, ctx: context.WithoutCancel(ctx)}
	ctx, p.stop = context.WithCancel(ctx)
	defer p.stop()
	err = b.run(ctx, t, p)
	closing, cancelClosing := context.WithTimeout(p.ctx, flushWait)
	defer cancelClosing()
	if err = errors.Join(err, p.fault, to.Close(closing)); err != nil {
		return usageError{err}
	}
	t.say("%s", counted(&p.stats))
	if faults := w.faults.summary(); faults != "" {
		t.say("%s", faults)
	}
	return nil
}

// fits refuses flags of another destination than --to. A variable may be meant for another command.
func (w *workloadFlags) fits(t *terminal, f *pflag.FlagSet) (err error) {
	brokers := map[string]string{"nats": "nats", "tls": "nats", "kafka": "kafka"} // by scheme; their flags begin so
	scheme, _, _ := strings.Cut(w.to, "://")
	f.Visit(func(x *pflag.Flag) {
		broker, _, _ := strings.Cut(x.Name, "-")
		_, set := t.lookupEnv(variableOf(x.Name))
		if w.to != "" && !set && brokers[broker] == broker && brokers[scheme] != broker {
			err = cmp.Or(err, usagef("--%s does not go with --to %s", x.Name, w.called()))
		}
	})
	return err
}

// called is --to in messages.
func (w *workloadFlags) called() string {
	if strings.Contains(w.to, "://") {
		return printable(target.Redact(w.to))
	}
	return printable(w.to)
}

// destination reads --to: how it is opened, and what messages call it.
func (w *workloadFlags) destination(t *terminal) (open func(context.Context) (publisher.Writer, error), name string, err error) {
	if w.to == "" {
		return nil, "", errors.New("--to is missing: name a file, nats://HOST:PORT/STREAM or kafka://HOST:PORT/TOPIC")
	}
	scheme, rest, ok := strings.Cut(w.to, "://")
	if !ok {
		return func(context.Context) (publisher.Writer, error) { return publisher.File(w.to) }, w.called(), nil
	}
	name = w.called()
	at := strings.LastIndexByte(rest, '/')
	if at <= 0 || at == len(rest)-1 {
		return nil, "", fmt.Errorf("--to %s: want nats://HOST:PORT/STREAM or kafka://HOST:PORT/TOPIC", name)
	}
	hosts := strings.Split(rest[:at], ",")
	of, err := url.PathUnescape(rest[at+1:])
	if err != nil {
		return nil, "", fmt.Errorf("--to %s: its name cannot be read", name)
	}
	var in config.Input
	switch scheme {
	case "nats", "tls":
		in.NATS = &w.broker.nats
		in.NATS.Stream = of
		for _, host := range hosts {
			in.NATS.URLs = append(in.NATS.URLs, scheme+"://"+host)
		}
	case "kafka":
		in.Kafka = &w.broker.kafka
		in.Kafka.Brokers, in.Kafka.Topics = hosts, []string{of}
		if _, ok := t.lookupEnv(passwordVariable); ok && in.Kafka.PasswordFile == "" {
			in.Kafka.PasswordEnv = passwordVariable
		}
	default:
		return nil, "", fmt.Errorf("--to %s: want a file, nats:// or kafka://", name)
	}
	return func(ctx context.Context) (publisher.Writer, error) { return app.OpenPublisher(ctx, in) }, name, nil
}

// published hands each record on. The first that fails ends the workload.
type published struct {
	to    publisher.Writer
	ctx   context.Context
	stop  context.CancelFunc
	stats probe.Stats

	mu    sync.Mutex
	marks int
	fault error
}

func (p *published) emit(r event.Record) {
	p.stats.Add(&r)
	p.write(r.Session, r.Epoch+"/"+r.ID, event.AppendJSON(nil, &r))
}

func (p *published) mark(m event.Mark) {
	p.mu.Lock()
	p.marks++
	id := m.Epoch + "/mark-" + strconv.Itoa(p.marks)
	p.mu.Unlock()
	p.write(m.Name, id, event.AppendMark(nil, &m))
}

func (p *published) write(key, id string, record []byte) {
	err := p.to.Write(p.ctx, key, id, record)
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = err
	}
	p.stop()
}
