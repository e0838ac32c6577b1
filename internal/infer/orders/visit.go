package orders

import (
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
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

// VisitKeys notes the registers that n, which counts, met, and orders their versions.
func (s *Orders) VisitKeys(n uint32) {
	if s.Txns[n].Flags&ledger.Stale != 0 {
		return
	}
	for i := range s.Touches {
		c := &s.Touches[i]
		k := &s.Keys[c.Key]
		if k.Kind != event.Register && k.Kind != event.AnyKind || k.Flags&(ledger.Element|ledger.Unsupported|ledger.Sums) != 0 || c.Flags&causes.Misread != 0 {
			continue
		}
		v := visit{txn: n, key: c.Key, first: c.ReadVer, last: c.ReadVer, session: s.Txns[n].Session}
		if c.Flags&causes.Wrote != 0 {
			v.last = s.Writes[c.LastWrite].Version
			if v.first == 0 {
				v.first = v.last
			}
		}
		if v.first != 0 {
			s.enterVisit(v)
		}
	}
}

func (s *Orders) enterVisit(v visit) {
	p := &s.Partial
	id := takeFrom(&p.visits, &p.freeVisits, v)
	x := &p.visits[id]
	head := At(&p.ofTxn, v.txn)
	x.nextOfTxn, *head = *head, id
	late, early := uint32(0), *At(&p.ofKey, v.key)
	for early != 0 && s.Txns[p.visits[early].txn].End > s.Txns[v.txn].End {
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
	if s.Opt.SequentialKeys && v.session != 0 {
		s.enterInSession(id)
	}
	if s.Opt.LinearizableKeys {
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
func (s *Orders) enterInSession(id uint32) {
	p := &s.Partial
	if p.latest == nil {
		p.latest = map[uint64]uint32{}
	}
	x := &p.visits[id]
	behind, before := uint32(0), p.latest[visitsOf(x)]
	for before != 0 && s.ComesAfter(p.visits[before].txn, x.txn) {
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
			if s.precede(id, o, ledger.Process, nil); s.firm(&y) && s.Txns[y.txn].Flags&ledger.Unknown == 0 {
				return
			}
		}
	}
}

// compareSession orders the visit's versions behind the versions of earlier visits in its
// session, back to the nearest one through which edges lead.
func (s *Orders) compareSession(id uint32, again *reordering) {
	p := &s.Partial
	for o := p.visits[id].before; o != 0; o = p.visits[o].before {
		if y := p.visits[o]; s.inSessionBefore(y.txn, p.visits[id].txn) {
			if s.precede(o, id, ledger.Process, again); s.firm(&y) {
				return
			}
		}
	}
}

// comparable says whether the visit's versions can be compared.
func (s *Orders) comparable(x *visit) bool {
	for _, v := range []uint32{x.first, x.last} {
		y := &s.Versions[v]
		if !y.Names() || y.Flags&ledger.OverwrittenByWriter != 0 && !s.Installed(v) {
			return false
		}
	}
	return !s.Keys[x.key].HasNoOrder()
}

// firm says whether edges lead through the visit's versions.
func (s *Orders) firm(x *visit) bool { return s.comparable(x) && s.known(x.first) && s.known(x.last) }

// known says whether v has a place in the order. It has if it is the initial version, or the last one
// that its one writer wrote.
func (s *Orders) known(v uint32) bool {
	x := &s.Versions[v]
	return x.Flags&ledger.Ambiguous == 0 && (x.Flags&ledger.InitialVersion != 0 || x.Writer != 0 && s.Installed(v))
}

// inSessionBefore says whether a precedes b in their session.
func (s *Orders) inSessionBefore(a, b uint32) bool {
	x, y := &s.Txns[a], &s.Txns[b]
	if x.Session == 0 || x.Session != y.Session || x.Flags&ledger.Unknown != 0 ||
		s.Sessions[x.Session].Flags&ledger.Overlapping != 0 {
		return false
	}
	if x.Flags&y.Flags&ledger.HasSeq != 0 {
		return x.Seq < y.Seq
	}
	return x.Flags&y.Flags&ledger.HasTimes != 0 && x.End <= y.Start && !s.ComesAfter(a, b)
}

// inTimeBefore says whether a had ended before b began.
func (s *Orders) inTimeBefore(a, b uint32) bool {
	x, y := &s.Txns[a], &s.Txns[b]
	return x.Flags&ledger.Unknown == 0 && x.Flags&y.Flags&ledger.HasTimes != 0 && y.Start-x.End > s.Opt.ClockDrift
}

// compareBack orders the versions of id behind the versions of the visits before it. O(visits
// that ran beside id or its neighbours), at most maxBack.
func (s *Orders) compareBack(id uint32, again *reordering) {
	x := s.Partial.visits[id]
	began := math.MinInt64 + s.Opt.ClockDrift // the latest start of those before it
	steps := 0
	for o := x.earlier; o != 0; {
		y := s.Partial.visits[o]
		if s.Txns[y.txn].End < began-s.Opt.ClockDrift {
			return
		}
		if steps++; steps > maxBack {
			s.Uncheckable(x.key)
			return
		}
		if s.inTimeBefore(y.txn, x.txn) {
			s.precede(o, id, ledger.Realtime, again)
			if s.firm(&y) {
				began = max(began, s.Txns[y.txn].Start)
			}
		}
		o = s.Partial.visits[o].earlier
	}
}

// maxBack bounds how many visits of a key one is compared with.
const maxBack = 1 << 14

// compareOn is compareBack for a visit that came late: the visits behind it.
func (s *Orders) compareOn(id uint32) {
	x := s.Partial.visits[id]
	ended := int64(math.MaxInt64)
	for o := x.later; o != 0; {
		y := s.Partial.visits[o]
		if s.inTimeBefore(x.txn, y.txn) && s.Txns[y.txn].Start-s.Opt.ClockDrift <= ended {
			s.precede(id, o, ledger.Realtime, nil)
			if s.firm(&y) && s.Txns[y.txn].Flags&ledger.Unknown == 0 {
				ended = min(ended, s.Txns[y.txn].End)
			}
		}
		o = s.Partial.visits[o].later
	}
}

// LeaveKeys takes the visits of n out. undone says that n does not count any more: else it leaves memory.
func (s *Orders) LeaveKeys(n uint32, undone bool) {
	p := &s.Partial
	var keys []uint32
	for id := *At(&p.ofTxn, n); id != 0; {
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
			s.OrderAgain(k)
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
func (s *Orders) OrderGuessed(e *ledger.Edge) bool {
	if e.Label != ledger.WW && e.Label != ledger.Saturated || e.Version == 0 {
		return false
	}
	if k := &s.Keys[s.Versions[e.Version].Key]; k.Kind != event.List && (e.Label == ledger.WW && !s.Opt.Partly() || s.orderedBoth(e)) {
		return false
	}
	return !s.EndedBefore(e.To, e.From)
}

// orderedBoth says whether numbers order what both transactions of e left. A delete may have none. Then
// only the version that the delete replaced can show that the delete comes behind e's version.
func (s *Orders) orderedBoth(e *ledger.Edge) bool {
	k := s.Versions[e.Version].Key
	if e.Label != ledger.Saturated || !s.IsOrdered(e.Version) {
		return s.IsOrdered(e.Version)
	}
	for id := s.Txns[e.From].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		w := &s.Writes[id]
		if s.Versions[w.Version].Key == k && !w.Intermediate && !s.IsOrdered(w.Version) {
			return s.IsOrdered(w.Pred) && s.Versions[w.Pred].Prefix >= s.Versions[e.Version].Prefix
		}
	}
	return true
}
