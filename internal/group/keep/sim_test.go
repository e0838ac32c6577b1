package keep

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/store"
	isostore "github.com/isowatch/isowatch/store"
)

// The simulation of a group with real members and real keepers, in virtual time. Only the engine, its store and the network are simulated. The
// simulation of internal/group has far more members, and no states.
const (
	simLease   = 6 * time.Second
	simMembers = 4
	simUnits   = 5
	simFaults  = 16
	simFound   = 6 // findings of a unit
	simDuring  = 40 * time.Second
	readEach   = 10 // states: one is read back, beside those with more findings
)

// world is the store and the processes.
type world struct {
	store   *simStore
	planted planted
	began   time.Time
	found   map[string][]time.Duration // by unit: when the k-th finding can be found

	mu        sync.Mutex
	rng       *rand.Rand
	processes []*process
	term      map[string]uint64   // greatest that wrote, by unit
	through   map[string]uint64   // greatest that a state had, by unit
	texts     map[string]string   // of what was delivered, by unit and number
	told      map[string][]uint64 // terms of its deliveries
	handed    map[string]bool     // by unit and term
	bad       string
	lives     int
	states    int // that were written
	copies    int // states with a copy
}

func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == "" {
		w.bad = fmt.Sprintf("at %v: ", time.Since(w.began).Round(time.Millisecond)) + fmt.Sprintf(format, args...)
	}
}

func (w *world) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.rng.Uint64())
}

// atOnce is the store without a way to it. Its lock is held.
type atOnce struct {
	store.Objects
	s *simStore
}

func (o atOnce) GetObject(_ context.Context, name string) ([]byte, error) {
	if data, ok := o.s.objects[name]; ok {
		return data, nil
	}
	return nil, group.ErrNotFound
}

func contents(ctx context.Context, o store.Objects, data []byte) (map[string]string, error) {
	all := map[string]string{}
	err := Read(ctx, o, data, func(e isostore.Entry) error {
		if all[string(e.Key)] = string(e.Value); e.Delete {
			delete(all, string(e.Key))
		}
		return nil
	})
	return all, err
}

// wrote judges states as they are written: all its objects are there, and it holds all findings that it says it has.
func (w *world) wrote(key string, data []byte) {
	unit, is := strings.CutPrefix(key, "state/")
	if !is {
		return
	}
	var term, number, through uint64
	if _, err := fmt.Sscanf(string(data), "s1 %d %d %d\n", &term, &number, &through); err != nil {
		w.violated("%v", err)
	}
	_, state, _ := bytes.Cut(data, []byte("\n"))
	w.mu.Lock()
	w.states++
	judged := through > w.through[unit] || w.states%readEach == 0 || bytes.Contains(state, []byte(`"base":{`)) && w.copies == 0
	w.term[unit], w.through[unit] = max(w.term[unit], term), max(w.through[unit], through)
	if bytes.Contains(state, []byte(`"base":{`)) {
		w.copies++
	}
	w.mu.Unlock()
	if !judged {
		return
	}
	all, err := contents(context.Background(), atOnce{s: w.store}, state)
	if err != nil {
		w.violated("the state of %s under the term %d cannot be read: %v", unit, term, err)
	}
	lacks := ""
	w.mu.Lock()
	for k := range through {
		id := findingKey(k + 1)
		text, ok := all[id]
		if was := w.texts[unit+" "+id]; !ok || was != "" && was != strings.Fields(text)[0] {
			lacks = id
		}
	}
	w.mu.Unlock()
	if lacks != "" {
		w.violated("the state of %s under the term %d lacks %s of %d: %v", unit, term, lacks, through, all)
	}
}

func findingKey(k uint64) string { return fmt.Sprintf("f%03d", k) }

// delivered judges a delivery as it begins.
func (w *world) delivered(x *worker, id, text string) {
	w.mu.Lock()
	newest, was, terms := w.term[x.unit], w.texts[x.unit+" "+id], slices.Clone(w.told[x.unit+" "+id])
	w.texts[x.unit+" "+id] = text
	w.told[x.unit+" "+id] = append(w.told[x.unit+" "+id], x.term)
	twice := slices.ContainsFunc(terms, func(t uint64) bool { return t == x.term || w.handed[fmt.Sprint(x.unit, " ", t)] })
	w.mu.Unlock()
	switch {
	case newest > x.term:
		w.violated("%s of %s is delivered under the term %d, and %d has written", id, x.unit, x.term, newest)
	case was != "" && was != text:
		w.violated("%s of %s has two texts", id, x.unit)
	case twice:
		w.violated("%s of %s is delivered twice: under %v and %d", id, x.unit, terms, x.term)
	}
}

// process is a member and what it works on.
type process struct {
	w      *world
	id     string
	life   int
	line   *line
	ctx    context.Context
	kill   context.CancelFunc
	member *drive.Member
	done   sync.WaitGroup

	mu      sync.Mutex
	workers map[string]*worker
}

