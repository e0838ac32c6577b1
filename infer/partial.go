package infer

import (
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
)

// Where the contract says that the versions of a register are in the order in which
// sessions meet them (sequential-keys) or in real time (linearizable-keys), what the
// one visitor of a key left or saw comes not behind what a later one finds (Elle,
// section 5.2). That orders blind writes in part: ww between their writers, rw from
// who read the earlier version. Only neighbours are compared: what comes in between
// orders the rest, as far as its version has a writer.
//
// Where that makes a circle of versions, the key does not behave as the contract says:
// it is reported, its edges are taken back, and only what reads and writes say
// themselves counts from then on, as in ordered.go.

// visit is what a transaction that counts did to a register, 40 bytes: the version
// that it read first, or else left, and the one that it left, or else read.
type visit struct {
	txn, key       uint32
	first, last    uint32
	earlier, later uint32 // of the key, by their ends
	before, behind uint32 // of the key in its session
	nextOfTxn      uint32
	session        uint32
}

// precedence says that the version from comes before another one, to: the transaction
// a left or saw the one, and b, which came later, found the other. 36 bytes.
type precedence struct {
	from, to       uint32
	a, b           uint32
	label          Label // Process or Realtime
	_              [3]byte
	nextOut, prev  uint32 // of from, latest first; prev is of the key
	nextIn, behind uint32 // of to; behind is of the key
}

// partial is the state of all this, empty unless it is asked for.
type partial struct {
	visits      []visit
	precedences []precedence
	freeVisits  []uint32
	freePrec    []uint32
	ofTxn       []uint32 // by transaction: its visits
	ofKey       []uint32 // by key: its visit that ended last
	precOf      []uint32 // by key: its precedences
	out, in     []uint32 // by version: its precedences
	// latest is the last visit of a key in a session; no state: made from visits.
	latest map[uint64]uint32
}

// at is the entry i of a list of numbers that grows as needed.
func at(list *[]uint32, i uint32) *uint32 {
	for int(i) >= len(*list) {
		*list = append(*list, 0)
	}
	return &(*list)[i]
}

func takeFrom[T any](slab *[]T, free *[]uint32, x T) uint32 {
	if k := len(*free); k > 0 {
		id := (*free)[k-1]
		*free = (*free)[:k-1]
		(*slab)[id] = x
		return id
	}
	if len(*slab) == 0 {
		var zero T
		*slab = append(*slab, zero)
	}
	*slab = append(*slab, x)
	return uint32(len(*slab) - 1)
}

// visitKeys notes what n, which counts, did to registers, and orders their versions.
func (s *State) visitKeys(n uint32) {
	if s.txns[n].flags&stale != 0 {
		return
	}
	for i := range s.touches {
		c := &s.touches[i]
		k := &s.keys[c.key]
		if k.kind != event.Register && k.kind != event.AnyKind || k.flags&(element|unsupported) != 0 || c.flags&misread != 0 {
			continue
		}
		v := visit{txn: n, key: c.key, first: c.readVer, last: c.readVer, session: s.txns[n].session}
		if c.flags&wrote != 0 {
			v.last = s.writes[c.lastWrite].version
			if v.first == 0 {
				v.first = v.last
			}
		}
		if v.first != 0 {
			s.enterVisit(v)
		}
	}
}

func (s *State) enterVisit(v visit) {
	p := &s.partial
	id := takeFrom(&p.visits, &p.freeVisits, v)
	x := &p.visits[id]
	head := at(&p.ofTxn, v.txn)
	x.nextOfTxn, *head = *head, id
	late, early := uint32(0), *at(&p.ofKey, v.key)
	for early != 0 && s.txns[p.visits[early].txn].end > s.txns[v.txn].end {
		late, early = early, p.visits[early].earlier
	}
	x.earlier, x.later = early, late
	if early != 0 {
		p.visits[early].later = id
	}
	if late != 0 {
		p.visits[late].earlier = id
	} else {
		p.ofKey[v.key] = id
	}
	if s.opt.SequentialKeys && v.session != 0 {
		s.enterInSession(id)
	}
	if s.opt.LinearizableKeys {
		s.compareBack(id)
		if late != 0 {
			s.compareOn(id)
		}
	}
}

