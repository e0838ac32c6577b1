package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/tape"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// ErrSettings: the store cannot go on with the settings that are asked for.
var ErrSettings = errors.New("settings do not fit the store")

// ErrNoRoom: the disk is full, and what was read last is not committed; the next life
// reads it again.
var ErrNoRoom = errors.New("no room on the disk for what was read last")

// Options say how an engine works. Configure must be set.
type Options struct {
	// Configure gives the configuration of a source's machine. The steps of a store are replayed with
	// the configuration that they were made with. Another one takes effect with the first step of this
	// life, within the limits of [window.Machine.Following].
	Configure func(source string) window.Config
	// Now is the wall clock, ns since the Unix epoch, put on every batch as its
	// tick. nil: no ticks.
	Now func() int64
	// Gather is how long a step waits for more input after its first event. Default 5 ms.
	Gather time.Duration
	// Pace is the time between two steps with few records: one waits longer than Gather for
	// it. So a low rate costs few steps, and a record still waits for at most Pace. Default 20 ms,
	// of the 100 ms within which a finding is meant to be delivered. It is less than the pace of
	// a reader of NATS, so that a chunk of a reader finds the time over.
	Pace time.Duration
	// StepBytes is the input after which a step waits no longer. Default 1 MiB.
	StepBytes int
	// SnapshotBytes of deltas at least are written between two snapshots, and at least a quarter of
	// the latest snapshot's size. That bounds the deltas that a restart replays. Default 64 MiB.
	SnapshotBytes int64
	// Committed is called after every commit, with the number of findings that
	// it wrote; not concurrently. It must not block.
	Committed func(findings int)
	// Changed is called after a commit with the ids of the findings that it wrote or removed, each
	// once. Retention has removed all findings up to the order forgotten, which are not among them.
	// It is not called concurrently, and must not block. nil: nobody is told.
	Changed func(ids []string, forgotten uint64)
	// PaneWritten is called after a commit for each pane that it wrote. It is not called concurrently, and must
	// not block. nil: nobody is told.
	PaneWritten func(source string, start int64)
	// LevelsChanged is called with the new configuration of a source that had other levels before, or was
	// expected to give another one. nil: nobody asks.
	LevelsChanged func(source string, c *window.Config)
	// Sinks are the names under which findings are delivered. One that the store has not met begins at
	// the present. The outbox removes entries that all sinks were given. It keeps at most Outbox
	// entries and OutboxBytes that some sink does not take. Defaults 100,000 and 256 MiB.
	Sinks       []string
	Outbox      int
	OutboxBytes int64
	// SnapshotAge is how old deltas may be before a snapshot takes their place. 0: no
	// bound.
	SnapshotAge time.Duration
	// Retention bounds what is kept of what was found.
	Retention Retention
	// Room returns true when there is room on disk for a step. It returns false when ctx ends and
	// there is not even room for the last steps. nil: there always is. Steps wait for it, and the
	// input waits for them.
	Room func(ctx context.Context) bool
	// HasRoom says whether so many bytes more may be written: a snapshot that does not
	// fit waits for its turn. nil: they may.
	HasRoom func(bytes int64) bool
	// StepsBytes is the memory of steps between the decoder and the disk: with more, nothing is decoded, unless
	// there is no such step. MaxElems is the decoder's. 0: any amount.
	StepsBytes int64
	MaxElems   int
	// OpenBytes is the memory of open transactions. Beyond it the oldest are given up. 0: the assembler's own bound.
	OpenBytes int64
	// TapeBytes of messages are kept as they came in, for the findings that follow. 0: 16 MiB.
	TapeBytes int64
	// State is the memory of all machines together, bytes; 0: any amount.
	State int64
	// Bound says before each step what State and OpenBytes are from then on, where several engines share memory. nil: they stay.
	Bound func(Held) (state, open int64)
	// Faults is the folder for files that reproduce faults of the program. "": none are written.
	Faults string
	// Hook is for tests.
	Hook   Hook
	Logger *slog.Logger
}

// Hook is called with the records that a machine has just taken in. It may panic.
type Hook func(source string, b *event.Batch, txns []int32)