func (w *world) start(id string) *process {
	p := &process{w: w, id: id, workers: map[string]*worker{}}
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.line = &line{simStore: w.store, ctx: p.ctx}
	w.mu.Lock()
	w.lives++
	p.life = w.lives
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member = drive.Start(drive.Options{ID: id, Lease: simLease, Units: slices.Sorted(maps.Keys(w.found)), Store: p.line, Heed: p.heed})
	return p
}

func (p *process) heed(e group.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.workers[e.Unit]
	if x != nil && x.term != e.Term {
		x = nil
	}
	switch {
	case e.Kind == group.Gained:
		if e.Missing {
			p.w.violated("%s takes the state of %s as missing", p.id, e.Unit)
		}
		x = newWorker(p, e)
		p.workers[e.Unit] = x
		p.done.Go(x.run)
	case x == nil:
	case e.Kind == group.Committed:
		x.keeper.Done()
	case e.Kind == group.Yield:
		x.yielding()
	case e.Kind == group.Lost:
		x.lose()
		delete(p.workers, e.Unit)
	case e.Kind == group.Handed:
		p.w.mu.Lock()
		p.w.handed[fmt.Sprint(e.Unit, " ", e.Term)] = true
		p.w.mu.Unlock()
		delete(p.workers, e.Unit)
	}
}

// end kills the process.
func (p *process) end() {
	p.kill()
	p.member.Stop()
	p.mu.Lock()
	for _, x := range p.workers {
		x.lose()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// worker stands for the engine of a unit.
type worker struct {
	p      *process
	unit   string
	term   uint64
	first  group.Event
	keeper *Keeper
	ctx    context.Context
	lose   context.CancelFunc
	yields chan struct{}
	once   sync.Once

	mu   sync.Mutex
	held map[string]string // the unit's store
}

func newWorker(p *process, e group.Event) *worker {
	x := &worker{p: p, unit: e.Unit, term: e.Term, first: e, yields: make(chan struct{})}
	x.ctx, x.lose = context.WithCancel(p.ctx)
	k, err := New(Options{
		Objects: p.line, Unit: x.unit + ".", Name: fmt.Sprintf("%s.%d-%d", x.unit, x.term, p.life), State: e.Data, Through: e.Through, Written: func() {},
		Findings: func(all []isostore.Entry) (through uint64, known, urgent bool) {
			for _, e := range all {
				if k, err := strconv.ParseUint(strings.TrimPrefix(string(e.Key), "f"), 10, 64); err == nil {
					through, known = max(through, k), true
				}
			}
			return through, known, false
		},
		Commit: func(data []byte, through uint64) bool { return p.member.Commit(x.unit, x.term, data, through) },
	})
	if err != nil {
		p.w.violated("%v", err)
	}
	k.sizes, k.planted = sizes{tail: 200, log: 20_000, base: 1_500, pieces: 6, write: 400}, p.w.planted
	x.keeper = k
	return x
}

func (x *worker) yielding() { x.once.Do(func() { close(x.yields) }) }

// commit changes the unit's store.
func (x *worker) commit(key, value string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held[key] = value
	x.keeper.Committed([]isostore.Entry{{Space: space, Key: []byte(key), Value: []byte(value)}})
}

// simCopy is the content of a unit's store at an instant.
type simCopy struct{ content []byte }

func (c simCopy) Close() error { return nil }

// Write implements [copied]. It takes a while.
func (c simCopy) Write(ctx context.Context, to io.Writer) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(300 * time.Millisecond):
	}
	_, err := to.Write(c.content)
	return err
}

func (x *worker) copy(marked func()) (copied, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	marked()
	var entries []isostore.Entry
	for key, value := range x.held {
		entries = append(entries, isostore.Entry{Space: space, Key: []byte(key), Value: []byte(value)})
	}
	return simCopy{isostore.AppendCommit(nil, entries)}, nil
}