// visitsOf names the visits of a key by a session.
func visitsOf(x *visit) uint64 { return uint64(x.key)<<32 | uint64(x.session) }

// enterInSession puts the visit into its place among those of its session, and orders
// its versions between theirs.
func (s *State) enterInSession(id uint32) {
	p := &s.partial
	if p.latest == nil {
		p.latest = map[uint64]uint32{}
	}
	x := &p.visits[id]
	behind, before := uint32(0), p.latest[visitsOf(x)]
	for before != 0 && s.follows(p.visits[before].txn, x.txn) {
		behind, before = before, p.visits[before].before
	}
	x.before, x.behind = before, behind
	if before != 0 {
		p.visits[before].behind = id
	}
	if behind != 0 {
		p.visits[behind].before = id
	} else {
		p.latest[visitsOf(x)] = id
	}
	s.compareSession(id)
	for o := behind; o != 0; o = p.visits[o].behind {
		if y := p.visits[o]; s.inSessionBefore(p.visits[id].txn, y.txn) {
			if s.precede(id, o, Process); s.firm(&y) && s.txns[y.txn].flags&unknown == 0 {
				return
			}
		}
	}
}

// compareSession orders the visit's versions behind those of the one before it in its
// session through which edges lead.
func (s *State) compareSession(id uint32) {
	p := &s.partial
	for o := p.visits[id].before; o != 0; o = p.visits[o].before {
		if y := p.visits[o]; s.inSessionBefore(y.txn, p.visits[id].txn) {
			if s.precede(o, id, Process); s.firm(&y) {
				return
			}
		}
	}
}

// comparable says whether the visit's versions can be compared.
func (s *State) comparable(x *visit) bool {
	for _, v := range []uint32{x.first, x.last} {
		y := &s.versions[v]
		if y.flags&ambiguous != 0 || y.flags&overwrittenByWriter != 0 && !s.installed(v) {
			return false
		}
	}
	return s.keys[x.key].length != notOrdered
}

// firm says whether edges lead through the visit's versions.
func (s *State) firm(x *visit) bool { return s.comparable(x) && s.known(x.first) && s.known(x.last) }

// known says whether the order has a place for v: it is the initial version, or the one
// that its one writer left.
func (s *State) known(v uint32) bool {
	x := &s.versions[v]
	return x.flags&ambiguous == 0 && (x.flags&initialVersion != 0 || x.writer != 0 && s.installed(v))
}

// inSessionBefore says whether a precedes b in their session.
func (s *State) inSessionBefore(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	if x.session == 0 || x.session != y.session || x.flags&unknown != 0 ||
		s.sessions[x.session].flags&overlapping != 0 {
		return false
	}
	if x.flags&y.flags&hasSeq != 0 {
		return x.seq < y.seq
	}
	return x.flags&y.flags&hasTimes != 0 && x.end <= y.start && !s.follows(a, b)
}

// inTimeBefore says whether a had ended before b began.
func (s *State) inTimeBefore(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	return x.flags&unknown == 0 && x.flags&y.flags&hasTimes != 0 && y.start-x.end > s.opt.ClockDrift
}

// compareBack orders the versions of id behind those of the visits before it. O(visits
// that ran beside id or its neighbours), at most maxBack.
func (s *State) compareBack(id uint32) {
	x := s.partial.visits[id]
	began := int64(math.MinInt64) // the latest start of those before it
	steps := 0
	for o := x.earlier; o != 0; {
		y := s.partial.visits[o]
		if s.txns[y.txn].end < began-s.opt.ClockDrift {
			return
		}
		if steps++; steps > maxBack {
			s.uncheckable(x.key)
			return
		}
		if s.inTimeBefore(y.txn, x.txn) {
			s.precede(o, id, Realtime)
			if s.firm(&y) {
				began = max(began, s.txns[y.txn].start)
			}
		}
		o = s.partial.visits[o].earlier
	}
}

// maxBack bounds how many visits of a key one is compared with.
const maxBack = 1 << 14

