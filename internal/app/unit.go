package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/keep"
	"github.com/isowatch/isowatch/internal/web"
	"github.com/isowatch/isowatch/store"
)

const (
	unitCloseTimeout = time.Second // of the last deliveries of a unit that is handed over
	unitStop         = 20 * time.Second
	unitRetryFirst   = time.Second // before a unit that failed is tried again
	unitRetryMost    = 30 * time.Second
	gateLook         = 100 * time.Millisecond // between two looks at whether deliveries may begin
)

// unit is a unit that this member owns, under one term.
type unit struct {
	g     *Group
	name  string
	term  uint64
	life  string // of the member
	dir   string
	log   *slog.Logger
	first group.Event     // its Gained
	told  map[string]bool // names of sources that are in other units too, as was logged. Of followSources

	mu        sync.Mutex
	app       *App         // nil: it does not run
	pages     http.Handler // of app
	keeper    *keep.Keeper
	places    *places
	filling   atomic.Bool     // the state already has all commits
	begin     json.RawMessage // where the unit began without its state; nil: it has its state
	rewritten chan struct{}   // holds a token when a state without anything in it is written
	stopping  chan struct{}
	stop      sync.Once
	lost      atomic.Bool
	yields    atomic.Bool
	asking    atomic.Bool // it waits for a member that can read the state
	done      chan struct{}
}

// unitID is a name of the unit that stores and file systems take.
func unitID(name string) string {
	hash := sha256.Sum256([]byte(name))
	return hex.EncodeToString(hash[:8])
}

func (g *Group) newUnit(e group.Event) *unit {
	return &unit{
		g: g, name: e.Unit, term: e.Term, life: g.member.Name(), first: e, log: g.log.With("unit", e.Unit, "term", e.Term),
		dir:  filepath.Join(g.dir, fmt.Sprintf("%s-%d", unitID(e.Unit), e.Term)),
		told: map[string]bool{}, stopping: make(chan struct{}), done: make(chan struct{}), rewritten: make(chan struct{}, 1),
	}
}

// share is the part of the process's memory for this unit: the member may come to own all units. State and open transactions have
// more: see pools.
func (u *unit) share(memory int64) int64 {
	if memory <= 0 {
		return memory
	}
	return max(memory/int64(u.units()), int64(config.LeastMemory))
}

// units is how many this member may come to own.
func (u *unit) units() int {
	u.g.mu.Lock()
	defer u.g.mu.Unlock()
	return max(len(u.g.units), 1)
}

// run watches the unit until it is handed over or lost.
func (u *unit) run() {
	defer close(u.done)
	if u.g.agrees(u) {
		u.watchUntilEnd()
	}
	if u.yields.Load() && !u.lost.Load() {
		u.g.member.Yielded(u.name, u.term)
	}
}

// watchUntilEnd watches the unit. After a failure it tries again, from the latest state.
func (u *unit) watchUntilEnd() {
	data, through := u.first.Data, u.first.Through
	if u.first.Missing {
		data, _ = u.beginAnew(u.g.remembered(u.name), errors.New("its record is missing or damaged")) // an error says that the unit ends
		through = 0
	}
	bad := 0 // failures in a row by which the state cannot be read
	for wait := unitRetryFirst; ; wait = min(2*wait, unitRetryMost) {
		began := time.Now()
		err := u.watch(data, through)
		u.mu.Lock()
		keeper := u.keeper
		u.mu.Unlock()
		if keeper != nil {
			data, through = keeper.State()
			u.g.remember(u.name, u.term, keeper.Place()) // it asks where the app is
		}
		u.mu.Lock()
		u.app, u.pages, u.keeper = nil, nil, nil
		u.mu.Unlock()
		u.g.pools.leave(u)
		if removed := os.RemoveAll(u.dir); removed != nil {
			u.log.Warn("a folder of the unit cannot be removed", "err", removed)
		}
		if u.ends() {
			break
		}
		if bad++; !unreadable(err) {
			bad = 0
		}
		if bad > 1 { // the first may be a store that shows an object late
			if data, err = u.salvage(data, err); err == nil {
				through, bad = 0, 0
			}
			if u.ends() {
				break
			}
			continue
		}
		u.log.Error("the unit cannot be watched, and is tried again", "in", wait.String(), "err", err)
		if time.Since(began) > unitRetryMost {
			wait = unitRetryFirst
		}
		select {
		case <-u.stopping:
		case <-time.After(wait):
		}
		if u.ends() {
			break
		}
	}
}

