package ledger

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/invariants"
)

// Session is a single-threaded client.
type Session struct {
	Hash event.Hash
	Name Place
	// Last is the latest live member, the end of the list that Txn.SessPrev links.
	Last uint32
	// Retired is the latest member of known outcome that left every order, and
	// Unsure the latest one of unknown outcome; their ranks are still known.
	Retired, Unsure uint32
	Refs            uint32 // members that have not retired, and questions about some
	Flags           SessionFlags
}

// SessionFlags say what is known of a session.
type SessionFlags uint8

const (
	Overlapping SessionFlags = 1 << iota // its members are not one after the other: their order is not used
	outOfOrder                           // a member retired before another one that precedes it in the session
	Recent                               // used since the hand of spill.go passed it last
	seqOnly                              // a member has seq and no times of its own
	timesOnly                            // a member has times and no seq
)

// EnterSession notes n as a member of its session, whatever its outcome.
func (s *Ledger) EnterSession(b *event.Batch, t *event.Txn, n uint32) {
	if t.Session.Len == 0 {
		return
	}
	h := s.InEpoch(b, t, t.SessionHash)
	id := s.internSession(h, b.Bytes(t.Session))
	s.Txns[n].Session = id
	s.Sessions[id].Refs++
	if t.Flags&event.HasSeq != 0 {
		s.noteSeq(id, t.Seq, n)
	}
}