// compareOn is compareBack for a visit that came late: the visits behind it.
func (s *State) compareOn(id uint32) {
	x := s.partial.visits[id]
	ended := int64(math.MaxInt64)
	for o := x.later; o != 0; {
		y := s.partial.visits[o]
		if s.inTimeBefore(x.txn, y.txn) && s.txns[y.txn].start-s.opt.ClockDrift <= ended {
			s.precede(id, o, Realtime)
			if s.firm(&y) && s.txns[y.txn].flags&unknown == 0 {
				ended = min(ended, s.txns[y.txn].end)
			}
		}
		o = s.partial.visits[o].later
	}
}

// precede orders what the visit a left before what b found.
func (s *State) precede(a, b uint32, label Label) {
	p := &s.partial
	x, y := p.visits[a], p.visits[b]
	from, to := x.last, y.first
	if from == to || !s.comparable(&x) || !s.comparable(&y) {
		return
	}
	for id := *at(&p.out, from); id != 0; id = p.precedences[id].nextOut {
		if p.precedences[id].to == to {
			return
		}
	}
	id := takeFrom(&p.precedences, &p.freePrec, precedence{from: from, to: to, a: x.txn, b: y.txn, label: label})
	q := &p.precedences[id]
	s.pin(x.txn)
	s.pin(y.txn)
	q.nextOut, p.out[from] = p.out[from], id
	in, of := at(&p.in, to), at(&p.precOf, x.key)
	q.nextIn, *in = *in, id
	q.behind, *of = *of, id
	if q.behind != 0 {
		p.precedences[q.behind].prev = id
	}
	if s.closesCircle(x.key, id) {
		return
	}
	w := s.versions[to].writer
	s.edge(s.versions[from].writer, w, WW, to, 0)
	s.readersBefore(from, to)
}

// readersBefore gives the edges from who read the one version to the writer of the
// other, which comes later.
func (s *State) readersBefore(from, to uint32) {
	w := s.versions[to].writer
	if w == 0 || s.versions[from].flags&ambiguous != 0 {
		return
	}
	for r := s.versions[from].readers; r != 0; r = s.olderReader(r) {
		if !s.readers[r].reread {
			s.edge(s.readers[r].txn, w, RW, to, 0)
		}
	}
}

// settlePartly gives the edges of v, whose writer is known now.
func (s *State) settlePartly(v uint32) {
	p, w := &s.partial, s.versions[v].writer
	if *at(&p.in, v)|*at(&p.out, v) == 0 {
		return
	}
	k := s.versions[v].key
	if !s.known(v) { // it was intermediate: those who read it have no place
		s.orderAgain(k)
		return
	}
	for _, list := range []uint32{p.in[v], p.out[v]} {
		for id := list; id != 0 && s.keys[k].length != notOrdered; {
			next := p.precedences[id].nextIn
			if id != 0 && p.precedences[id].from == v {
				next = p.precedences[id].nextOut
			}
			s.closesCircle(k, id)
			id = next
		}
	}
	for id := *at(&p.in, v); id != 0; id = p.precedences[id].nextIn {
		from := p.precedences[id].from
		s.edge(s.versions[from].writer, w, WW, v, 0)
		s.readersBefore(from, v)
	}
	for id := *at(&p.out, v); id != 0; id = p.precedences[id].nextOut {
		to := p.precedences[id].to
		s.edge(w, s.versions[to].writer, WW, to, 0)
	}
}

// sawPartly gives the edges of n's read of v to the writers of later versions.
func (s *State) sawPartly(v, n uint32) {
	p := &s.partial
	for id := *at(&p.out, v); id != 0; id = p.precedences[id].nextOut {
		to := p.precedences[id].to
		s.edge(n, s.versions[to].writer, RW, to, 0)
	}
}

