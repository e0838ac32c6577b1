package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	readMax  = 1000 // deliveries read from the outbox at a time
	batchMax = 100  // deliveries given to a sink at a time

	// rejections is how often a receiver may reject a single finding before the finding is
	// given up. A receiver that is being redeployed may answer nonsense for a while.
	rejections = 5
)

// Options of a [Dispatcher]. The zero value is for the service.
type Options struct {
	Log     *slog.Logger // nil: nothing is logged
	Metrics *Metrics     // nil: nothing is registered

	FirstDelay   time.Duration    // after a first failure; 0: 1 s
	MaxDelay     time.Duration    // the delay doubles up to here; 0: 5 min
	Timeout      time.Duration    // of one Deliver; 0: 30 s
	CloseTimeout time.Duration    // of Close; 0: 5 s
	Now          func() time.Time // for what keepers have due; nil: time.Now
	Rand         func() float64   // in [0, 1), for the jitter; nil: a random one
}

func (o Options) withDefaults() Options {
	orElse := func(d *time.Duration, other time.Duration) {
		if *d == 0 {
			*d = other
		}
	}
	orElse(&o.FirstDelay, time.Second)
	orElse(&o.MaxDelay, 5*time.Minute)
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.CloseTimeout, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// HangingError names sinks that did not end their last delivery in time.
type HangingError struct{ Sinks []string }

func (e *HangingError) Error() string {
	return "alert: sinks did not end in time: " + strings.Join(e.Sinks, ", ")
}

// Dispatcher takes findings from the outbox to the sinks.
type Dispatcher struct {
	outbox  Outbox
	options Options
	workers []*worker

	ctx     context.Context // of every delivery
	cancel  context.CancelFunc
	closing chan struct{} // closed: deliver what is there once, then end
	close   sync.Once
}

// worker is the one goroutine of a sink.
type worker struct {
	*Dispatcher
	Route
	keeper Keeper        // Sink, if it is one; nil
	wake   chan struct{} // holds one token: there may be something to deliver
	done   chan struct{} // closed when the goroutine has ended

	failures int // in a row
	rejected int // how often the next finding was rejected on its own
	singly   int // how many to offer one at a time: a batch of so many was rejected
}

// NewDispatcher starts delivering. Two sinks of one name are an error, as they
// would share a cursor.
func NewDispatcher(outbox Outbox, routes []Route, o Options) (*Dispatcher, error) {
	d := &Dispatcher{outbox: outbox, options: o.withDefaults(), closing: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	var names []string
	for _, route := range routes {
		name := route.Sink.Name()
		if slices.Contains(names, name) {
			d.cancel()
			return nil, fmt.Errorf("alert: two sinks are named %q", name)
		}
		names = append(names, name)
		d.options.Metrics.prepare(name)
		keeper, _ := route.Sink.(Keeper)
		d.workers = append(d.workers, &worker{
			Dispatcher: d, Route: route, keeper: keeper,
			wake: make(chan struct{}, 1), done: make(chan struct{}),
		})
	}
	for _, w := range d.workers {
		go w.run()
	}
	return d, nil
}

// Notify tells that findings were committed to the outbox. It never blocks.
func (d *Dispatcher) Notify() {
	for _, w := range d.workers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Close delivers what is in the outbox, trying each sink once, and ends within
// Options.CloseTimeout. Undelivered findings stay in the outbox and go out
// after the next start. The error names sinks that did not end in time.
func (d *Dispatcher) Close() error {
	d.close.Do(func() { close(d.closing) })
	soft := time.NewTimer(d.options.CloseTimeout)
	defer soft.Stop()
	if d.waitUntil(soft.C) == nil {
		d.cancel()
		return nil
	}
	d.cancel() // sinks should return at once now; one that ignores its context may not
	hard := time.NewTimer(time.Second)
	defer hard.Stop()
	if hanging := d.waitUntil(hard.C); hanging != nil {
		return &HangingError{hanging}
	}
	return nil
}

// waitUntil waits for all workers, and names those that run on at the end.
func (d *Dispatcher) waitUntil(end <-chan time.Time) (running []string) {
	for i, w := range d.workers {
		select {
		case <-w.done:
		case <-end:
			for _, w := range d.workers[i:] {
				select {
				case <-w.done:
				default:
					running = append(running, w.Sink.Name())
				}
			}
			return running
		}
	}
	return nil
}

func (w *worker) run() {
	defer close(w.done)
	for err := w.restore(); err != nil; err = w.restore() {
		if !w.pause(err) {
			return
		}
	}
	w.failures = 0
	for {
		left, err := w.deliverPending()
		if err == nil {
			err = w.flush()
		}
		if err != nil && !w.pause(err) {
			return
		}
		if left || err != nil {
			continue
		}
		select {
		case <-w.wake:
			continue
		default: // a token that came before closing counts
		}
		due, stop := w.due()
		select {
		case <-w.wake:
		case <-due:
		case <-w.closing:
			stop()
			w.finish()
			return
		}
		stop()
	}
}

// restore gives a keeper what it remembered.
func (w *worker) restore() error {
	if w.keeper == nil {
		return nil
	}
	state, err := w.outbox.Kept(w.Sink.Name())
	if err != nil {
		return fmt.Errorf("read what the sink remembers: %w", err)
	}
	if err := w.keeper.Restore(state); err != nil {
		w.options.Log.Error("the stored state of a sink cannot be read, and is dropped: it may get findings again",
			"sink", w.Sink.Name(), "bytes", len(state), "err", err)
	}
	return nil
}

// due fires when the keeper is to be flushed.
func (w *worker) due() (fires <-chan time.Time, stop func()) {
	if w.keeper == nil || w.keeper.Due().IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(w.keeper.Due().Sub(w.options.Now()))
	return timer.C, func() { timer.Stop() }
}

// flush sends what a keeper has due.
func (w *worker) flush() error {
	if w.keeper == nil {
		return nil
	}
	if due := w.keeper.Due(); due.IsZero() || due.After(w.options.Now()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.options.Timeout)
	defer cancel()
	if err := w.keeper.Flush(ctx); err != nil {
		return err
	}
	w.failures = 0
	state, err := w.keeper.State()
	if err == nil {
		err = w.outbox.Keep(w.Sink.Name(), state)
	}
	if err != nil {
		return fmt.Errorf("keep what the sink remembers: %w", err)
	}
	return nil
}

// remembered returns the keeper's state, which is stored with the cursor.
func (w *worker) remembered() ([]byte, error) {
	if w.keeper == nil {
		return nil, nil
	}
	return w.keeper.State()
}

// finish delivers what came in after the last look.
func (w *worker) finish() {
	for {
		left, err := w.deliverPending()
		if err != nil {
			w.failed(err)
		}
		if !left || err != nil {
			return
		}
	}
}

// deliverPending reads the outbox once and delivers what it read. left is false
// when the outbox was empty.
func (w *worker) deliverPending() (left bool, err error) {
	name := w.Sink.Name()
	queue := w.options.Metrics.queue.WithLabelValues(name)
	pending, err := w.outbox.Pending(name, readMax)
	if err != nil {
		return false, fmt.Errorf("read the outbox: %w", err)
	}
	queue.Set(float64(len(pending)))
	left = len(pending) > 0
	for len(pending) > 0 {
		n := min(batchMax, len(pending))
		if few, ok := w.Sink.(Batcher); ok {
			n = min(n, few.BatchMax())
		}
		if w.singly > 0 {
			n = 1
		}
		if err := w.deliver(pending[:n]); err != nil {
			return left, err
		}
		pending = pending[n:]
		queue.Set(float64(len(pending)))
		w.failures, w.rejected, w.singly = 0, 0, max(0, w.singly-n)
	}
	return left, nil
}

// deliver gives the sink what its filter passes, and moves the cursor.
func (w *worker) deliver(batch []Delivery) error {
	metrics, name := w.options.Metrics, w.Sink.Name()
	wanted := make([]Delivery, 0, len(batch))
	suppressed := map[string]int{}
	for i := range batch {
		f := &batch[i].Finding
		if !w.Filter.about(f) {
			continue
		}
		if reason := w.Filter.suppresses(f); reason != "" {
			suppressed[reason]++
		} else {
			wanted = append(wanted, batch[i])
			wanted[len(wanted)-1].link(w.Pages)
		}
	}
	if len(wanted) > 0 {
		if err := w.offer(wanted); err != nil {
			return err
		}
	}
	state, err := w.remembered()
	if err == nil {
		err = w.outbox.Advance(name, batch[len(batch)-1].Seq, state)
	}
	if err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	for reason, n := range suppressed {
		metrics.suppressed.WithLabelValues(name, reason).Add(float64(n))
	}
	return nil
}

// offer is nil when the sink took the findings, or the only one is given up.
func (w *worker) offer(wanted []Delivery) error {
	metrics, name := w.options.Metrics, w.Sink.Name()
	ctx, cancel := context.WithTimeout(w.ctx, w.options.Timeout)
	defer cancel()
	err := w.Sink.Deliver(ctx, wanted)
	if err == nil {
		metrics.delivered.WithLabelValues(name).Add(float64(len(wanted)))
		return nil
	}
	if !errors.Is(err, ErrRejected) {
		return err
	}
	if len(wanted) > 1 {
		w.singly = len(wanted)
		return err
	}
	if w.rejected++; w.rejected >= rejections {
		metrics.rejected.WithLabelValues(name).Inc()
		w.options.Log.Error("alert: the receiver rejects a finding, and it is not sent again",
			"sink", name, "finding", wanted[0].Finding.ID, "err", err)
		return nil
	}
	return err
}

func (w *worker) failed(err error) {
	name := w.Sink.Name()
	w.options.Metrics.failed.WithLabelValues(name).Inc()
	level := slog.LevelWarn
	if w.ctx.Err() != nil { // the end has cut it off: the next start delivers it
		level = slog.LevelInfo
	}
	w.options.Log.Log(context.Background(), level, "alert: delivery failed", "sink", name, "attempt", w.failures+1, "err", err)
}

// pause waits after a failure. It is false when the dispatcher is closing.
func (w *worker) pause(err error) bool {
	w.failed(err)
	timer := time.NewTimer(w.delay(err))
	defer timer.Stop()
	w.failures++
	select {
	case <-timer.C:
		return true
	case <-w.closing:
		return false
	}
}

// delay doubles with each failure in a row, up to MaxDelay. It is drawn from the
// upper half of that, so that many instances do not come back together. A
// receiver that names a time is not asked before it.
func (w *worker) delay(err error) time.Duration {
	most := w.options.MaxDelay
	if w.failures < 30 {
		most = min(most, w.options.FirstDelay<<w.failures)
	}
	delay := most/2 + time.Duration(w.options.Rand()*float64(most/2))
	var retry *RetryError
	if errors.As(err, &retry) {
		delay = max(delay, min(retry.After, w.options.MaxDelay))
	}
	return delay
}
