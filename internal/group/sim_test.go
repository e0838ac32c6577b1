package group

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"
)

// simSize is how large a simulation is.
type simSize struct{ members, units, faults int }

// world is the store, the network between, and the processes, in virtual time.
type world struct {
	rng   *rand.Rand
	now   time.Duration
	queue simQueue
	seq   uint64
	lease time.Duration

	store     *simStore
	processes []*process
	planted   planted
	names     int // of processes so far

	unitNames []string
	anomalies map[string][]time.Duration
	lastFault time.Duration // end of it

	owners    map[string]*process // by unit and term
	handed    map[string]bool     // terms that ended by a release
	wroteTerm map[string]uint64   // greatest, by unit
	texts     map[string]uint64   // by finding
	told      map[string][]uint64 // terms under which a finding was delivered
	moves     int
	twice     int
	bad       string // the first violation
	dying     int    // processes die that meet a missing state, so many
	forgotten bool   // the store has lost records: what holds always does not hold
	missing   int    // states that were met as missing
}

func newWorld(seed uint64, size simSize, p planted) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 27)), lease: 6 * time.Second, store: newSimStore(), planted: p,
		anomalies: map[string][]time.Duration{}, owners: map[string]*process{}, handed: map[string]bool{},
		wroteTerm: map[string]uint64{}, texts: map[string]uint64{}, told: map[string][]uint64{},
	}
	w.store.wrote = func(key string, data []byte) {
		if prefixOf(key) != statePrefix {
			return
		}
		r, err := readState(data)
		if err != nil {
			panic(err)
		}
		w.wroteTerm[key] = max(w.wroteTerm[key], r.term)
	}
	for i := range size.units {
		w.unitNames = append(w.unitNames, fmt.Sprintf("u%05d", i))
	}
	for range size.members {
		w.start(fmt.Sprintf("m%03d", w.names))
	}
	return w
}

func (w *world) at(t time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, simEvent{max(t, w.now), w.seq, do})
}

func (w *world) runUntil(t time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= t && w.bad == "" {
		e := heap.Pop(&w.queue).(simEvent)
		w.now = e.at
		e.do()
	}
	w.now = t
}

func (w *world) violated(format string, args ...any) {
	if w.bad == "" && !w.forgotten {
		w.bad = fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)
	}
}

func (w *world) fault(end time.Duration) { w.lastFault = max(w.lastFault, end) }

func (w *world) start(id string) *process {
	p := &process{w: w, id: id, rate: 1 + (w.rng.Float64()-0.5)/50, workers: map[string]*worker{}}
	p.m = NewMember(Config{ID: id, Lease: w.lease, Random: w.rng.Uint64})
	p.m.lease.planted = w.planted
	p.m.SetUnits(w.unitNames)
	w.names++
	w.processes = append(w.processes, p)
	p.at(w.now+time.Duration(w.rng.Int64N(int64(w.lease/6))), p.tick)
	return p
}

// delivered judges a delivery as it starts.
func (w *world) delivered(x *worker, f simFinding) {
	id := fmt.Sprintf("%s#%d", x.unit, f.number)
	if newest := w.wroteTerm[statePrefix+x.unit]; newest > x.term {
		w.violated("%s delivers %s under term %d, and term %d has written", x.p.id, id, x.term, newest)
	}
	if text, ok := w.texts[id]; ok && text != f.text {
		w.violated("%s has two texts", id)
	}
	for _, term := range w.told[id] {
		w.twice++
		if term == x.term || w.handed[fmt.Sprintf("%s %d", x.unit, term)] {
			w.violated("%s is delivered twice, and nobody was killed or paused: terms %d and %d", id, term, x.term)
		}
	}
	w.texts[id] = f.text
	w.told[id] = append(w.told[id], x.term)
}

// disturb plans faults from a time on, over a time.
func (w *world) disturb(faults int, from, during time.Duration) {
	for i := range faults {
		at := from + during*time.Duration(i)/time.Duration(faults)
		w.fault(at)
		w.at(at, w.strike)
	}
}

func (w *world) strike() {
	var living []*process
	for _, p := range w.processes {
		if !p.dead && !p.leaving {
			living = append(living, p)
		}
	}
	p := living[w.rng.IntN(len(living))]
	long := func(most time.Duration) time.Duration {
		d := time.Duration(w.rng.Int64N(int64(most)))
		w.fault(w.now + d)
		return d
	}
	suspends := len(p.id)%2 == 0 && p.id[len(p.id)-1]%2 == 0 // such a machine's wall clock is never set back
	switch kind := w.rng.IntN(8); {
	case kind == 0 && len(living) > 2:
		p.dead = true
		if w.rng.IntN(4) > 0 {
			w.at(w.now+long(2*w.lease), func() { w.start(p.id) })
		}
	case kind == 1 && len(living) > 2:
		p.leaving = true
		p.run(p.m.Leave)
		if w.rng.IntN(4) > 0 {
			w.at(w.now+long(2*w.lease), func() { w.start(p.id) })
		}
	case kind == 2:
		p.cutTil = w.now + long(3*w.lease)
	case kind == 3 || kind == 4:
		p.lossyTil = w.now + long(2*w.lease)
	case kind == 5:
		d := long(3 * w.lease)
		p.pause(d, suspends && w.rng.IntN(2) == 0)
	case kind == 6 && !suspends: // set back in a pause: only Mono shows how long it was
		p.pause(long(3*w.lease), false)
		p.wallShift -= time.Duration(w.rng.Int64N(int64(time.Hour)))
	default:
		p.wallShift += time.Duration(w.rng.Int64N(int64(time.Hour)))
	}
}

