package infer

import (
	"math"

	"github.com/isowatch/isowatch/event"
)

// visit is the work of a transaction that counts on a register, 40 bytes. first is the version that it
// read first; without a read, the version that it left. last is the version that it left; without a
// write, the version that it read.
type visit struct {
	txn, key       uint32
	first, last    uint32
	earlier, later uint32 // of the key, by their ends
	before, behind uint32 // of the key in its session
	nextOfTxn      uint32
	session        uint32
}

// visitKeys notes the registers that n, which counts, met, and orders their versions.
func (s *orders) visitKeys(n uint32) {
	if s.txns[n].flags&stale != 0 {
		return
	}
	for i := range s.touches {
		c := &s.touches[i]
		k := &s.keys[c.key]
		if k.kind != event.Register && k.kind != event.AnyKind || k.flags&(element|unsupported|sums) != 0 || c.flags&misread != 0 {
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

func (s *orders) enterVisit(v visit) {
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
		s.compareBack(id, nil)
		if late != 0 {
			s.compareOn(id)
		}
	}
}

// visitsOf names the visits of a key by a session.
func visitsOf(x *visit) uint64 { return uint64(x.key)<<32 | uint64(x.session) }

// enterInSession puts the visit into its place among the visits of its session, and orders its
// versions between theirs.
func (s *orders) enterInSession(id uint32) {
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
	s.compareSession(id, nil)
	for o := behind; o != 0; o = p.visits[o].behind {
		if y := p.visits[o]; s.inSessionBefore(p.visits[id].txn, y.txn) {
			if s.precede(id, o, Process, nil); s.firm(&y) && s.txns[y.txn].flags&unknown == 0 {
				return
			}
		}
	}
}

// compareSession orders the visit's versions behind the versions of earlier visits in its
// session, back to the nearest one through which edges lead.
func (s *orders) compareSession(id uint32, again *reordering) {
	p := &s.partial
	for o := p.visits[id].before; o != 0; o = p.visits[o].before {
		if y := p.visits[o]; s.inSessionBefore(y.txn, p.visits[id].txn) {
			if s.precede(o, id, Process, again); s.firm(&y) {
				return
			}
		}
	}
}

// comparable says whether the visit's versions can be compared.
func (s *orders) comparable(x *visit) bool {
	for _, v := range []uint32{x.first, x.last} {
		y := &s.versions[v]
		if !y.names() || y.flags&overwrittenByWriter != 0 && !s.installed(v) {
			return false
		}
	}
	return !s.keys[x.key].hasNoOrder()
}

// firm says whether edges lead through the visit's versions.
func (s *orders) firm(x *visit) bool { return s.comparable(x) && s.known(x.first) && s.known(x.last) }

// known says whether v has a place in the order. It has if it is the initial version, or the last one
// that its one writer wrote.
func (s *orders) known(v uint32) bool {
	x := &s.versions[v]
	return x.flags&ambiguous == 0 && (x.flags&initialVersion != 0 || x.writer != 0 && s.installed(v))
}

// inSessionBefore says whether a precedes b in their session.
func (s *orders) inSessionBefore(a, b uint32) bool {
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
func (s *orders) inTimeBefore(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	return x.flags&unknown == 0 && x.flags&y.flags&hasTimes != 0 && y.start-x.end > s.opt.ClockDrift
}

// compareBack orders the versions of id behind the versions of the visits before it. O(visits
// that ran beside id or its neighbours), at most maxBack.
func (s *orders) compareBack(id uint32, again *reordering) {
	x := s.partial.visits[id]
	began := math.MinInt64 + s.opt.ClockDrift // the latest start of those before it
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
			s.precede(o, id, Realtime, again)
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
func (s *orders) compareOn(id uint32) {
	x := s.partial.visits[id]
	ended := int64(math.MaxInt64)
	for o := x.later; o != 0; {
		y := s.partial.visits[o]
		if s.inTimeBefore(x.txn, y.txn) && s.txns[y.txn].start-s.opt.ClockDrift <= ended {
			s.precede(id, o, Realtime, nil)
			if s.firm(&y) && s.txns[y.txn].flags&unknown == 0 {
				ended = min(ended, s.txns[y.txn].end)
			}
		}
		o = s.partial.visits[o].later
	}
}

// leaveKeys takes the visits of n out. undone says that n does not count any more: else it leaves memory.
func (s *orders) leaveKeys(n uint32, undone bool) {
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

// OrderGuessed says whether e orders two appends to one list whose order was a guess when the later one
// of e left the window. Or it orders two writes of a register by transactions that met both of them. No
// read had shown them, and time does not speak against e. If the order contradicted time, one of the
// two had been moved to make others fit. A read that shows the other order then excludes no order,
// unless the other order contradicts their session. The number of a session may be another one's by
// now. A forced order of two writes is looked at in the same way, unless numbers order both. The caller
// knows what speaks against it beside time.
func (s *orders) OrderGuessed(e *Edge) bool {
	if e.Label != WW && e.Label != Saturated || e.Version == 0 {
		return false
	}
	if k := &s.keys[s.versions[e.Version].key]; k.kind != event.List && (e.Label == WW && !s.opt.partly() || s.orderedBoth(e)) {
		return false
	}
	return !s.endedBefore(e.To, e.From)
}

// orderedBoth says whether numbers order what both transactions of e left. A delete may have none. Then
// only the version that the delete replaced can show that the delete comes behind e's version.
func (s *orders) orderedBoth(e *Edge) bool {
	k := s.versions[e.Version].key
	if e.Label != Saturated || !s.isOrdered(e.Version) {
		return s.isOrdered(e.Version)
	}
	for id := s.txns[e.From].writes; id != 0; id = s.writes[id].nextOfTxn {
		w := &s.writes[id]
		if s.versions[w.version].key == k && !w.intermediate && !s.isOrdered(w.version) {
			return s.isOrdered(w.pred) && s.versions[w.pred].prefix >= s.versions[e.Version].prefix
		}
	}
	return true
}
