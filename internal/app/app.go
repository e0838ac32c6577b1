package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/ingest/stdin"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/volume"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

var (
	// ErrInput marks what is wrong with an input or its credentials, and a folder
	// that does not fit the input: a person has to change something.
	ErrInput = errors.New("input")
	// ErrConfig marks what does not fit the machine, such as an address or a folder in
	// use: a person has to change a setting.
	ErrConfig = errors.New("configuration")
	// ErrStore marks a store that fails: nothing can be acknowledged any more.
	ErrStore = errors.New("store")
)

// lockWait is how long a start waits for the previous process to leave the
// folder, as when a container is replaced.
const lockWait = 10 * time.Second

// closeWait bounds the end of a start that fails, or that a signal ends.
const closeWait = 5 * time.Second

// faultsFolder holds files that reproduce faults of the program.
const faultsFolder = "faults"

// ProbeInput is the name of standard input, as Options have it, where `monitor probe` hands on its records.
const ProbeInput = "probe"

// Options are the settings from the caller's process.
type Options struct {
	Config config.Service
	// Sinks take findings, beside the sinks in Config.
	Sinks []alert.Route
	Stdin io.Reader        // for an input of standard input; nil: empty
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: nothing is logged
	// StdinName names the input of standard input in positions; "": stdin.
	StdinName string
	// Temporary: the data folder goes with the process, and findings name no command on it.
	Temporary bool
	// Linger is how long the pages stay, not ready, when the service has failed by itself, so that
	// its metrics are seen once more. 0: not at all.
	Linger time.Duration
	// Reread reads the settings again, for a reload that the pages ask for; nil: there is no file.
	Reread func() (config.Service, error)
	// Hook is for tests (see the engine's).
	Hook engine.Hook
	// Memory bounds the resident memory of the process, bytes; 0: any amount. The caller limits the
	// runtime to [HeapLimit] of it.
	Memory int64
	// Reserve is told how much of the heap takes no memory of the machine: tables that are set aside. nil: nobody is told.
	Reserve func(bytes int64)
	// unit: the app watches one unit of a group; nil: it stands alone.
	unit *unit
	// Free is the free space of the data folder's disk, bytes; nil: it is measured.
	Free func() (int64, error)
}

// App is the service. Use [New].
type App struct {
	options Options
	config  config.Service
	log     *slog.Logger

	cleanups cleanups
	stopping sync.Once
	stopErr  error

	registry    *prometheus.Registry
	registerer  prometheus.Registerer // of registry, with the label of the unit
	store       *store.Store
	engine      *engine.Engine
	embedded    *brokernats.Embedded
	inputs      []*input
	probes      []*probed
	selfTest    *selfTest  // nil: it is off
	planted     int64      // by the self-tests of processes before
	tailed      []string   // patterns of the inputs so far: what those match is theirs
	made        []madeSink // of the configuration
	sinkMetrics *alert.Metrics
	dispatcher  atomic.Pointer[alert.Dispatcher]
	shelf       *shelf
	rates       *rates
	strips      *strips
	hiding      *hiding
	guard       atomic.Pointer[web.Guard]      // of the pages; its secrets are read again by a reload
	current     atomic.Pointer[config.Service] // a reload may change a part of it
	rereading   sync.Mutex                     // held while the file of settings is read again and takes effect
	reloading   chan struct{}                  // holds one while settings or caps change
	reloaded    reloaded
	diskSpace   *diskSpace
	memory      *memory
	budget      budget
	readAhead   *credit
	flow        *flow
	listener    net.Listener // of the pages; nil: none
	reads       gate         // around everything that reads the store for others
	ready       atomic.Bool
	lingered    chan struct{} // closed when Done is
	left        chan struct{} // closed by Stop
}