// restore reads the state, until it can.
func (x *worker) restore() bool {
	for x.ctx.Err() == nil {
		all, err := contents(x.ctx, x.p.line, x.first.Data)
		if err == nil {
			x.held = all
			return true
		}
		select {
		case <-x.ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return false
}

func (x *worker) run() {
	defer x.lose()
	if !x.restore() {
		return
	}
	go x.keeper.run(x.copy)
	defer func() { x.keeper.Abort(); <-x.keeper.done }()
	var under sync.WaitGroup
	delivering := map[string]bool{}
	for n := 0; x.ctx.Err() == nil; n++ {
		select {
		case <-x.ctx.Done():
			under.Wait()
			return
		case <-x.yields:
			under.Wait()
			closing, cancel := context.WithTimeout(x.ctx, 3*simLease)
			_ = x.keeper.Close(closing) // what is not in the state was not delivered
			cancel()
			x.p.member.Yielded(x.unit, x.term)
			return
		case <-time.After(100 * time.Millisecond):
		}
		x.commit(fmt.Sprint("n", n%7), strings.Repeat("x", 30))
		for k, at := range x.p.w.found[x.unit] {
			id := findingKey(uint64(k + 1))
			x.mu.Lock()
			text := x.held[id]
			x.mu.Unlock()
			if text == "" && time.Since(x.p.w.began) >= at {
				x.commit(id, x.p.w.text()+" open")
				continue
			}
			number := uint64(k + 1)
			if !strings.HasSuffix(text, " open") || delivering[id] || number > x.keeper.Written() {
				continue
			}
			left := x.p.member.May(x.unit, x.term, number)
			if left == 0 {
				continue
			}
			delivering[id] = true
			x.p.w.delivered(x, id, strings.Fields(text)[0])
			takes := min(time.Duration(1+x.p.w.store.below(100))*time.Millisecond, left)
			under.Go(func() {
				select {
				case <-x.ctx.Done():
				case <-time.After(takes):
					x.commit(id, strings.Fields(text)[0]+" done")
				}
			})
		}
	}
	under.Wait()
}

// strike disturbs a process.
func (w *world) strike() {
	w.mu.Lock()
	var living []*process
	for _, p := range w.processes {
		if p.ctx.Err() == nil {
			living = append(living, p)
		}
	}
	p, kind := living[w.rng.IntN(len(living))], w.rng.IntN(4)
	d := time.Duration(w.rng.Int64N(int64(2 * simLease)))
	w.mu.Unlock()
	switch {
	case kind == 0:
		p.end()
		time.Sleep(d / 4)
		w.start(p.id)
	case kind == 1:
		p.member.Leave()
		for end := time.Now().Add(3 * simLease); !p.member.HasLeft() && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		p.end()
		w.start(p.id)
	case kind == 2:
		p.line.disturb(d, 0)
	default:
		p.line.disturb(0, d)
	}
}

// simulate runs one seed.
func simulate(t *testing.T, seed uint64, fault planted) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 27))
		w = &world{
			store: newSimStore(rand.New(rand.NewPCG(seed, 28))), planted: fault, began: time.Now(), found: map[string][]time.Duration{}, rng: rng,
			term: map[string]uint64{}, through: map[string]uint64{}, texts: map[string]string{}, told: map[string][]uint64{}, handed: map[string]bool{},
		}
		w.store.wrote = w.wrote
		for i := range simUnits {
			var all []time.Duration
			for range simFound {
				all = append(all, time.Duration(rng.Int64N(int64(simDuring))))
			}
			slices.Sort(all)
			w.found[fmt.Sprint("u", i)] = all
		}
		for i := range simMembers {
			w.start(fmt.Sprint("m", i))
		}
		time.Sleep(simLease)
		for range simFaults {
			w.strike()
			time.Sleep(simDuring / simFaults)
		}
		time.Sleep(max(0, simDuring-time.Since(w.began)) + 8*simLease) // 2 for the last fault, 3 for late requests, 3 to settle
		for unit, all := range w.found {
			for k := range all {
				if id := unit + " " + findingKey(uint64(k+1)); len(w.told[id]) == 0 {
					w.violated("%s was never delivered", id)
				}
			}
		}
		for _, p := range w.processes {
			p.end()
		}
	})
	return w
}

// TestSim runs real members and keepers through kills, releases, cuts, lost and late requests, and lost answers. A state that is written can be
// read, and holds all findings that it says it has. No finding is lost, has two texts, is delivered under an older term once a later one has written, or
// twice without a kill or a lost lease.
func TestSim(t *testing.T) {
	from, seeds := uint64(0), uint64(10)
	if n, err := strconv.ParseUint(os.Getenv("ISOWATCH_SIM_GROUP"), 10, 32); err == nil {
		seeds = n
		from, _ = strconv.ParseUint(os.Getenv("ISOWATCH_SIM_GROUP_FROM"), 10, 64)
	}
	states, copies := 0, 0
	for seed := from; seed < from+seeds; seed++ {
		w := simulate(t, seed, 0)
		if states, copies = states+w.states, copies+w.copies; w.bad != "" {
			t.Errorf("seed %d: %s", seed, w.bad)
		}
	}
	if t.Logf("%d states, of them %d with a copy", states, copies); copies == 0 {
		t.Error("no state has a copy")
	}
}

// TestSimFindsPlanted: the simulation finds a fault in a keeper.
func TestSimFindsPlanted(t *testing.T) {
	for seed := range uint64(300) {
		if w := simulate(t, seed, lateCopy); w.bad != "" {
			t.Logf("seed %d: %s", seed, w.bad)
			return
		}
	}
	t.Error("not found within 300 seeds")
}
