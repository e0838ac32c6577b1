package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/target"
)

const (
	// openWait bounds one attempt to connect and to make the tables.
	openWait = 30 * time.Second
	// A database that is away is asked again after retryLeast, and ever less often, to
	// retryMost.
	retryLeast = time.Second
	retryMost  = time.Minute
)

// errStuck ends a run, so that another epoch begins.
var errStuck = errors.New("the database answers, and has committed nothing for a minute: the probe's tables are made again")

// probed is an input whose records come from a workload on a database. Each attempt that reaches the
// database is an epoch, with tables of its own. It lasts until the process ends: sessions that lose
// their connections open others.
type probed struct {
	config    config.Probe
	source    string
	partition string
	work      *probe.Workload
	now       func() time.Time
	jitter    func() float64
	log       *slog.Logger
	watch     *probeWatch
	trouble   func(problem string) // "": none any more
	// expect is told what the product documents for the setting that was met.
	expect func(ctx context.Context, expected string) error
}

// openProbe makes the input. The database is met later: it may be away.
func (a *App) openProbe(c *config.Probe) error {
	work, err := probe.ByName(c.Workload)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	p := &probed{
		config: *c, source: c.SourceName(), partition: "probe:" + c.SourceName(), work: work,
		now: a.options.Now, jitter: mathrand.Float64, log: a.log, watch: newProbeWatch(a.options.Now),
	}
	p.expect = func(ctx context.Context, expected string) error { return a.hold(ctx, p.source, expected) }
	a.probes = append(a.probes, p)
	in := a.addInput(p.partition, p.source, p, true)
	in.ownTroubles = true
	p.trouble = func(problem string) { in.say(p.partition, problem) }
	return nil
}

// hold lets a source be held to the level that its product documents. If a.config has an expected level
// for the source, that one is used.
func (a *App) hold(ctx context.Context, source, expected string) error {
	select {
	case a.reloading <- struct{}{}:
		defer func() { <-a.reloading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	next := a.current.Load().Holding(source, expected)
	if next == nil {
		return nil
	}
	if err := next.WatchOf(source).SetExpect(expected); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadWait, errNoStep)
	defer cancel()
	if err := a.reconfigure(ctx, next, false); err != nil {
		return err
	}
	a.current.Store(next)
	if err := a.rememberProbes(); err != nil {
		a.log.Warn("the expected level of a probe could not be stored: the next start asks the database again", "source", source, "err", err)
	}
	a.log.Info("a probe expects the level that the product documents for its setting", "source", source, "expect", expected)
	return nil
}

// Run implements [ingest.Source]. No fault of the database ends it.
func (p *probed) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	f := &feed{partition: p.partition, now: p.now, out: out, cut: true}
	before, known := from[p.partition]
	f.next, f.epoch = max(1, before.Next), strings.TrimSuffix(before.Identity, cutMark)
	if known && !wasCut(before) {
		f.lose("the process before was killed between transactions that overlapped: what they read may have no record")
	} else {
		f.leave() // nothing is held back while the database is away
	}
	again := backoff{least: retryLeast, most: retryMost, jitter: p.jitter}
	for ctx.Err() == nil {
		reached, err := p.epoch(ctx, f)
		if reached {
			again.reset()
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		p.fail(err)
		again.wait(ctx)
	}
	return nil
}

// epoch meets the database, and works on it until ctx ends or it is stuck. reached says that
// the workload began.
func (p *probed) epoch(ctx context.Context, f *feed) (reached bool, err error) {
	opening, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	epoch := newEpoch(p.now())
	began := time.Now()
	t, err := p.open(opening, epoch)
	p.note(probe.Connect, time.Since(began), err)
	if err != nil {
		return false, err
	}
	defer func() {
		if err := t.Close(); err != nil {
			p.log.Warn("the tables of a probe remain until the next one begins", "source", p.source, "err", err)
		}
	}()
	o := probe.Options{
		Source: p.source, Epoch: epoch, Isolation: t.Isolation,
		Sessions: p.config.Sessions, Keys: p.config.Keys, Rate: p.config.Rate, Seed: mathrand.Uint64(), Now: p.now,
	}
	if expected := t.Expect(); p.config.Expect == "" && expected != "" {
		if err := p.expect(opening, expected); err != nil {
			return false, fmt.Errorf("what is expected of %s: %w", expected, err)
		}
	}
	first, err := probe.Fill(opening, t, p.work, o)
	if err != nil {
		return false, err
	}
	cancel()
	p.log.Info("a probe begins", "source", p.source, "epoch", epoch, "product", t.Product, "version", t.Version, "isolation", t.Isolation)
	return true, p.run(ctx, f, t, o, &first)
}

// run works on tables that were filled.
func (p *probed) run(ctx context.Context, f *feed, t *target.Target, o probe.Options, first *event.Record) error {
	f.epoch = o.Epoch
	o.Observer = observing{p, f}
	f.begin()
	f.add(first)
	p.answered()
	p.watch.outcome(first.Status)
	f.end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looking := make(chan struct{})
	go func() {
		defer close(looking)
		p.look(ctx, f, cancel)
	}()
	err := probe.Run(ctx, t, p.work, o, func(r event.Record) {
		p.watch.outcome(r.Status)
		f.add(&r)
	})
	stuck := context.Cause(ctx)
	cancel(nil)
	<-looking
	f.leave()
	if errors.Is(stuck, errStuck) {
		return errStuck
	}
	return err
}

// look looks after the feed, and ends a run that is stuck.
func (p *probed) look(ctx context.Context, f *feed, end context.CancelCauseFunc) {
	ticker := time.NewTicker(probeIdle / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look()
			if p.watch.stuck() {
				end(errStuck)
			}
		}
	}
}