// New checks the configuration, and opens nothing.
func New(o Options) (*App, error) {
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.StdinName = cmp.Or(o.StdinName, stdin.Partition)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &App{
		options:   o,
		config:    o.Config,
		log:       o.Log,
		registry:  prometheus.NewRegistry(),
		memory:    newMemory(o.Memory),
		budget:    divide(o.Memory),
		readAhead: newCredit(divide(o.Memory).ahead),
		reloading: make(chan struct{}, 1),
		left:      make(chan struct{}),
	}
	a.registerer = a.registry
	if u := o.unit; u != nil {
		a.registerer = prometheus.WrapRegistererWith(prometheus.Labels{"unit": u.name}, a.registry)
		a.budget = divide(u.share(o.Memory))
		a.budget.memTable, a.budget.mapped = tableOf(a.budget.memTable, o.Memory, u.units()), divide(o.Memory).mapped // which is measured of the process
		a.budget.step = stepOf(o.Memory, u.units())
		a.readAhead = newCredit(a.budget.ahead)
	}
	a.current.Store(&a.config)
	if a.config.SelfTest > 0 {
		a.selfTest = newSelfTest(a.config.SelfTest, o.Now, a.log)
	}
	return a, nil
}

func (a *App) now() int64 { return a.options.Now().UnixNano() }

func (a *App) path(name string) string { return filepath.Join(a.config.Data, name) }

// Start opens everything and begins to read. After an error all is closed again.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		a.tellIgnored, a.listen, a.makeSinks, a.makeData, a.recallProbes, a.watchRoom, a.openStore, a.makeShelf, a.startEmbedded, a.openEngine, a.noteRestart, a.openInputs, a.checkInputs, a.serveSocket, a.openSinks, a.keepShelf, a.begin, a.watchMemory, a.sampleRates, a.servePages,
	} {
		if err := step(ctx); err != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
			defer cancel()
			return errors.Join(err, a.cleanups.run(closing))
		}
	}
	a.ready.Store(true)
	return nil
}

// tellIgnored says which settings have no effect.
func (a *App) tellIgnored(context.Context) error {
	if topics := a.config.Partitioned(); a.options.unit == nil && len(topics) > 0 {
		a.log.Warn("an input has unit: partition, which only members of a group heed: this monitor reads all partitions", "topics", strings.Join(topics[0].Topics, ","))
	}
	return nil
}

func (a *App) makeData(context.Context) error {
	err := os.MkdirAll(a.path(storeFolder), 0o700)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: data folder: %w\nName another folder with --data.", ErrConfig, err)
	case err != nil:
		return fmt.Errorf("%w: %w\nName another folder with --data.", ErrStore, err)
	}
	return nil
}

func (a *App) freeSpace() (int64, error) {
	if a.options.Free != nil {
		return a.options.Free()
	}
	return volume.Free(a.config.Data)
}

func (a *App) openStore(ctx context.Context) error {
	st, err := store.OpenContext(ctx, a.path(storeFolder), a.storeOptions())
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("%w: %w%s", ErrConfig, err, a.remedy(err))
	case err != nil:
		return fmt.Errorf("%w: %w%s", ErrStore, err, a.remedy(err))
	}
	a.store = st
	a.cleanups.push("store", func(context.Context) error {
		if err := st.Close(); !errors.Is(err, store.ErrGone) && !errors.Is(err, store.ErrUnwritable) {
			return err
		}
		return nil // App.Err tells it
	})
	if a.options.unit != nil {
		return a.options.unit.fill(ctx, a)
	}
	return nil
}

func (a *App) storeOptions() store.Options {
	var committed func([]store.Entry)
	if u := a.options.unit; u != nil {
		committed = u.committed
	}
	cache := a.options.unit != nil // the group's store has the state
	return store.Options{
		Committed: committed,
		Logger:    a.log,
		LockWait:  lockWait,
		Fsync:     !cache && a.config.Durability == config.Fsync,
		Unsynced:  cache,
		MemTable:  a.budget.memTable,
		Resident:  a.budget.resident(),
	}
}

// remedy says what a person can do about a store that does not open.
func (a *App) remedy(err error) string { return remedyOf(a.path(storeFolder), err) }