func (u *unit) ends() bool {
	select {
	case <-u.stopping:
		return true
	default:
		return false
	}
}

// watch runs the app of the unit once.
func (u *unit) watch(data []byte, through uint64) error {
	settings := u.settings(u.g.current.Load())
	if settings == nil {
		return errors.New("this member's settings have no such unit")
	}
	keeper, err := keep.New(keep.Options{
		Objects: u.g.store, Unit: unitID(u.name) + ".", Name: fmt.Sprintf("%s.%d-%s", unitID(u.name), u.term, u.life[len(u.life)-16:]),
		State: data, Through: through, Findings: engine.Told, Written: u.written, Version: BuildInfo()[0], Log: u.log,
		Place: u.place, Fresh: u.fresh,
		Commit: func(data []byte, through uint64) bool { return u.g.member.Commit(u.name, u.term, data, through) },
	})
	if err != nil {
		return err
	}
	o := u.g.options
	o.Config, o.Temporary, o.Linger, o.Reread, o.Log, o.unit = *settings, true, 0, nil, u.log, u
	a, err := New(o)
	if err != nil {
		return err
	}
	u.mu.Lock()
	u.keeper, u.begin, u.places = keeper, keep.Begins(data), newPlaces(reachOf(settings), data)
	u.mu.Unlock()
	starting, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-u.stopping:
			cancel()
		case <-starting.Done():
		}
	}()
	began := time.Now()
	if err := a.Start(starting); err != nil {
		return err
	}
	pages := a.pagesBelow(u.g.config.HTTP.Base()+web.UnitPages+unitID(u.name), u.g.frame.guarding)
	u.mu.Lock()
	u.app, u.pages = a, pages
	u.mu.Unlock()
	if data != nil {
		go u.readsWell()
	}
	following, stopFollowing := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() { defer close(followed); u.followOffsets(following, a, settings) }()
	defer func() { stopFollowing(); <-followed }()
	u.g.about.begins()
	u.log.Info("watches the unit", "after", time.Since(began).Round(time.Millisecond).String())
	select {
	case <-a.Done():
	case <-u.stopping:
	}
	ctx, stop := context.WithTimeout(context.Background(), unitStop)
	defer stop()
	return errors.Join(a.Stop(ctx), errUnitEnded)
}

var errUnitEnded = errors.New("its input has ended")

// yield hands the unit over.
func (u *unit) yield() {
	u.yields.Store(true)
	u.stop.Do(func() { close(u.stopping) })
}

// lose ends the term. Another member goes on from the latest state.
func (u *unit) lose() {
	u.lost.Store(true)
	u.mu.Lock()
	if u.keeper != nil {
		u.keeper.Abort()
	}
	u.mu.Unlock()
	u.stop.Do(func() { close(u.stopping) })
}

// fill makes the empty store of a that which the state holds. From then on the state follows the store.
func (u *unit) fill(ctx context.Context, a *App) error {
	keeper := u.keeper // set before the start
	state, _ := keeper.State()
	u.filling.Store(true)
	err := keep.Restore(ctx, u.g.store, state, a.store)
	u.filling.Store(false)
	if err != nil {
		return fmt.Errorf("%w: the state of the unit: %w", ErrStore, err)
	}
	keeper.Start(a.store)
	if u.lost.Load() {
		keeper.Abort()
	}
	a.cleanups.push("state of the unit", func(ctx context.Context) error {
		err := keeper.Close(ctx)
		if u.lost.Load() {
			return nil // nothing of it counts
		}
		return err
	})
	return nil
}

func (u *unit) committed(entries []store.Entry) {
	if !u.filling.Load() {
		u.keeper.Committed(entries)
	}
}

// wrote: the write under way has ended.
func (u *unit) wrote() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keeper != nil {
		u.keeper.Done()
		return
	}
	select {
	case u.rewritten <- struct{}{}:
	default:
	}
}

// written: more findings may leave.
func (u *unit) written() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.app != nil {
		if d := u.app.dispatcher.Load(); d != nil {
			d.Notify()
		}
	}
}