func (o Options) withDefaults() Options {
	if o.Gather == 0 {
		o.Gather = 5 * time.Millisecond
	}
	if o.Pace == 0 {
		o.Pace = 20 * time.Millisecond
	}
	if o.StepBytes == 0 {
		o.StepBytes = 1 << 20
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = 64 << 20
	}
	if o.TapeBytes == 0 {
		o.TapeBytes = 16 << 20
	}
	if o.Outbox == 0 {
		o.Outbox = defaultOutbox
	}
	if o.OutboxBytes == 0 {
		o.OutboxBytes = defaultOutboxBytes
	}
	if o.Now == nil {
		o.Now = func() int64 { return 0 }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LevelsChanged == nil {
		o.LevelsChanged = func(string, *window.Config) {}
	}
	if o.Committed == nil {
		o.Committed = func(int) {}
	}
	if o.Room == nil {
		o.Room = func(context.Context) bool { return true }
	}
	if o.HasRoom == nil {
		o.HasRoom = func(int64) bool { return true }
	}
	return o
}

// Engine drives the machines over one store. Use [Open].
type Engine struct {
	opt   Options
	store *store.Store
	log   *slog.Logger

	// Owned by the step goroutine.
	sources       *sources
	assembler     event.Assembler
	cursors       map[string]ingest.Cursor
	sinceSnapshot int64 // bytes of deltas since the last snapshot was taken
	snapshotTick  int64 // of the last snapshot that was taken, or of the first step
	asked         atomic.Pointer[reconfiguration]
	asking        chan struct{} // holds one token while something is in asked
	step          uint64
	pending       []uncommitted // oldest first
	needs         []infer.Ref

	// Owned by the commit goroutine.
	head         head
	committed    atomic.Uint64 // head.Step
	lamented     bool          // findings were dropped, and that was said
	warnings     warnings      // of dead letters
	sinks        atomic.Pointer[[]string]
	retained     int64        // tick at which retention was looked at
	lastSnapshot atomic.Int64 // size of the latest snapshot

	snapshotStep atomic.Uint64 // that the current snapshot stands behind; 0: there is none

	// Owned by the collecting goroutine.
	decoder    event.Decoder
	tape       tape.Tape // the step goroutine reads it
	partitions map[string]*partition
	awaited    []string // partitions of earlier lives that this life has not read yet
	opened     int64    // tick from which they are waited for
	missed     []Waiting
	looked     int64 // tick at which missed was made
	busy       int64 // tick of the latest step with records

	resolving chan *resolving
	losing    chan faultEntry // see Lose

	status  atomic.Pointer[Status]
	records atomic.Int64
	reads   atomic.Int64 // of retained state
	bytes   atomic.Int64
	failed  atomic.Bool // a step could not be made or committed, and nothing after it is
	torn    atomic.Bool // the machines are in the middle of a step that failed
	snaps   snaps

	inFlight atomic.Int64 // bytes of steps that are decoded and not committed
	stages   stages
}

// snaps are the snapshots that are being written: one at most.
type snaps struct {
	sync.WaitGroup
	being atomic.Bool
	fresh atomic.Uint32 // the progress of the snapshot that Fresh asked for
}

// How far a snapshot is that Fresh has asked for.
const (
	notAsked uint32 = iota
	asked
	taken
	written
)

// Open recovers what st holds: the machines as they were after the last commit.
func Open(st *store.Store, o Options) (*Engine, error) {
	return OpenContext(context.Background(), st, o)
}

// OpenContext is Open until ctx ends.
func OpenContext(ctx context.Context, st *store.Store, o Options) (*Engine, error) {
	e := &Engine{
		opt:        o.withDefaults(),
		store:      st,
		cursors:    map[string]ingest.Cursor{},
		partitions: map[string]*partition{},
		resolving:  make(chan *resolving),
		losing:     make(chan faultEntry),
		asking:     make(chan struct{}, 1),
	}
	e.log, e.assembler.MaxBytes = e.opt.Logger, int(e.opt.OpenBytes)
	e.tape.Bytes = e.opt.TapeBytes
	e.decoder = e.newDecoder("")
	e.sources = newSources(e.opt.Hook)
	if err := e.recover(ctx); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	for _, x := range e.sources.list {
		x.resuming = x.Stopped != ""
	}
	e.step = e.head.Step
	e.committed.Store(e.step)
	if err := e.reconfigure(e.opt.Configure, true); err != nil {
		return nil, err
	}
	if err := e.SetSinks(e.opt.Sinks); err != nil {
		return nil, err
	}
	e.opened = e.opt.Now()
	e.awaited = slices.Sorted(maps.Keys(e.cursors))
	for _, name := range e.awaited {
		e.partitions[name] = &partition{heard: e.opened, awaited: true}
	}
	status := e.measure(0, nil)
	status.count(&e.head)
	e.status.Store(status)
	return e, nil
}

// Cursors say where to go on reading, by partition. There are none before the first
// input and after the end of one.
func (e *Engine) Cursors() map[string]ingest.Cursor {
	out := make(map[string]ingest.Cursor, len(e.cursors))
	for p, c := range e.cursors {
		out[p] = c
	}
	return out
}

// work is a step on its way through the goroutines.
type work struct {
	step      step
	cursors   map[string]ingest.Cursor
	ended     []string  // partitions whose cursors go
	announced bool      // a partition was named for the first time, without a record
	urgent    bool      // it holds more than a cursor
	confirmed []string  // partitions whose end was reached again
	first     time.Time // when it became so
	waiting   []Waiting
	dead      []DeadLetter
	delta     []byte
	effects   []effect
	puts      []sourcePut
	failed    error // nothing of it may be committed
	last      error // nothing may be committed after it
	resolving []*resolving
	assembly  []byte // what changed of open transactions
	// assemblySince is the first step with changes of open transactions that are still needed.
	assemblySince uint64
	snapshot      *snapshot
	status        *Status
	bytes         int64 // when it was decoded
}

// effect holds the results of one source's step.
type effect struct {
	source   string
	findings []json.RawMessage
	ids      []string
	outbox   []bool
	raws     [][]byte // records of findings as they came in; nil: none are left
	fallen   []string // findings that were stored as waiting and are none
	panes    []pane
}

type pane struct {
	start int64
	key   []byte
	value []byte
}

// Run takes chunks until in is closed or ctx ends. It returns when every chunk taken is committed.
// When the store fails it returns, also if nothing comes in. finish says that the end of in is the end
// of the input: the watermark then passes everything, and no cursor is left. A later Run reads a new
// input that continues the history.
func (e *Engine) Run(ctx context.Context, in <-chan ingest.Chunk, finish bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.store.Broken():
			cancel()
		case <-ctx.Done():
		}
	}()
	var failed error // written by the commit goroutine, which ends before it is read
	decoded := make(chan *work, 1)
	stepped := make(chan *work, 1)
	free := make(chan *work, 4)
	for range cap(free) {
		free <- &work{}
	}
	var wg sync.WaitGroup
	wg.Add(2)
	go func() { // step
		defer wg.Done()
		defer close(stepped)
		var broken error
		for w := range decoded {
			if broken == nil { // the machines are no more what a step left
				began := time.Now()
				if w.failed = e.doStep(w); w.failed != nil {
					e.torn.Store(true)
				}
				w.note(&e.stages, StageStep, began)
				broken = cmp.Or(w.failed, w.last)
			} else {
				w.failed = broken
			}
			stepped <- w
		}
	}()
	go func() { // commit
		defer wg.Done()
		for w := range stepped {
			if failed == nil { // nothing may follow a step that is not there
				err := w.failed
				if err == nil {
					began := time.Now()
					if !e.opt.Room(ctx) {
						err = ErrNoRoom
					} else if err = e.commit(w); err != nil {
						err = fmt.Errorf("commit: %w", err)
					}
					w.note(&e.stages, StageCommit, began)
				}
				if err = cmp.Or(err, w.last); err != nil {
					failed = err
					e.failed.Store(true)
					cancel()
				}
			}
			w.answer(failed)
			w.snapshot.drop()
			w.shrink()
			e.inFlight.Add(-w.bytes)
			free <- w
		}
		e.warnings.rest(e.log)
	}()
	e.collect(ctx, in, finish, decoded, free)
	close(decoded)
	wg.Wait()
	e.snaps.Wait()
	return cmp.Or(failed, e.store.Failure())
}