func remedyOf(dir string, err error) string {
	switch {
	case errors.Is(err, store.ErrGone):
		return fmt.Sprintf(
			"\nMove them back to %s and start again. If they are lost, start again without them: the store is built again from the input, which is read from its beginning.",
			dir,
		)
	case errors.Is(err, store.ErrUnwritable):
		return fmt.Sprintf("\nMake %s writable again, and look for errors of the disk. Then start again: what was not committed is read again.", dir)
	case errors.Is(err, store.ErrHole):
		return fmt.Sprintf("\nMove %s away and start again: it is built again from the input, which is read from its beginning.", dir)
	case errors.Is(err, store.ErrLocked):
		return "\nStop the other process, or name another folder with --data."
	case errors.Is(err, store.ErrOlder):
		return "\n" + throughReleases(dir)
	case errors.Is(err, store.ErrFormat):
		return "\n" + writtenBy(dir) + " Run that build or a later one, or name another folder with --data."
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("\nGive this user the right to read and write %s, or name another folder with --data.", dir)
	case errors.Is(err, engine.ErrNoRoom), tells(err, syscall.ENOSPC), tells(err, syscall.EDQUOT), tells(err, syscall.EFBIG):
		return fmt.Sprintf("\nMake room on the disk of %s, and start again: nothing that was acknowledged is lost.", dir)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ""
	case !errors.Is(err, store.ErrDamaged) && writtenByOther(dir): // no checksum was wrong
		return "\n" + writtenBy(dir) + " Run that build. If it does not start either, the folder is damaged." + buildAgain(dir)
	default:
		return "\nThe folder may be damaged." + buildAgain(dir)
	}
}

// tells says whether err is the system's answer, or holds its text: the store's library does not
// wrap every error.
func tells(err error, number syscall.Errno) bool {
	return errors.Is(err, number) || strings.Contains(err.Error(), number.Error())
}

// buildAgain advises a person whose folder cannot be read by any program.
func buildAgain(dir string) string {
	return fmt.Sprintf(" Move %s away and start again: it is built again from the input, which is read from its beginning.", dir)
}