// may is for how long a delivery that begins now may take; 0: it must not begin.
func (u *unit) may(number uint64) time.Duration {
	if u.lost.Load() {
		return 0
	}
	return u.g.member.May(u.name, u.term, number)
}

// holdingOutbox gives sinks what is in the state only.
type holdingOutbox struct {
	alert.Outbox
	u      *unit
	keeper *keep.Keeper
}

func (u *unit) holding(o alert.Outbox) alert.Outbox { return holdingOutbox{o, u, u.keeper} }

// Pending implements [alert.Outbox].
func (o holdingOutbox) Pending(sink string, most int) ([]alert.Delivery, error) {
	if o.u.may(0) == 0 {
		time.AfterFunc(gateLook, o.u.written)
		return nil, nil
	}
	all, err := o.Outbox.Pending(sink, most)
	written := o.keeper.Written()
	for i := range all {
		if all[i].Seq > written {
			return all[:i], err
		}
	}
	return all, err
}

// gated lets the sinks deliver while this member may.
func (u *unit) gated(routes []alert.Route) []alert.Route {
	all := append([]alert.Route(nil), routes...)
	for i := range all {
		g := gated{Sink: all[i].Sink, u: u, slow: new(atomic.Bool)}
		switch all[i].Sink.(type) {
		case *alert.JSONL, *alert.Text, *alert.File:
			g.one = &u.g.writing
		}
		if k, ok := g.Sink.(alert.Keeper); ok {
			all[i].Sink = gatedKeeper{k, g}
		} else {
			all[i].Sink = g
		}
	}
	return all
}

var errNotOwner = errors.New("the unit may be another member's by now")

// gated is a sink behind the lease.
type gated struct {
	alert.Sink
	u   *unit
	one *sync.Mutex // held while the sink writes to a place where other units write too; nil: it has a place of its own
	// slow: the latest delivery was cut off, as was logged.
	slow *atomic.Bool
}

// BatchMax implements [alert.Batcher].
func (g gated) BatchMax() int {
	if b, ok := g.Sink.(alert.Batcher); ok {
		return b.BatchMax()
	}
	return 100
}

// Deliver implements [alert.Sink].
func (g gated) Deliver(ctx context.Context, findings []alert.Delivery) error {
	return g.within(ctx, findings[len(findings)-1].Seq, func(ctx context.Context) error { return g.Sink.Deliver(ctx, findings) })
}

func (g gated) within(ctx context.Context, number uint64, fn func(context.Context) error) error {
	if g.one != nil {
		g.one.Lock()
		defer g.one.Unlock()
	}
	left := g.u.may(number)
	if left == 0 {
		return errNotOwner
	}
	ctx, cancel := context.WithTimeout(alert.WithOwner(ctx, alert.Owner{Member: g.u.g.id, Term: g.u.term}), left)
	defer cancel()
	err := fn(ctx)
	g.tellSlow(ctx, left, err)
	return err
}

// tellSlow logs once that a receiver did not answer within what was left of the lease. If little was left, the group's store is slow, which is
// told elsewhere.
func (g gated) tellSlow(ctx context.Context, left time.Duration, err error) {
	lease := g.u.g.config.Group.Lease
	switch {
	case err == nil:
		g.slow.Store(false)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && left >= lease/2 && !g.slow.Swap(true):
		g.u.log.Warn(
			"a receiver takes longer than what is left of the lease: its delivery is cut off and tried again. Raise --group-lease, or let it answer sooner",
			"sink",
			g.Name(),
			"left",
			left.Round(time.Millisecond).String(),
			"lease",
			lease.String(),
		)
	}
}

// gatedKeeper is a gated sink that remembers.
type gatedKeeper struct {
	alert.Keeper
	gate gated
}

// BatchMax implements [alert.Batcher].
func (g gatedKeeper) BatchMax() int { return g.gate.BatchMax() }

// Deliver implements [alert.Sink].
func (g gatedKeeper) Deliver(ctx context.Context, findings []alert.Delivery) error {
	return g.gate.Deliver(ctx, findings)
}

// Flush implements [alert.Keeper].
func (g gatedKeeper) Flush(ctx context.Context) error {
	return g.gate.within(ctx, 0, g.Keeper.Flush)
}