func (p *probed) open(ctx context.Context, epoch string) (*target.Target, error) {
	secret, err := readSecret(p.config.Password)
	if err != nil {
		return nil, err
	}
	return target.Open(ctx, p.config.URL, target.Options{
		Epoch: epoch, Schema: p.config.Schema, Isolation: p.config.Isolation, Password: string(secret),
		Endpoints: p.config.Endpoints, Stale: p.config.Stale, Sessions: p.config.Sessions,
		Log: func(line string) { p.log.Debug("a probe's command says", "source", p.source, "line", line) },
	})
}

// newEpoch is a name that no other run has, of lower-case letters and digits.
func newEpoch(now time.Time) string {
	var drawn [4]byte
	rand.Read(drawn[:])
	n := uint64(drawn[0])<<24 | uint64(drawn[1])<<16 | uint64(drawn[2])<<8 | uint64(drawn[3])
	return "e" + strconv.FormatInt(now.UnixMicro(), 36) + strconv.FormatUint(n, 36)
}

// observing tells the feed and the watch how the run fares.
type observing struct {
	*probed
	feed *feed
}

// Begins implements [probe.Observer].
func (o observing) Begins() { o.feed.begin() }

// Ends implements [probe.Observer].
func (o observing) Ends() { o.feed.end() }

// Phase implements [probe.Observer].
func (o observing) Phase(_ string, p probe.Phase, took time.Duration, err error) {
	o.note(p, took, err)
}

// note takes down the result of a phase. It logs once that the database is away, and once that it is
// back.
func (p *probed) note(phase probe.Phase, took time.Duration, err error) {
	p.tell(p.watch.phase(phase, took, err))
}

// fail notes a fault outside the phases.
func (p *probed) fail(err error) {
	p.watch.mu.Lock()
	change := p.watch.fails(err.Error())
	p.watch.mu.Unlock()
	p.tell(change)
}

// answered notes that the database does.
func (p *probed) answered() {
	p.watch.mu.Lock()
	change := p.watch.answers()
	p.watch.mu.Unlock()
	p.tell(change)
}

func (p *probed) tell(change string) {
	s := p.watch.status(p.source)
	p.trouble(s.Problem)
	switch change {
	case "down":
		p.log.Warn("a probe's database does not answer; the probe keeps trying", "source", p.source, "err", s.Problem)
	case "up":
		p.log.Info("a probe's database answers again", "source", p.source)
	}
}
