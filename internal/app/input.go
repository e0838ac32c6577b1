package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/kafka"
	"github.com/isowatch/isowatch/ingest/nats"
	"github.com/isowatch/isowatch/ingest/stdin"
	"github.com/isowatch/isowatch/ingest/tail"
	brokerkafka "github.com/isowatch/isowatch/internal/broker/kafka"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
)

// chunksAhead is how many chunks an input reads ahead of the engine: with the
// sources' 1 MiB a chunk, 4 MiB an input.
const chunksAhead = 4

// input is a source with what is known of how it fares.
type input struct {
	name   string // "nats:STREAM", "kafka:TOPIC,...", "file:GLOB,...", "probe:SOURCE", "stdin"
	of     string // the source of records that name none
	only   bool   // no record is of another source
	source ingest.Source
	// readAhead bounds what all inputs together have read ahead; nil: nothing does.
	readAhead *credit
	// logs says that the source writes its troubles to the log itself.
	logs bool
	// ownTroubles says that the input tells its troubles by say alone.
	ownTroubles bool
	log         *slog.Logger

	mu       sync.Mutex
	troubles map[string]string // by partition
	behind   map[string]bool   // partitions not read to their end
	lag      map[string]int64  // messages behind what was read, by partition
	looked   bool              // the end of one was seen
	lastTime int64             // the broker's time of the latest message, ns
	lost     []string          // the first losses of records since the start, in words
	losses   int               // all of them
	// unmatched are the patterns that match no file, and patterns is how many there are.
	unmatched []string
	patterns  int
}

// health of an input.
type health struct {
	name      string
	up        bool
	caughtUp  bool
	lastTime  int64
	unmatched []string
	patterns  int
}

func (i *input) health() health {
	i.mu.Lock()
	defer i.mu.Unlock()
	return health{i.name, len(i.troubles) == 0, i.looked && len(i.behind) == 0, i.lastTime, i.unmatched, i.patterns}
}

// run reads until ctx ends or the input does. It passes on every chunk that the source sent, unless
// done closes.
func (i *input) run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk, done <-chan struct{}) error {
	ahead := make(chan ingest.Chunk)
	type held struct {
		ingest.Chunk
		taken int64
	}
	queued := make(chan held, chunksAhead)
	waiting, stop := context.WithCancel(context.Background()) // until done closes: ctx may end before
	defer stop()
	go func() {
		select {
		case <-done:
			stop()
		case <-waiting.Done():
		}
	}()
	go func() {
		defer close(queued)
		for c := range ahead {
			queued <- held{c, i.readAhead.take(waiting, c.Bytes())}
		}
	}()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for c := range queued {
			i.note(&c.Chunk)
			c.Source, c.Only = i.of, i.only
			select {
			case out <- c.Chunk:
			case <-done:
			}
			i.readAhead.give(c.taken)
		}
	}()
	err := i.source.Run(ctx, maps.Clone(from), ahead)
	close(ahead)
	<-passed
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("input %s: %w", i.name, err)
	}
	return nil
}

func (i *input) note(c *ingest.Chunk) {
	i.mu.Lock()
	defer i.mu.Unlock()
	old := i.troubles[c.Partition]
	switch {
	case i.ownTroubles: // see say
	case c.Problem != "" && c.Problem != old:
		i.troubles[c.Partition] = c.Problem
		if !i.logs {
			i.log.Warn("cannot read", "partition", c.Partition, "err", c.Problem)
		}
	case c.Problem == "" && old != "":
		delete(i.troubles, c.Partition)
		if !i.logs {
			i.log.Info("reads again", "partition", c.Partition)
		}
	}
	for _, g := range c.Gaps {
		if i.losses++; len(i.lost) < mostTold {
			i.lost = append(i.lost, "records of "+c.Partition+" were lost: "+g.Reason)
		}
	}
	if n := len(c.Messages); n > 0 {
		i.lastTime = max(i.lastTime, c.Messages[n-1].Time)
	}
	i.lag[c.Partition] = c.Behind
	switch {
	case c.CaughtUp || c.EOF:
		i.looked = true
		delete(i.behind, c.Partition)
	case len(c.Messages) > 0:
		i.behind[c.Partition] = true
	}
}

// lagging is how many messages the brokers had beyond what was read, when that was read.
func (i *input) lagging() (n int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, lag := range i.lag {
		n += lag
	}
	return n
}

// say notes a trouble that no chunk tells of, since the watermark does not wait for its end; "": the
// trouble is over.
func (i *input) say(partition, problem string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if problem == "" {
		delete(i.troubles, partition)
	} else {
		i.troubles[partition] = problem
	}
}

// match notes the patterns that match no file.
func (i *input) match(unmatched []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unmatched = unmatched
}

func natsBroker(n *config.NATS) brokernats.Options {
	return brokernats.Options{
		URLs: n.URLs, CredsFile: n.CredsFile, NKeyFile: n.NKeyFile, TokenFile: n.TokenFile,
		User: n.User, PasswordFile: n.PasswordFile, CAFile: n.CAFile, CertFile: n.CertFile, KeyFile: n.KeyFile,
	}
}

func kafkaBroker(k *config.Kafka) brokerkafka.Options {
	return brokerkafka.Options{
		Brokers: k.Brokers, TLS: k.TLS, CAFile: k.CAFile, CertFile: k.CertFile, KeyFile: k.KeyFile,
		Mechanism: k.Mechanism, User: k.User,
		Password: brokerkafka.Secret(os.Getenv(k.PasswordEnv)), PasswordFile: k.PasswordFile,
	}
}

