package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	groupstore "github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/store"
)

// unitsFolder is below the data folder. It is a cache: the state of units is in the group's store.
const unitsFolder = "units"

// Group is a member of a group of monitors: it watches the units that it owns, each with an app of its own.
type Group struct {
	options   Options
	config    config.Service
	log       *slog.Logger
	current   atomic.Pointer[config.Service] // config, with what a reload has changed
	rereading sync.Mutex
	id        string
	dir       string
	cleanups  cleanups
	store     groupstore.Store
	note      func(context.Context) error // writes the name of the group into the store
	member    *drive.Member
	pools     *pools
	joined    time.Time
	shared    atomic.Bool // it has got its share of the units
	leaving   atomic.Bool // it hands its units over, and ends
	writing   sync.Mutex  // held while a unit writes where others write too

	frame *App         // of the pages
	asks  *http.Client // of the pages of other members

	mu      sync.Mutex
	owned   map[string]*unit
	moves   map[string]int64  // by reason
	places  map[string]placed // see remember
	split   int               // sources that are met in two units of the group
	units   []string          // by now
	unasked map[string]bool   // members that could not be asked for their pages the last time, by ID
	watched unwatched
	isUnit  map[string]bool // names of units that were asked for

	// Of followUnits.
	reserved  int64 // of the heap, by what was told
	leaseless int   // looks in a row at which this member could not count on its lease

	cannot   map[string]bool // requests for help that this member cannot fulfil; of followSources
	agreeing sync.Mutex
	askedIn  string     // life of the member in which it has compared settings with others
	agreed   bool       // they were the same
	failed   chan error // holds why this member cannot go on

	odd    atomic.Bool  // other members watch with different settings
	differ atomic.Value // string: in which settings; as other members read it
	about  aboutKeeper
	all    sync.WaitGroup
}

// NewGroup checks the configuration, and opens nothing.
func NewGroup(o Options) (*Group, error) {
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	g := &Group{
		options: o,
		config:  o.Config,
		log:     o.Log,
		id:      o.Config.Group.Member,
		units:   o.Config.Units(),
		owned:   map[string]*unit{},
		moves:   map[string]int64{},
		places:  map[string]placed{},
		cannot:  map[string]bool{},
		isUnit:  map[string]bool{},
		note:    func(context.Context) error { return nil }, // until the store is open
		pools:   poolsOf(o.Memory),
		failed:  make(chan error, 1),
		watched: unwatched{since: map[string]time.Time{}, told: map[string]bool{}, mine: map[string]time.Time{}},
		about:   aboutKeeper{begun: make(chan struct{}, 1)},
	}
	g.current.Store(&o.Config)
	if g.id == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("%w: this machine has no name: give the member one with --group-member: %w", ErrConfig, err)
		}
		g.id = name
	}
	g.dir = filepath.Join(o.Config.Data, unitsFolder)
	return g, nil
}

// Start joins the group.
func (g *Group) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{g.listen, g.checkAddress, g.makeData, g.openStore, g.lookForID, g.servePages, g.agree, g.join} {
		if err := step(ctx); err != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
			defer cancel()
			return errors.Join(err, g.cleanups.run(closing))
		}
	}
	return nil
}

func (g *Group) makeData(context.Context) error {
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return fmt.Errorf("%w: data folder: %w. Name another one with --data", ErrConfig, err)
	}
	unlock, err := store.Lock(g.config.Data)
	if err != nil {
		return fmt.Errorf("%w: data folder %s: %w. Each member needs a folder of its own: name one with --data", ErrConfig, g.config.Data, err)
	}
	g.cleanups.push("lock of the data folder", func(context.Context) error { unlock(); return nil })
	old, err := os.ReadDir(g.dir)
	for _, x := range old { // of a life before
		err = errors.Join(err, os.RemoveAll(filepath.Join(g.dir, x.Name())))
	}
	if err != nil {
		return fmt.Errorf("%w: data folder: %w", ErrConfig, err)
	}
	return nil
}

func (g *Group) openStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	s, err := openGroupStore(ctx, g.config.Group.State, g.config.AllInputs(), true, g.log)
	if err != nil {
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	g.cleanups.push("store of the group", func(context.Context) error { return s.Close() })
	g.store = groupstore.Named(s, g.config.Group.Name)
	g.note = func(ctx context.Context) error { return groupstore.Note(ctx, s, g.config.Group.Name) }
	if err := g.note(ctx); err != nil {
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	if err := groupstore.Probe(ctx, g.store, fmt.Sprintf("%s-%d", unitID(g.id), time.Now().UnixNano())); err != nil {
		if errors.Is(err, groupstore.ErrUnfit) {
			err = fmt.Errorf("%w. Name another store with --group-state: members would overwrite each other here", err)
		}
		return fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	return nil
}

// lookForID refuses an ID whose lease is being renewed.
func (g *Group) lookForID(ctx context.Context) error {
	before, err := g.leases(ctx)
	if err != nil || len(before) == 0 {
		return err
	}
	for end := time.Now().Add(g.config.Group.Lease / 2); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(g.config.Group.Lease / 20):
		}
		now, err := g.leases(ctx)
		if err != nil {
			return err
		}
		for key, version := range now {
			if was, ok := before[key]; ok && was != version {
				return fmt.Errorf("%w: the group %s has a member %s that is alive: give this one another name with --group-member", ErrConfig, g.config.Group.Name, g.id)
			}
		}
	}
	return nil
}

