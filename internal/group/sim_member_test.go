package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

var errSilence = errors.New("no answer")

// process is the life of a process with its member, and the machine that it runs on.
type process struct {
	w    *world
	id   string
	m    *Member
	dead bool

	rate       float64 // of its clocks
	monoLost   time.Duration
	wallShift  time.Duration
	pausedTil  time.Duration  // it does nothing
	suspended  bool           // Mono stands still while it is paused
	cutTil     time.Duration  // nothing reaches the store
	lossyTil   time.Duration  // requests and replies are lost and late
	unreadable map[string]int // how often each record was told
	queue      []func()
	workers    map[string]*worker
	leaving    bool
}

func (p *process) now() Instant {
	t := time.Duration(float64(p.w.now) * p.rate)
	return Instant{Mono: t - p.monoLost, Wall: t + p.wallShift + time.Hour}
}

// at runs do in the process at a time; later while it is paused, and never once it is dead.
func (p *process) at(t time.Duration, do func()) {
	p.w.at(t, func() { p.run(do) })
}

func (p *process) run(do func()) {
	switch {
	case p.dead:
	case p.w.now < p.pausedTil:
		p.queue = append(p.queue, do)
	default:
		do()
		p.pump()
	}
}

func (p *process) pause(d time.Duration, suspend bool) {
	if p.w.now < p.pausedTil {
		return
	}
	p.pausedTil, p.suspended = p.w.now+d, suspend
	p.w.at(p.pausedTil, func() {
		if p.suspended {
			p.monoLost += d
		}
		late := p.queue
		p.queue = nil
		for _, do := range late {
			p.run(do)
		}
	})
}

func (p *process) tick() {
	p.m.Tick(p.now())
	for _, unit := range slices.Sorted(maps.Keys(p.workers)) { // an order that each run has
		p.workers[unit].step()
	}
	if p.leaving && p.m.HasLeft() {
		p.dead = true
		return
	}
	p.at(p.w.now+p.w.lease/12, p.tick)
}

// pump carries out what the member wants.
func (p *process) pump() {
	for !p.dead {
		events, requests := p.m.Events(), p.m.Requests()
		if len(events)+len(requests) == 0 {
			return
		}
		for _, e := range events {
			p.heed(e)
		}
		for _, r := range requests {
			p.send(r)
		}
	}
}

func (p *process) send(r Request) {
	w := p.w
	timeout := p.m.period()
	trip := func() time.Duration { return time.Duration(1+w.rng.IntN(20)) * time.Millisecond }
	answer := func(t time.Duration, reply Reply) { p.at(t, func() { p.m.Take(p.now(), reply) }) }
	there, lost := w.now+trip(), false
	cut := func() bool { return w.now < p.cutTil }
	if w.now < p.lossyTil {
		switch w.rng.IntN(6) {
		case 0: // the request is lost
			answer(w.now+timeout, Reply{ID: r.ID, Err: errSilence})
			return
		case 1: // the reply is
			lost = true
		case 2: // the request comes late, and the reply does not come at all
			there, lost = w.now+time.Duration(w.rng.Int64N(int64(3*w.lease))), true
			w.fault(there)
		}
	}
	if cut() {
		answer(w.now+timeout, Reply{ID: r.ID, Err: errSilence})
		return
	}
	if lost {
		answer(w.now+timeout, Reply{ID: r.ID, Err: errSilence})
	}
	w.at(there, func() {
		lag := 0
		if w.now < w.lastFault && w.rng.IntN(10) == 0 {
			lag = 1 + w.rng.IntN(listsOld)
		}
		reply := w.store.do(w.now, r, lag)
		switch {
		case lost:
		case cut():
			answer(there+timeout, Reply{ID: r.ID, Err: errSilence})
		default:
			answer(w.now+trip(), reply)
		}
	})
}

func (p *process) heed(e Event) {
	w := p.w
	switch e.Kind {
	case Unreadable:
		if p.unreadable == nil {
			p.unreadable = map[string]int{}
		}
		p.unreadable[e.Key]++
	case Gained:
		who := fmt.Sprintf("%s %d", e.Unit, e.Term)
		if other := w.owners[who]; other != nil {
			w.violated("%s and %s both own %s in term %d", other.id, p.id, e.Unit, e.Term)
		}
		if e.Missing && w.dying > 0 { // before it can write anything
			w.dying--
			p.dead = true
			return
		}
		if e.Missing {
			w.missing++
			w.violated("%s takes the state of %s as missing", p.id, e.Unit)
		}
		w.owners[who] = p
		w.moves++
		p.workers[e.Unit] = newWorker(p, e)
		p.workers[e.Unit].step()
	case Committed:
		if x := p.workers[e.Unit]; x != nil {
			x.committing = false
			x.step()
		}
	case Yield:
		if x := p.workers[e.Unit]; x != nil {
			x.yielding = true
			x.step()
		}
	case Lost:
		delete(p.workers, e.Unit)
	case Handed:
		w.handed[fmt.Sprintf("%s %d", e.Unit, e.Term)] = true
		delete(p.workers, e.Unit)
	}
}

// worker makes the findings of a unit and delivers them. The k-th is found once the records up to it have
// come. Its text is chosen by the order of arrival, which another worker may see otherwise.
type worker struct {
	p          *process
	unit       string
	term       uint64
	found      uint64 // findings up to this one
	open       []simFinding
	unsaved    bool // something changed since the last Commit
	committing bool
	yielding   bool
	under      int // deliveries
}

type simFinding struct {
	number     uint64
	text       uint64
	delivering bool
}

func newWorker(p *process, e Event) *worker {
	x := &worker{p: p, unit: e.Unit, term: e.Term, found: e.Through}
	for _, one := range strings.Fields(string(e.Data)) {
		number, text, _ := strings.Cut(one, ":")
		n, _ := strconv.ParseUint(number, 10, 64)
		t, _ := strconv.ParseUint(text, 10, 64)
		x.open = append(x.open, simFinding{number: n, text: t})
	}
	return x
}

func (x *worker) step() {
	p, w := x.p, x.p.w
	if p.workers[x.unit] != x {
		return
	}
	if !x.yielding {
		anomalies := w.anomalies[x.unit]
		for _, at := range anomalies[min(int(x.found), len(anomalies)):] {
			if at > w.now {
				break
			}
			x.found++
			x.open = append(x.open, simFinding{number: x.found, text: w.rng.Uint64()})
			x.unsaved = true
		}
		x.deliver()
	}
	if x.unsaved && !x.committing {
		var data []byte
		for _, f := range x.open {
			data = fmt.Appendf(data, "%d:%d ", f.number, f.text)
		}
		if p.m.Commit(x.unit, x.term, data, x.found) {
			x.unsaved, x.committing = false, true
		}
	}
	if x.yielding && !x.unsaved && !x.committing && x.under == 0 {
		p.m.Yielded(x.unit, x.term)
	}
}

func (x *worker) deliver() {
	p, w := x.p, x.p.w
	for i := range x.open {
		f := &x.open[i]
		left := p.m.May(p.now(), x.unit, x.term, f.number)
		if f.delivering || left == 0 {
			continue
		}
		f.delivering = true
		x.under++
		w.delivered(x, *f)
		number := f.number
		takes := min(time.Duration(1+w.rng.IntN(100))*time.Millisecond, left)
		p.at(w.now+takes, func() {
			x.under--
			for i := range x.open {
				if x.open[i].number == number {
					x.open = append(x.open[:i], x.open[i+1:]...)
					break
				}
			}
			x.unsaved = true
			x.step()
		})
	}
}