// LookupSession is the session with this hash, 0 if it is not in memory.
func (s *Ledger) LookupSession(h event.Hash) uint32 {
	x := &s.BySession
	i, mask, fp := x.Start(h.Lo)
	for x.Slots[i] != 0 {
		if slot := x.Slots[i]; uint32(slot>>32) == fp && s.Sessions[uint32(slot)].Hash == h {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return 0
}

// internSession finds or makes the session with this hash.
func (s *Ledger) internSession(h event.Hash, name []byte) uint32 {
	if id := s.LookupSession(h); id != 0 {
		s.Sessions[id].Flags |= Recent
		return id
	}
	return s.NewSession(h, name)
}

// LinkSession orders n, which counts now or aborted, within its session: by seq, or by the
// client's own clock where there is none. A member whose outcome was unknown is
// reached from its predecessor, and nothing follows from it.
func (s *Ledger) LinkSession(n uint32) {
	t := &s.Txns[n]
	x := &s.Sessions[t.Session]
	if t.Flags&(HasSeq|HasTimes) != HasSeq|HasTimes {
		t.drift(x)
	}
	if t.Placeless() {
		if t.State == Counted {
			s.Counters.Sessionless++
		}
		return
	}
	if t.Flags&Stale != 0 {
		return
	}
	s.HasSessionOrder = s.HasSessionOrder || t.State == Counted
	if x.Flags&Overlapping != 0 {
		return
	}
	next, prev := uint32(0), x.Last
	for steps := 0; prev != 0 && s.ComesAfter(prev, n); steps++ {
		if steps == longWalk {
			if p, q, ok := s.around(n); ok {
				prev, next = p, q
				break
			}
		}
		next, prev = prev, s.Txns[prev].SessPrev
	}
	if invariants.Enabled {
		s.checkNeighbours(n, prev, next)
	}
	// Members of any outcome can overlap, if their ends are known. The order leads around aborted
	// members.
	before, after := prev, next
	p, q := &s.Txns[prev], &s.Txns[next]
	if prev != 0 && !(p.steady() && p.apart(t)) || next != 0 && !(q.steady() && t.apart(q)) {
		for before != 0 && s.Txns[before].Flags&Unknown != 0 {
			before = s.Txns[before].SessPrev
		}
		for after != 0 && s.Txns[after].Flags&Unknown != 0 {
			after = s.Txns[after].SessNext
		}
		if s.overlaps(x, before, n) || s.overlaps(x, n, after) {
			return
		}
		for before != 0 && (s.Txns[before].Flags&Unknown != 0 || s.Txns[before].State == Aborted) {
			before = s.Txns[before].SessPrev
		}
		for after != 0 && (s.Txns[after].Flags&Unknown != 0 || s.Txns[after].State == Aborted) {
			after = s.Txns[after].SessNext
		}
	}
	behind := before == 0 || x.Flags&outOfOrder != 0 // what has retired may be a neighbour
	if behind && s.overlapsRetired(x, n) {
		return
	}
	t.Flags |= InSession
	t.SessPrev, t.SessNext = prev, next
	if prev != 0 {
		p.SessNext = n
	}
	if next != 0 {
		q.SessPrev = n
	} else {
		x.Last = n
	}
	s.indexMember(n)
	if t.State == Aborted || s.Opt.Labels&Process == 0 {
		return
	}
	if behind {
		s.linkRetired(x, n)
	}
	s.GiveEdge(before, n, Process, 0, 0)
	if t.Flags&Unknown != 0 {
		return
	}
	for m := next; m != 0; m = s.Txns[m].SessNext {
		if s.Txns[m].State != Aborted {
			s.GiveEdge(n, m, Process, 0, 0)
		}
		if m == after {
			break
		}
	}
}

// steady says whether t counts and its outcome is known.
func (t *Txn) steady() bool { return t.State == Counted && t.Flags&Unknown == 0 }

// apart says whether u began after t had ended and stands behind it by seq: they do
// not overlap.
func (t *Txn) apart(u *Txn) bool { return t.Seq < u.Seq && t.End <= u.Start }

// Placeless says whether nothing tells where t stands in its session, which every
// transaction must that did not ask for old data.
func (t *Txn) Placeless() bool {
	return t.Flags&Stale == 0 && (t.Session == 0 || t.Flags&(HasSeq|HasTimes) == 0 || t.Flags&adrift != 0)
}

// drift is for t, which has seq alone or times alone. It has no place in its session x where an
// earlier member has only the other: the two cannot be compared.
func (t *Txn) drift(x *Session) {
	if t.Session == 0 || t.Flags&Stale != 0 {
		return
	}
	mine, other := seqOnly, timesOnly
	switch t.Flags & (HasSeq | HasTimes) {
	case 0:
		return
	case HasTimes:
		mine, other = other, mine
	}
	if x.Flags&other != 0 {
		t.Flags |= adrift
		return
	}
	x.Flags |= mine
}

// SessionOrder says whether some transaction that counts had a place in a session.
func (s *Ledger) SessionOrder() bool { return s.HasSessionOrder }

// linkRetired gives the edges between n and the latest retired members. If a retired member follows n,
// rule (d) reports it. If both follow n, one report is enough.
func (s *Ledger) linkRetired(x *Session, n uint32) {
	known := s.Txns[n].Flags&Unknown == 0
	switch {
	case x.Retired != 0 && !s.ComesAfter(x.Retired, n):
		s.GiveEdge(x.Retired, n, Process, 0, 0)
	case x.Retired != 0 && known:
		s.GiveEdge(n, x.Retired, Process, 0, 0)
		return
	}
	if x.Unsure != 0 && known && s.ComesAfter(x.Unsure, n) {
		s.GiveEdge(n, x.Unsure, Process, 0, 0)
	}
}

// overlaps says whether a, the nearest member of known outcome before b, was
// still running when b began, and reports it. Either may be 0.
func (s *Ledger) overlaps(x *Session, a, b uint32) bool {
	if a == 0 || b == 0 || s.Txns[a].Flags&Unknown != 0 || !s.overlap(a, b) {
		return false
	}
	x.Flags |= Overlapping
	s.Counters.Overlapping++
	if s.Txns[a].Gen < s.Txns[b].Gen { // the latest arrival first
		a, b = b, a
	}
	s.Report(Anomaly{Kind: SessionOverlap, A: a, B: b, Certain: true})
	return true
}

// overlapsRetired is overlaps for the latest retired member of known outcome.
func (s *Ledger) overlapsRetired(x *Session, n uint32) bool {
	if x.Retired == 0 {
		return false
	}
	if s.ComesAfter(x.Retired, n) {
		return s.overlaps(x, n, x.Retired)
	}
	return s.overlaps(x, x.Retired, n)
}

// ComesAfter says whether a comes after b in their session.
func (s *Ledger) ComesAfter(a, b uint32) bool {
	x, y := &s.Txns[a], &s.Txns[b]
	if x.Flags&y.Flags&HasSeq != 0 {
		return x.Seq > y.Seq
	}
	return x.Start > y.Start || x.Start == y.Start && x.End > y.End
}

// checkNeighbours panics unless a walk along the whole list finds the same place
// for n.
func (s *Ledger) checkNeighbours(n, prev, next uint32) {
	q, p := uint32(0), s.Sessions[s.Txns[n].Session].Last
	for p != 0 && s.ComesAfter(p, n) {
		q, p = p, s.Txns[p].SessPrev
	}
	if p != prev || q != next {
		panic(fmt.Sprintf("infer: member %d of session %d put between %d and %d, belongs between %d and %d",
			n, s.Txns[n].Session, prev, next, p, q))
	}
}

// overlap says whether a, which should be over, was still running when b began,
// by their client's clock, or whether the two claim one place.
func (s *Ledger) overlap(a, b uint32) bool {
	x, y := &s.Txns[a], &s.Txns[b]
	if x.Flags&y.Flags&HasSeq != 0 && x.Seq == y.Seq {
		return true
	}
	return x.Flags&y.Flags&HasTimes != 0 && x.End > y.Start
}

// LeaveSession unlinks n from its session's list.
func (s *Ledger) LeaveSession(n uint32) {
	t := &s.Txns[n]
	if t.Flags&InSession == 0 {
		return
	}
	if t.SessPrev != 0 {
		s.Txns[t.SessPrev].SessNext = t.SessNext
	}
	if t.SessNext != 0 {
		s.Txns[t.SessNext].SessPrev = t.SessPrev
	} else {
		s.Sessions[t.Session].Last = t.SessPrev
	}
	s.unindexMember(n, s.Sessions[t.Session].Last == 0)
	t.Flags &^= InSession
	t.SessPrev, t.SessNext = 0, 0
}

// RetireSession keeps n as its session's latest retired member, unless a later member has retired.
func (s *Ledger) RetireSession(n uint32) {
	t := &s.Txns[n]
	if t.Flags&InSession == 0 {
		return
	}
	x := &s.Sessions[t.Session]
	p := t.SessPrev
	for p != 0 && s.Txns[p].State == Aborted { // those leave by their ends
		p = s.Txns[p].SessPrev
	}
	if p != 0 {
		x.Flags |= outOfOrder
	}
	s.LeaveSession(n)
	latest := &x.Retired
	if t.Flags&Unknown != 0 {
		latest = &x.Unsure
	}
	if old := *latest; old == 0 || s.ComesAfter(n, old) {
		*latest = n
		s.Pin(n)
		s.Unpin(old)
	}
}

// NewSession makes a session, and enters it into BySession.
func (s *Ledger) NewSession(h event.Hash, name []byte) uint32 {
	id, ok := s.Free.Sessions.Take()
	if !ok {
		id = uint32(len(s.Sessions))
		s.Sessions = append(s.Sessions, Session{})
	}
	s.Spill.Made++
	s.Sessions[id] = Session{Hash: h, Name: s.Names.Put(name), Flags: Recent}
	s.BySession.Insert(h.Lo, id)
	return id
}