func (a *App) openEngine(ctx context.Context) error {
	began := time.Now()
	var bound func(engine.Held) (state, open int64)
	if u := a.options.unit; u != nil {
		bound = u.g.pools.bound(u)
	}
	e, err := engine.OpenContext(ctx, a.store, engine.Options{
		Configure: a.machineOf(a.current.Load()),
		StepBytes: a.budget.step, StepsBytes: a.budget.steps, MaxElems: a.budget.elems, OpenBytes: a.budget.open, State: a.budget.state, Bound: bound, TapeBytes: a.budget.tape,
		SnapshotBytes: int64(a.config.Retention.Deltas.Bytes), SnapshotAge: a.config.Retention.Deltas.Age,
		Retention: machineRetention(&a.config.Retention),
		Room:      a.diskSpace.wait, HasRoom: a.diskSpace.has,
		Changed: a.shelf.changed, PaneWritten: a.strips.written, LevelsChanged: a.noteLevels,
		Faults: a.path(faultsFolder), Hook: a.options.Hook,
		Now: a.now, Logger: a.log, Sinks: names(a.routes(a.made)),
		Committed: func(findings int) {
			if findings > 0 {
				a.dispatcher.Load().Notify() // set before the first step
			}
		},
	})
	switch {
	case errors.Is(err, engine.ErrSettings):
		return fmt.Errorf("%w: %s: %w\nName the levels that the folder began with, or another folder with --data.", ErrInput, a.path(storeFolder), err)
	case errors.Is(err, engine.ErrFault):
		before := "Start the version before it"
		if writtenByOther(a.path(storeFolder)) {
			before = writtenBy(a.path(storeFolder)) + " Run that build"
		}
		return fmt.Errorf("%s: %w\nReport it. This version cannot replay the stored steps. %s, or move the folder away and start again.", a.path(storeFolder), err, before)
	case err != nil:
		return fmt.Errorf("%w %s: %w%s", ErrStore, a.path(storeFolder), err, a.remedy(err))
	}
	if err := noteWriter(a.path(storeFolder)); err != nil {
		a.log.Warn("the version of this program cannot be noted in the data folder", "err", err)
	}
	a.engine, a.planted = e, plantedIn(e.Status())
	a.cleanups.push("engine", func(context.Context) error { return e.Close() })
	a.log.Info("recovered", "sources", len(e.Status().Sources), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

func machineRetention(r *config.Retention) engine.Retention {
	return engine.Retention{
		Findings:    engine.Keep{Age: r.Findings.Age, Bytes: int64(r.Findings.Bytes)},
		DeadLetters: engine.Keep{Age: r.DeadLetters.Age, Bytes: int64(r.DeadLetters.Bytes)},
		Panes:       r.Panes,
		Evidence:    r.Evidence,
	}
}

// machineOf says how each source is checked by c: what is configured meanwhile does not
// change that.
func (a *App) machineOf(c *config.Service) func(source string) window.Config {
	return func(source string) window.Config {
		watch := c.WatchOf(source)
		machine := whole.MachineConfig(watch)
		again := replayable{inputs: a.config.AllInputs(), embedded: a.NATSURL(), data: a.config.Data}
		if a.options.unit != nil {
			again.data = "" // it is the member's, and the finding is the group's
		}
		machine.Replay = again.command(source, watch)
		if !watch.ShowValues {
			machine.Hide = a.hiding.key
		}
		if !a.options.Temporary {
			machine.Data = whole.Absolute(a.config.Data)
		}
		return machine
	}
}

// checkInputs refuses a folder whose standard input was left in the middle, since it cannot be read
// from there. For a standard input it also refuses a folder that other inputs are read into. After the
// end of an input there are no cursors: any other input may follow.
func (a *App) checkInputs(context.Context) error {
	cursors := a.engine.Cursors()
	_, left := cursors[stdin.Partition]
	_, leftProbe := cursors[ProbeInput]
	switch {
	case leftProbe:
		return fmt.Errorf("%w: %s holds the findings of a probe that was killed and cannot be continued: name another folder with --data", ErrInput, a.config.Data)
	case left:
		return fmt.Errorf("%w: %s holds the findings of a standard input that was left in the middle and cannot be continued: name another folder with --data",
			ErrInput, a.config.Data)
	case a.config.UsesStdin() && len(cursors) > 0:
		return fmt.Errorf("%w: %s is in use for other inputs: name another folder with --data", ErrInput, a.config.Data)
	}
	return nil
}

// begin lets the input in.
func (a *App) begin(context.Context) error {
	if err := a.register(); err != nil {
		return err
	}
	a.flow = startFlow(a.engine, a.inputs, a.config.UsesStdin())
	a.lingered = make(chan struct{})
	go a.linger()
	a.cleanups.push("reading", func(ctx context.Context) error {
		a.diskSpace.leave()
		return a.flow.stop(ctx)
	})
	return nil
}

// Done is closed when the input has ended, or the service has failed and lingered. Only after
// Start.
func (a *App) Done() <-chan struct{} { return a.lingered }

// linger keeps a service that failed by itself for a while.
func (a *App) linger() {
	defer close(a.lingered)
	<-a.flow.done
	if err := a.Err(); a.listener == nil || a.options.Linger == 0 || !errors.Is(err, ErrStore) && !errors.Is(err, engine.ErrStopped) {
		return
	}
	a.log.Error("the service has failed, and ends: until then it is not ready", "in", a.options.Linger.String(), "err", a.Err())
	select {
	case <-time.After(a.options.Linger):
	case <-a.left:
	}
}

// Err is why the service failed, once Done is closed.
func (a *App) Err() error {
	if a.flow == nil {
		return nil
	}
	select {
	case <-a.flow.done:
		if err := a.flow.err; errors.Is(err, ErrStore) {
			return fmt.Errorf("%w%s", err, a.remedy(err))
		} else if errors.Is(err, engine.ErrStopped) {
			return fmt.Errorf("%w\nReport it, with the files in %s. A restart goes on after these records.", err, a.path(faultsFolder))
		}
		return a.flow.err
	default:
		return nil
	}
}

// Stop ends reading, commits what was read, delivers what is in the outbox, and
// closes everything, within ctx. Calling it again gives the same answer.
func (a *App) Stop(ctx context.Context) error {
	a.stopping.Do(func() {
		close(a.left)
		a.ready.Store(false)
		a.stopErr = errors.Join(a.cleanups.run(ctx), a.Err())
	})
	return a.stopErr
}

// HTTPAddr is where the pages are, "" for nowhere.
func (a *App) HTTPAddr() string {
	if a.listener == nil {
		return ""
	}
	return a.listener.Addr().String()
}

// NATSURL is where clients reach the embedded server, "" without one.
func (a *App) NATSURL() string {
	if a.embedded == nil {
		return ""
	}
	return a.embedded.URL()
}

// Status is the state after the last commit, without the self-test.
func (a *App) Status() *engine.Status { return withoutSelfTest(a.engine.Status(), a.planted) }
