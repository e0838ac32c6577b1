package workload

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// Generator simulates clients on a store and yields their transactions. The
// same Config and the same state of rng give the same transactions. It is not
// safe for concurrent use.
//
// The simulation advances an event clock. A transaction reads all its keys at one instant. It
// installs its writes at the same instant (Serializable) or a later one (SnapshotIsolation).
// Both lie between its start and its end. Only an unknown outcome may take effect after its
// end.
type Generator struct {
	cfg      Config
	rng      *rand.Rand
	zipf     *rand.Zipf
	objects  []*object
	sessions []session
	agenda   schedule[*pending]

	clock     int64 // instant of the step last taken
	taken     int64 // steps taken; orders what happens at one instant
	cycle     float64
	begun     int   // ordinary transactions begun
	txns      int64 // those that have run
	nextValue int64

	ready   []Txn // finished, in the order they will be yielded
	yielded int   // of ready
	planted []Planted
}

// object is one register or list of the simulated store.
type object struct {
	key     string
	value   int64 // 0: never written
	list    []int64
	renewed int   // list keys that this slot has used up
	changed int64 // step of the last install
}

type session struct {
	name string
	seq  int64
}

// pending is a transaction that has begun to run.
type pending struct {
	txn     Txn
	session int
	read    int64 // instant of the reads
	install int64 // instant of the writes
	ran     int64 // step of the reads
	touched []*object
	writes  []writeTo
	doomed  bool // has no effect, whatever its client is told
}

type writeTo struct {
	object *object
	value  int64
}

// NewGenerator returns a generator that draws all its randomness from rng.
func NewGenerator(cfg Config, rng *rand.Rand) (*Generator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Generator{cfg: cfg, rng: rng, clock: cfg.Start, nextValue: 1}
	g.cycle = float64(cfg.Interval) * float64(cfg.Sessions)
	if cfg.Zipf > 1 {
		g.zipf = rand.NewZipf(rng, cfg.Zipf, 1, uint64(cfg.Keys-1))
	}
	g.objects = make([]*object, cfg.Keys)
	for i := range g.objects {
		g.objects[i] = &object{key: "k" + strconv.Itoa(i)}
	}
	g.sessions = make([]session, cfg.Sessions)
	for i := range g.sessions {
		g.sessions[i].name = "s" + strconv.Itoa(i)
		g.begin(i, cfg.Start+int64(g.rng.Float64()*g.cycle))
	}
	return g, nil
}

// Next returns the next transaction, in about the order of taking effect. Its
// end is never before [Generator.Clock]. It returns false when all Count
// transactions were returned: no value that one of them read has its writer
// missing.
func (g *Generator) Next() (Txn, bool) {
	for g.yielded == len(g.ready) {
		if len(g.agenda.entries) == 0 {
			g.clock = math.MaxInt64
			return Txn{}, false
		}
		g.ready, g.yielded = g.ready[:0], 0
		g.step()
	}
	g.yielded++
	return g.ready[g.yielded-1], true
}

// Clock is the event time that the simulation has reached: no transaction that
// Next has yet to return ends before it.
func (g *Generator) Clock() int64 { return g.clock }

// Planted lists the anomalies planted in the transactions returned so far and
// in at most the next few.
func (g *Generator) Planted() []Planted { return g.planted }

// begin draws the instants of the session's next transaction, no earlier than
// from, unless Count have begun.
func (g *Generator) begin(s int, from int64) {
	if g.cfg.Count > 0 && g.begun == g.cfg.Count {
		return
	}
	g.begun++
	p := &pending{session: s}
	start := from + g.span(1-g.cfg.Busy)
	end := start + 2 + g.span(g.cfg.Busy)
	p.read = start + g.rng.Int64N(end-start)
	p.install = p.read
	if g.cfg.Isolation == SnapshotIsolation {
		p.install = p.read + g.rng.Int64N(end-p.read)
	}
	p.txn = Txn{Source: g.cfg.Source, Start: start, End: end, Status: event.Committed}
	switch u := g.rng.Float64(); {
	case u < g.cfg.Aborted:
		p.txn.Status, p.doomed = event.Aborted, true
	case u < g.cfg.Aborted+g.cfg.Unknown:
		p.txn.Status = event.Unknown
		switch g.rng.IntN(3) {
		case 0:
			p.doomed = true
		case 1:
			p.install = end + g.span(1) // late: after the client gave up
		}
	}
	g.agenda.push(p.read, p)
}

// span is a random time around the given share of a session's cycle, in ns.
func (g *Generator) span(share float64) int64 {
	return 1 + int64(g.cycle*share*(0.5+g.rng.Float64()))
}