// Pause tells what the machines have held back to tell it once a minute. It is for the end of the
// service where the input goes on, or was left in the middle. Only after Run, and before Close.
func (e *Engine) Pause(ctx context.Context) error {
	if e.store.Failure() != nil || !slices.ContainsFunc(e.sources.list, (*source).pausable) || !e.opt.Room(ctx) {
		return nil // without room it is told by the next life
	}
	w := e.fresh(&work{})
	w.step.pause, w.step.tick = true, e.opt.Now()
	w.waiting = e.waiting(w.step.tick)
	w.step.batch.Pack()
	if err := e.doStep(w); err != nil {
		e.torn.Store(true)
		return err
	}
	if err := e.commit(w); err != nil {
		w.snapshot.drop()
		e.torn.Store(true)
		return fmt.Errorf("commit: %w", err)
	}
	e.snaps.Wait()
	return nil
}

// Close writes a last snapshot, unless it would be large, so that the next start
// has nothing to replay.
func (e *Engine) Close() error {
	e.snaps.Wait()
	if e.store.Failure() != nil || e.torn.Load() || e.step != e.head.Step {
		return nil // Run tells it; the machines are not what the last commit left
	}
	if e.head.Step == e.snapshotStep.Load() || e.stateBytes() > maxClosing || !e.opt.HasRoom(e.stateBytes()) {
		return nil
	}
	return e.writeSnapshot(e.takeSnapshot(), e.head.Step)
}