// settled says what is wrong three leases after the last fault.
func (w *world) settled() {
	load := map[*process]int{}
	living := 0
	owned := map[string]int{}
	for _, p := range w.processes {
		if p.dead || p.leaving {
			continue
		}
		living++
		for unit := range p.workers {
			if p.m.owned(unit) == nil {
				w.violated("%s works on %s, which it does not own", p.id, unit)
			}
			owned[unit]++
			load[p]++
		}
	}
	for _, unit := range w.unitNames {
		if owned[unit] != 1 {
			w.violated("%s has %d owners three leases after the last fault", unit, owned[unit])
		}
	}
	even := float64(len(w.unitNames)) / float64(living)
	for p, n := range load {
		if float64(n) > 1.25*even && float64(n) >= even+1 {
			w.violated("%s has %d units, and even is %.1f", p.id, n, even)
		}
	}
}

// simulate runs one seed, and says what was violated.
func simulate(seed uint64, size simSize, p planted) *world {
	w := newWorld(seed, size, p)
	during := time.Duration(size.faults) * w.lease / time.Duration(size.members) // each member is struck once a lease
	for _, unit := range w.unitNames {
		t := w.lease
		for range 3 {
			t += time.Duration(w.rng.Int64N(int64(during * 2 / 3)))
			w.anomalies[unit] = append(w.anomalies[unit], t)
		}
	}
	w.disturb(size.faults, w.lease, during)
	for w.lastFault < w.now || w.now == 0 || w.lastFault+3*w.lease > w.now {
		before := w.now
		w.runUntil(w.lastFault + 3*w.lease)
		if w.bad != "" || w.now == before {
			break
		}
	}
	if w.bad == "" {
		w.settled()
	}
	moves := w.moves
	w.runUntil(max(w.now+2*w.lease, w.lease+2*during+w.lease))
	if w.bad == "" && w.moves != moves {
		w.violated("%d units move three leases after the last fault", w.moves-moves)
	}
	for _, unit := range w.unitNames {
		for k := range w.anomalies[unit] {
			if id := fmt.Sprintf("%s#%d", unit, k+1); w.bad == "" && len(w.told[id]) == 0 {
				w.violated("%s was never delivered", id)
			}
		}
	}
	return w
}

// simSetting is the number of seeds of the whole simulation: make sim-group.
const simSetting = "ISOWATCH_SIM_GROUP"

func simSeeds(t *testing.T) (size simSize, from, seeds uint64) {
	t.Helper()
	text := os.Getenv(simSetting)
	if text == "" {
		return simSize{12, 60, 60}, 0, 40
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", simSetting, err)
	}
	if f := os.Getenv(simSetting + "_FROM"); f != "" {
		if from, err = strconv.ParseUint(f, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return simSize{300, 3000, 1000}, from, n
}

// TestSim runs members through kills, restarts, releases, pauses, suspensions, clocks set forward and back, cuts,
// lost and late requests and lost replies. See doc.go for what holds always, and settled for what holds in the end.
func TestSim(t *testing.T) {
	size, from, seeds := simSeeds(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // of what a seed allocates, most is soon garbage
	if size.members < 300 {                           // few members leave more to chance
		eachSeed(from, 4*seeds, func(seed uint64) bool {
			if w := simulate(seed, simSize{4, 10, 60}, noFault); w.bad != "" {
				t.Errorf("4 members, seed %d: %s", seed, w.bad)
			}
			return true
		})
	}
	eachSeed(from, seeds, func(seed uint64) bool {
		began := time.Now()
		w := simulate(seed, size, noFault)
		if w.bad != "" {
			t.Errorf("seed %d: %s", seed, w.bad)
		}
		if testing.Verbose() {
			t.Logf("seed %d: %v of virtual time, %d moves, %d deliveries twice, %v", seed, w.now.Round(time.Second), w.moves, w.twice, time.Since(began).Round(time.Millisecond))
		}
		return true
	})
}

// eachSeed runs seeds on all processors until one says false.
func eachSeed(from, seeds uint64, run func(uint64) bool) {
	next, stop := from, false
	var mu sync.Mutex
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				ended := stop || seed >= from+seeds
				mu.Unlock()
				if ended {
					return
				}
				if !run(seed) {
					mu.Lock()
					stop = true
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
}

// TestSimFindsPlanted: the simulation finds each fault that is put into the program, within 300 seeds.
func TestSimFindsPlanted(t *testing.T) {
	for name, p := range map[string]planted{
		"no term on writes": noTermOnWrites, "the wall clock alone": wallClockAlone,
		"delivery before state": deliveryBeforeState, "a lost reply is a failure": lostReplyIsFailure,
	} {
		t.Run(name, func(t *testing.T) {
			found := ""
			var mu sync.Mutex // two seeds may find it at once
			eachSeed(0, 300, func(seed uint64) bool {
				w := simulate(seed, simSize{12, 60, 60}, p)
				if w.bad == "" {
					return true
				}
				mu.Lock()
				defer mu.Unlock()
				found = fmt.Sprintf("seed %d: %s", seed, w.bad)
				return false
			})
			if found == "" {
				t.Error("not found within 300 seeds")
			}
			t.Log(found)
		})
	}
}