// openInputs opens what the configuration names. Nothing is read yet.
func (a *App) openInputs(context.Context) error {
	if a.embedded != nil {
		source, err := a.natsSource(brokernats.Options{URLs: []string{a.embedded.URL()}, Inside: a.embedded}, config.DefaultStream, nil)
		if err != nil {
			return err
		}
		a.addInput("nats:"+config.DefaultStream, config.DefaultSource, source, false)
	}
	for _, in := range a.config.AllInputs() {
		before := len(a.inputs)
		if err := a.openInput(&in); err != nil {
			return err
		}
		for _, i := range a.inputs[before:] {
			i.only = in.Only
		}
	}
	a.openSelfTest()
	return nil
}

// addInput adds an input. of is the source of the records that name none.
// logs says that it writes its troubles to the log itself.
func (a *App) addInput(name, of string, source ingest.Source, logs bool) *input {
	i := &input{
		readAhead: a.readAhead,
		name:      name, of: of, source: source, logs: logs, log: a.log,
		troubles: map[string]string{}, behind: map[string]bool{}, lag: map[string]int64{},
	}
	a.inputs = append(a.inputs, i)
	return i
}

func (a *App) openInput(in *config.PlacedInput) error {
	switch {
	case in.NATS != nil:
		source, err := a.natsSource(natsBroker(in.NATS), in.NATS.Stream, in.NATS.Subjects)
		if err != nil {
			return err
		}
		a.addInput("nats:"+in.NATS.Stream, in.Source, a.begun(source, in), false)
	case in.Kafka != nil:
		o := kafka.Options{Topics: in.Kafka.Topics, MaxBytes: int(min(a.budget.ahead/16, kafka.DefaultMaxBytes)), Logger: a.log, Broker: kafkaBroker(in.Kafka)}
		name := "kafka:" + strings.Join(in.Kafka.Topics, ",")
		if p := in.Kafka.Partition; p != nil {
			o.Partitions, name = []int{*p}, kafka.PartitionName(in.Kafka.Topics[0], *p)
		}
		source, err := kafka.New(o)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		a.addInput(name, in.Source, a.begun(source, in), true)
	case len(in.Tail) > 0:
		var made *input // it is there before anything is read
		source, err := tail.New(tail.Options{
			Globs: in.Tail, Except: a.tailed, Follow: true, Logger: a.log, Unmatched: func(patterns []string) { made.match(patterns) },
		})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		a.tailed = append(a.tailed, in.Tail...)
		made = a.addInput("file:"+strings.Join(slices.Sorted(slices.Values(in.Tail)), ","), in.Source, source, false)
		made.patterns = len(in.Tail)
	case in.Probe != nil:
		return a.openProbe(in.Probe)
	case in.Stdin:
		a.addInput(a.options.StdinName, in.Source, &stdin.Source{Input: a.stdin(), Name: a.options.StdinName, Identity: fmt.Sprint(a.now())}, false)
	}
	return nil
}

// begun returns the source, ready to be read. If the unit has lost its state, the source begins at a place that the
// unit remembers.
func (a *App) begun(source ingest.Source, in *config.PlacedInput) ingest.Source {
	if a.options.unit == nil {
		return source
	}
	return a.options.unit.beginsAnew(source)
}

func (a *App) stdin() io.Reader {
	if a.options.Stdin == nil {
		return strings.NewReader("")
	}
	return a.options.Stdin
}

func (a *App) natsSource(o brokernats.Options, stream string, subjects []string) (ingest.Source, error) {
	o.Name, o.Logger = "isowatch", a.log
	conn, err := brokernats.Connect(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	a.cleanups.push("nats connection", func(context.Context) error { conn.Close(); return nil })
	source, err := nats.New(nats.Options{Conn: conn, Stream: stream, Subjects: subjects, Logger: a.log, MaxBytes: int(min(a.budget.ahead, nats.DefaultMaxBytes))})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return source, nil
}

// startEmbedded starts the server inside the process, where no input is named.
// That comes before the engine, whose findings name its address.
func (a *App) startEmbedded(ctx context.Context) error {
	if !a.config.UsesEmbedded() {
		return nil
	}
	port := a.config.Embedded.Port
	if port == 0 {
		port = -1 // any
	}
	server, err := startWithin(ctx, func() (*brokernats.Embedded, error) {
		return brokernats.StartEmbedded(ctx, brokernats.EmbeddedOptions{
			Dir: a.path("nats"), Port: port, Stream: config.DefaultStream,
			Subjects: []string{config.DefaultSubjects}, MaxAge: a.config.Embedded.MaxAge, Logger: a.log,
		})
	})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: start the NATS server: %w\nName another port with --nats-port; 0 takes any free one.", ErrConfig, err)
	case err != nil:
		return fmt.Errorf("start the NATS server: %w", err)
	}
	a.embedded = server
	a.cleanups.push("nats server", func(context.Context) error { return server.Close() })
	return nil
}

// startWithin starts a server. It does not wait for a start that goes on after ctx has ended: a server
// recovers its whole backlog first. The process is about to end.
func startWithin[S io.Closer](ctx context.Context, start func() (S, error)) (S, error) {
	type started struct {
		server S
		err    error
	}
	done := make(chan started, 1)
	go func() {
		server, err := start()
		done <- started{server, err}
	}()
	select {
	case x := <-done:
		return x.server, x.err
	case <-ctx.Done():
	}
	select {
	case x := <-done:
		return x.server, x.err
	case <-time.After(closeWait):
		var none S
		return none, fmt.Errorf("it still starts: %w", context.Cause(ctx))
	}
}