// leaveKeys takes the visits of n out; undone says that it does not count any more.
func (s *State) leaveKeys(n uint32, undone bool) {
	p := &s.partial
	var keys []uint32
	for id := *at(&p.ofTxn, n); id != 0; {
		x := p.visits[id]
		if x.earlier != 0 {
			p.visits[x.earlier].later = x.later
		}
		if x.later != 0 {
			p.visits[x.later].earlier = x.earlier
		} else {
			p.ofKey[x.key] = x.earlier
		}
		if x.before != 0 {
			p.visits[x.before].behind = x.behind
		}
		if x.behind != 0 {
			p.visits[x.behind].before = x.before
		} else if p.latest[visitsOf(&x)] == id {
			if p.latest[visitsOf(&x)] = x.before; x.before == 0 {
				delete(p.latest, visitsOf(&x))
			}
		}
		p.visits[id] = visit{}
		p.freeVisits = append(p.freeVisits, id)
		keys = append(keys, x.key)
		id = x.nextOfTxn
	}
	p.ofTxn[n] = 0
	for _, k := range keys {
		if undone {
			s.orderAgain(k)
		}
	}
}

// orderAgain takes back the order of k's versions and concludes anew: a visit, or what
// it says, is gone.
func (s *State) orderAgain(k uint32) {
	s.dropPrecedences(k)
	first := *at(&s.partial.ofKey, k)
	for first != 0 && s.partial.visits[first].earlier != 0 {
		first = s.partial.visits[first].earlier
	}
	for id := first; id != 0; id = s.partial.visits[id].later {
		if s.opt.SequentialKeys && s.partial.visits[id].session != 0 {
			s.compareSession(id)
		}
		if s.opt.LinearizableKeys {
			s.compareBack(id)
		}
	}
}

// dropPrecedences takes back the order of k's versions, but for what reads say.
func (s *State) dropPrecedences(k uint32) {
	p := &s.partial
	var behind []uint32
	for id := *at(&p.precOf, k); id != 0; {
		q := p.precedences[id]
		if !slices.Contains(behind, q.to) {
			behind = append(behind, q.to)
		}
		s.freePrecedence(id)
		id = q.behind
	}
	for _, v := range behind {
		w := s.versions[v].writer
		if w == 0 {
			continue
		}
		s.killOrder(v, w)
		id := s.writeOf(w, v)
		if id == 0 || s.writes[id].pred == 0 || s.versions[s.writes[id].pred].flags&ambiguous != 0 {
			continue
		}
		s.readersBefore(s.writes[id].pred, v)
		if s.ordered1(v) {
			s.connectOrdered(v)
		}
	}
}

// freePrecedence unlinks and frees one.
func (s *State) freePrecedence(id uint32) {
	p := &s.partial
	q := p.precedences[id]
	remove := func(head *uint32, next func(*precedence) *uint32) {
		for *head != id {
			head = next(&p.precedences[*head])
		}
		*head = *next(&p.precedences[id])
	}
	remove(&p.out[q.from], func(x *precedence) *uint32 { return &x.nextOut })
	remove(&p.in[q.to], func(x *precedence) *uint32 { return &x.nextIn })
	if q.prev != 0 {
		p.precedences[q.prev].behind = q.behind
	} else {
		p.precOf[s.versions[q.from].key] = q.behind
	}
	if q.behind != 0 {
		p.precedences[q.behind].prev = q.prev
	}
	p.precedences[id] = precedence{}
	p.freePrec = append(p.freePrec, id)
	s.unpin(q.a)
	s.unpin(q.b)
}

// leavePartly takes v, which leaves memory, out of the order.
func (s *State) leavePartly(v uint32) {
	p := &s.partial
	for *at(&p.out, v) != 0 {
		s.freePrecedence(p.out[v])
	}
	for *at(&p.in, v) != 0 {
		s.freePrecedence(p.in[v])
	}
}

// Step is one of a circle of versions: the transaction From found or left what To found
// (WR), or the initial version, which To replaced (RW), or comes before it (Process,
// Realtime).
type Step struct {
	From, To uint32
	Label    Label
	Version  uint32 // that To found or left
}