// leases are the versions of the leases of this ID that are not over.
func (g *Group) leases(ctx context.Context) (map[string]group.Version, error) {
	all, err := g.store.List(ctx, "member/")
	if err != nil {
		return nil, fmt.Errorf("%w: group state: %w", ErrConfig, err)
	}
	found := map[string]group.Version{}
	for _, v := range all {
		if id, live := group.MemberOf(v); live && id == g.id {
			found[v.Key] = v.Version
		}
	}
	return found, nil
}

func (g *Group) join(ctx context.Context) error {
	g.cleanAbout(ctx)
	g.mu.Lock() // events wait until the member is there
	defer g.mu.Unlock()
	g.member = drive.Start(drive.Options{ID: g.id, Lease: g.config.Group.Lease, Units: g.units, Store: g.store, Has: g.hasUnit, Heed: g.heed})
	g.joined = time.Now()
	following, stop := context.WithCancel(context.Background())
	g.cleanups.push("sources of units", func(context.Context) error { stop(); return nil })
	go g.followSources(following)
	go g.followUnits(following)
	go g.followAbout(following)
	go g.followStates(following, lookAtStates, rereadAfter)
	go g.followPlaces(following)
	if len(g.config.Partitioned()) > 0 {
		go g.followPartitions(following)
	}
	g.log.Info("joined the group", "group", g.config.Group.Name, "member", g.id, "units", len(g.units), "lease", g.config.Group.Lease.String())
	return nil
}

func (g *Group) heed(e group.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.owned[e.Unit]
	if u != nil && u.term != e.Term {
		u = nil
	}
	switch {
	case e.Kind == group.Gained:
		u = g.newUnit(e)
		g.owned[e.Unit] = u
		g.moves["gained"]++
		if e.From != "" {
			u.log.Warn(leaseIsOver(e.From, g.id) + ": this member takes the unit")
		}
		g.all.Go(u.run)
	case e.Kind == group.Unreadable:
		g.tellUnreadable(e.Key)
	case e.Kind == group.Rewritten, e.Kind == group.Ended && e.Missing:
		g.tellLost(e)
	case e.Kind == group.Ended:
		g.log.Warn(g.watched.whyEnded(time.Now(), g.config.Group.Lease, g.member.Fault()) + ". This member joins again")
	case u == nil:
	case e.Kind == group.Committed:
		u.wrote()
	case e.Kind == group.Yield:
		u.log.Info("hands the unit over")
		u.yield()
	case e.Kind == group.Lost:
		u.lose()
		delete(g.owned, e.Unit)
		g.moves["lost"]++
		g.all.Go(func() { g.tellLoss(u, e.To) })
	case e.Kind == group.Handed:
		g.moves["handed"]++
		delete(g.owned, e.Unit)
	}
}

// tellLoss says once who has the unit now.
func (g *Group) tellLoss(u *unit, to string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*g.config.Group.Lease)
	defer cancel()
	for to == "" && ctx.Err() == nil {
		if v, err := g.store.Get(ctx, group.UnitKey(u.name)); err == nil {
			if owner, term, err := group.OwnerOf(v); err == nil && term > u.term {
				to = owner
			}
		}
		if to == "" {
			select {
			case <-ctx.Done():
			case <-time.After(g.config.Group.Lease / 10):
			}
		}
	}
	if to == "" {
		to = "nobody yet"
	} else {
		to = group.IDOf(to)
	}
	if to == g.id {
		return // it began again here, under another term
	}
	u.log.Warn("lost the unit", "to", to)
}

// Stop hands all units over, and leaves the group.
func (g *Group) Stop(ctx context.Context) error {
	if g.member == nil {
		return g.cleanups.run(ctx)
	}
	g.leaving.Store(true)
	g.refresh(ctx)
	g.member.Leave()
	for !g.member.HasLeft() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	var err error
	if !g.member.HasLeft() {
		err = errors.New("units could not be handed over in time: others take them when the lease is over")
	}
	g.mu.Lock()
	for _, u := range g.owned {
		u.lose()
	}
	g.mu.Unlock()
	g.member.Stop()
	ended := make(chan struct{})
	go func() { g.all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return errors.Join(err, g.cleanups.run(ctx))
}