// step takes the earliest step of any transaction: its reads or its writes.
func (g *Generator) step() {
	at, p := g.agenda.pop()
	g.clock = at
	g.taken++
	if p.txn.ID != "" {
		g.install(p)
		return
	}
	g.run(p)
	if p.txn.Status == event.Unknown { // its record does not depend on the outcome
		g.finish(p)
	}
	if p.install == p.read {
		g.install(p)
	} else {
		g.agenda.push(p.install, p)
	}
	g.begin(p.session, p.txn.End)
}

// run gives p its identity and executes its operations on the current state.
func (g *Generator) run(p *pending) {
	s := &g.sessions[p.session]
	s.seq++
	g.txns++
	p.ran = g.taken
	p.txn.ID = "t" + strconv.FormatInt(g.txns, 10)
	p.txn.Session, p.txn.Seq = s.name, s.seq
	p.txn.Ops = make([]Op, 0, g.cfg.Ops)
	for len(p.txn.Ops) < g.cfg.Ops {
		o := g.pick()
		p.touched = append(p.touched, o)
		write := g.rng.Float64() < g.cfg.WriteRatio
		switch {
		case g.cfg.Kind == Lists && write:
			v := g.value()
			p.txn.Ops = append(p.txn.Ops, Append(o.key, v))
			p.writes = append(p.writes, writeTo{o, v})
		case g.cfg.Kind == Lists:
			p.txn.Ops = append(p.txn.Ops, p.readList(o))
		default:
			if !write || g.cfg.Blind == 0 || g.rng.Float64() >= g.cfg.Blind {
				p.txn.Ops = append(p.txn.Ops, p.readRegister(o))
			}
			if write && len(p.txn.Ops) < g.cfg.Ops {
				v := g.value()
				p.txn.Ops = append(p.txn.Ops, Write(o.key, v))
				p.writes = append(p.writes, writeTo{o, v})
			}
		}
	}
}

func (g *Generator) value() int64 {
	v := g.nextValue
	g.nextValue++
	return v
}

// pick chooses a key; a list key that has grown to its length is replaced.
func (g *Generator) pick() *object {
	i := 0
	if g.zipf != nil {
		i = int(g.zipf.Uint64())
	} else {
		i = g.rng.IntN(len(g.objects))
	}
	o := g.objects[i]
	if len(o.list) >= g.cfg.ListLength {
		key := "k" + strconv.Itoa(i) + "." + strconv.Itoa(o.renewed+1)
		o = &object{key: key, renewed: o.renewed + 1}
		g.objects[i] = o
	}
	return o
}

// readRegister is a read of o that sees p's own earlier write.
func (p *pending) readRegister(o *object) Op {
	for i := len(p.writes) - 1; i >= 0; i-- {
		if p.writes[i].object == o {
			return Read(o.key, p.writes[i].value)
		}
	}
	if o.value == 0 {
		return ReadAbsent(o.key)
	}
	return Read(o.key, o.value)
}

// readList is a read of o with p's own earlier appends. Lists only grow, so a
// reader may share their memory up to the length that it saw.
func (p *pending) readList(o *object) Op {
	seen := o.list[:len(o.list):len(o.list)]
	for _, w := range p.writes {
		if w.object == o {
			seen = append(seen, w.value)
		}
	}
	return ReadList(o.key, seen...)
}

// install decides p's fate at its commit instant and makes its writes visible.
func (g *Generator) install(p *pending) {
	conflict := p.install != p.read && g.conflicts(p)
	if !p.doomed && !conflict {
		for _, w := range p.writes {
			w.object.value, w.object.changed = w.value, g.taken
			if g.cfg.Kind == Lists {
				w.object.list = append(w.object.list, w.value)
			}
		}
	}
	if p.txn.Status == event.Unknown {
		return // already yielded
	}
	if conflict {
		p.txn.Status = event.Aborted
	}
	g.finish(p)
}

// conflicts says whether another transaction changed, between p's reads and
// now, what p writes (the first committer wins) or, under Serializable, what p
// read.
func (g *Generator) conflicts(p *pending) bool {
	if g.cfg.Isolation == Serializable {
		for _, o := range p.touched {
			if o.changed > p.ran {
				return true
			}
		}
	}
	for _, w := range p.writes {
		if w.object.changed > p.ran {
			return true
		}
	}
	return false
}

// finish yields p's record, and an anomaly after it when one is due.
func (g *Generator) finish(p *pending) {
	g.ready = append(g.ready, p.txn)
	if n := int64(g.cfg.PlantEvery); n > 0 && g.txns/n > int64(len(g.planted)) {
		g.plant()
	}
}