// closesCircle reports that the versions of k make a circle with the precedence id, and
// gives their order up.
func (s *State) closesCircle(k, id uint32) bool {
	p := &s.partial
	q := p.precedences[id]
	var path []hop
	if s.known(q.from) && s.known(q.to) {
		path = s.versionPath(k, q.to, q.from)
	}
	if path == nil {
		return false
	}
	from := len(s.out.Steps)
	at := q.b
	step := func(to uint32, label Label, v uint32) {
		if to != at {
			s.out.Steps = append(s.out.Steps, Step{at, to, label, v})
			at = to
		}
	}
	s.out.Steps = append(s.out.Steps, Step{q.a, q.b, q.label, q.to})
	for _, h := range path {
		if h.prec != 0 {
			r := p.precedences[h.prec]
			step(r.a, WR, r.from)
			step(r.b, r.label, r.to)
		} else {
			w := &s.writes[h.write]
			if w.blind {
				step(w.txn, RW, w.version)
			} else {
				step(w.txn, WR, w.pred)
			}
		}
	}
	step(q.a, WR, q.from)
	for _, x := range s.out.Steps[from:] {
		s.pin(x.From)
		s.held = append(s.held, x.From)
	}
	a := Anomaly{Kind: CyclicVersions, A: q.a, B: q.b, Version: q.to, OpA: uint32(from), Count: int64(len(s.out.Steps) - from), Certain: true}
	s.keys[k].length = notOrdered
	s.uncheckable(k) // should the finding be withdrawn
	s.dropPrecedences(k)
	s.anomaly(a)
	return true
}

// hop is a step between versions: by a precedence, or by the writer that replaced one.
type hop struct {
	to          uint32
	prec, write uint32
	parent      int
}

// maxCircle bounds the search for a circle.
const maxCircle = 1 << 12

// versionPath is a way from one version of k on to another, nil if there is none.
func (s *State) versionPath(k, from, to uint32) []hop {
	hops := []hop{{to: from, parent: -1}}
	seen := func(v uint32) bool {
		return slices.ContainsFunc(hops, func(h hop) bool { return h.to == v })
	}
	for i := 0; i < len(hops); i++ {
		v := hops[i].to
		if v == to {
			var path []hop
			for ; hops[i].parent >= 0; i = hops[i].parent {
				path = append(path, hops[i])
			}
			slices.Reverse(path)
			return path
		}
		if len(hops) > maxCircle {
			s.uncheckable(k)
			return nil
		}
		for id := *at(&s.partial.out, v); id != 0; id = s.partial.precedences[id].nextOut {
			if q := s.partial.precedences[id].to; !seen(q) && s.known(q) {
				hops = append(hops, hop{to: q, prec: id, parent: i})
			}
		}
		if s.versions[v].flags&ambiguous != 0 {
			continue
		}
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			if q := s.writes[id].version; !seen(q) && s.known(q) {
				hops = append(hops, hop{to: q, write: id, parent: i})
			}
		}
	}
	return nil
}

// OrderedBy is what shows, by the order of visits, that e.Version comes behind what
// e.From left or read of its key: the transactions of a precedence, 0 if other things do.
func (s *State) OrderedBy(e Edge) (a, b uint32, label Label) {
	p := &s.partial
	if !s.opt.SequentialKeys && !s.opt.LinearizableKeys {
		return 0, 0, 0
	}
	for id := *at(&p.in, e.Version); id != 0; id = p.precedences[id].nextIn {
		q := &p.precedences[id]
		if e.Label&WW != 0 && s.versions[q.from].writer == e.From || e.Label&RW != 0 && s.Saw(e.From, e.Version) == q.from {
			return q.a, q.b, q.label
		}
	}
	return 0, 0, 0
}

func (p *partial) appendState(dst []byte) []byte {
	dst = flat.Append(dst, p.visits)
	dst = flat.Append(dst, p.precedences)
	for _, list := range [][]uint32{p.freeVisits, p.freePrec, p.ofTxn, p.ofKey, p.precOf, p.out, p.in} {
		dst = flat.Append(dst, list)
	}
	return dst
}

func (p *partial) readState(r *flat.Reader) {
	flat.Read(r, &p.visits)
	flat.Read(r, &p.precedences)
	for _, list := range []*[]uint32{&p.freeVisits, &p.freePrec, &p.ofTxn, &p.ofKey, &p.precOf, &p.out, &p.in} {
		flat.Read(r, list)
	}
	p.latest = map[uint64]uint32{}
	for id := range p.visits {
		if x := &p.visits[id]; x.txn != 0 && x.session != 0 && x.behind == 0 {
			p.latest[visitsOf(x)] = uint32(id)
		}
	}
}
