package infer

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/invariants"
)

// session is a single-threaded client.
type session struct {
	hash event.Hash
	name ref
	// last is the latest live member, the end of the list that txn.sessPrev links.
	last uint32
	// retired is the latest member of known outcome that left every order, and
	// unsure the latest one of unknown outcome; their ranks are still known.
	retired, unsure uint32
	refs            uint32 // members that have not retired, and questions about some
	flags           sessionFlags
}

type sessionFlags uint8

const (
	overlapping sessionFlags = 1 << iota
	outOfOrder               // a member retired before another one that precedes it in the session
	recent                   // used since the hand of spill.go passed it last
	seqOnly                  // a member has seq and no times of its own
	timesOnly                // a member has times and no seq
)

// enterSession notes n as a member of its session, whatever its outcome.
func (s *ledger) enterSession(b *event.Batch, t *event.Txn, n uint32) {
	if t.Session.Len == 0 {
		return
	}
	h := s.inEpoch(b, t, t.SessionHash)
	id := s.internSession(h, b.Bytes(t.Session))
	s.txns[n].session = id
	s.sessions[id].refs++
	if t.Flags&event.HasSeq != 0 {
		s.noteSeq(id, t.Seq, n)
	}
}

func (s *ledger) internSession(h event.Hash, name []byte) uint32 {
	x := &s.bySession
	i, mask, fp := x.start(h.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp && s.sessions[uint32(slot)].hash == h {
			s.sessions[uint32(slot)].flags |= recent
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	return s.newSession(h, name)
}

// linkSession orders n, which counts now or aborted, within its session: by seq, or by the
// client's own clock where there is none. A member whose outcome was unknown is
// reached from its predecessor, and nothing follows from it.
func (s *ledger) linkSession(n uint32) {
	t := &s.txns[n]
	x := &s.sessions[t.session]
	if t.flags&(hasSeq|hasTimes) != hasSeq|hasTimes {
		t.drift(x)
	}
	if t.placeless() {
		if t.state == counted {
			s.Counters.Sessionless++
		}
		return
	}
	if t.flags&stale != 0 {
		return
	}
	s.sessionOrder = s.sessionOrder || t.state == counted
	if x.flags&overlapping != 0 {
		return
	}
	next, prev := uint32(0), x.last
	for steps := 0; prev != 0 && s.follows(prev, n); steps++ {
		if steps == longWalk {
			if p, q, ok := s.around(n); ok {
				prev, next = p, q
				break
			}
		}
		next, prev = prev, s.txns[prev].sessPrev
	}
	if invariants.Enabled {
		s.checkNeighbours(n, prev, next)
	}
	// Members of any outcome can overlap, if their ends are known. The order leads around aborted
	// members.
	before, after := prev, next
	p, q := &s.txns[prev], &s.txns[next]
	if prev != 0 && !(p.steady() && p.apart(t)) || next != 0 && !(q.steady() && t.apart(q)) {
		for before != 0 && s.txns[before].flags&unknown != 0 {
			before = s.txns[before].sessPrev
		}
		for after != 0 && s.txns[after].flags&unknown != 0 {
			after = s.txns[after].sessNext
		}
		if s.overlaps(x, before, n) || s.overlaps(x, n, after) {
			return
		}
		for before != 0 && (s.txns[before].flags&unknown != 0 || s.txns[before].state == aborted) {
			before = s.txns[before].sessPrev
		}
		for after != 0 && (s.txns[after].flags&unknown != 0 || s.txns[after].state == aborted) {
			after = s.txns[after].sessNext
		}
	}
	behind := before == 0 || x.flags&outOfOrder != 0 // what has retired may be a neighbour
	if behind && s.overlapsRetired(x, n) {
		return
	}
	t.flags |= inSession
	t.sessPrev, t.sessNext = prev, next
	if prev != 0 {
		p.sessNext = n
	}
	if next != 0 {
		q.sessPrev = n
	} else {
		x.last = n
	}
	s.indexMember(n)
	if t.state == aborted || s.opt.Labels&Process == 0 {
		return
	}
	if behind {
		s.linkRetired(x, n)
	}
	s.edge(before, n, Process, 0, 0)
	if t.flags&unknown != 0 {
		return
	}
	for m := next; m != 0; m = s.txns[m].sessNext {
		if s.txns[m].state != aborted {
			s.edge(n, m, Process, 0, 0)
		}
		if m == after {
			break
		}
	}
}

// steady says whether t counts and its outcome is known.
func (t *txn) steady() bool { return t.state == counted && t.flags&unknown == 0 }

// apart says whether u began after t had ended and stands behind it by seq: they do
// not overlap.
func (t *txn) apart(u *txn) bool { return t.seq < u.seq && t.end <= u.start }

// placeless says whether nothing tells where t stands in its session, which every
// transaction must that did not ask for old data.
func (t *txn) placeless() bool {
	return t.flags&stale == 0 && (t.session == 0 || t.flags&(hasSeq|hasTimes) == 0 || t.flags&adrift != 0)
}

// drift is for t, which has seq alone or times alone. It has no place in its session x where an
// earlier member has only the other: the two cannot be compared.
func (t *txn) drift(x *session) {
	if t.session == 0 || t.flags&stale != 0 {
		return
	}
	mine, other := seqOnly, timesOnly
	switch t.flags & (hasSeq | hasTimes) {
	case 0:
		return
	case hasTimes:
		mine, other = other, mine
	}
	if x.flags&other != 0 {
		t.flags |= adrift
		return
	}
	x.flags |= mine
}

// SessionOrder says whether some transaction that counts had a place in a session.
func (s *ledger) SessionOrder() bool { return s.sessionOrder }

// linkRetired gives the edges between n and the latest retired members. If a retired member follows n,
// rule (d) reports it. If both follow n, one report is enough.
func (s *ledger) linkRetired(x *session, n uint32) {
	known := s.txns[n].flags&unknown == 0
	switch {
	case x.retired != 0 && !s.follows(x.retired, n):
		s.edge(x.retired, n, Process, 0, 0)
	case x.retired != 0 && known:
		s.edge(n, x.retired, Process, 0, 0)
		return
	}
	if x.unsure != 0 && known && s.follows(x.unsure, n) {
		s.edge(n, x.unsure, Process, 0, 0)
	}
}

// overlaps says whether a, the nearest member of known outcome before b, was
// still running when b began, and reports it. Either may be 0.
func (s *ledger) overlaps(x *session, a, b uint32) bool {
	if a == 0 || b == 0 || s.txns[a].flags&unknown != 0 || !s.overlap(a, b) {
		return false
	}
	x.flags |= overlapping
	s.Counters.Overlapping++
	if s.txns[a].gen < s.txns[b].gen { // the latest arrival first
		a, b = b, a
	}
	s.anomaly(Anomaly{Kind: SessionOverlap, A: a, B: b, Certain: true})
	return true
}

// overlapsRetired is overlaps for the latest retired member of known outcome.
func (s *ledger) overlapsRetired(x *session, n uint32) bool {
	if x.retired == 0 {
		return false
	}
	if s.follows(x.retired, n) {
		return s.overlaps(x, n, x.retired)
	}
	return s.overlaps(x, x.retired, n)
}

// follows says whether a comes after b in their session.
func (s *ledger) follows(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	if x.flags&y.flags&hasSeq != 0 {
		return x.seq > y.seq
	}
	return x.start > y.start || x.start == y.start && x.end > y.end
}

// checkNeighbours panics unless a walk along the whole list finds the same place
// for n.
func (s *ledger) checkNeighbours(n, prev, next uint32) {
	q, p := uint32(0), s.sessions[s.txns[n].session].last
	for p != 0 && s.follows(p, n) {
		q, p = p, s.txns[p].sessPrev
	}
	if p != prev || q != next {
		panic(fmt.Sprintf("infer: member %d of session %d put between %d and %d, belongs between %d and %d",
			n, s.txns[n].session, prev, next, p, q))
	}
}

// overlap says whether a, which should be over, was still running when b began,
// by their client's clock, or whether the two claim one place.
func (s *ledger) overlap(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	if x.flags&y.flags&hasSeq != 0 && x.seq == y.seq {
		return true
	}
	return x.flags&y.flags&hasTimes != 0 && x.end > y.start
}

// leaveSession unlinks n from its session's list.
func (s *ledger) leaveSession(n uint32) {
	t := &s.txns[n]
	if t.flags&inSession == 0 {
		return
	}
	if t.sessPrev != 0 {
		s.txns[t.sessPrev].sessNext = t.sessNext
	}
	if t.sessNext != 0 {
		s.txns[t.sessNext].sessPrev = t.sessPrev
	} else {
		s.sessions[t.session].last = t.sessPrev
	}
	s.unindexMember(n, s.sessions[t.session].last == 0)
	t.flags &^= inSession
	t.sessPrev, t.sessNext = 0, 0
}

// retireSession keeps n as its session's latest retired member, unless a later member has retired.
func (s *ledger) retireSession(n uint32) {
	t := &s.txns[n]
	if t.flags&inSession == 0 {
		return
	}
	x := &s.sessions[t.session]
	p := t.sessPrev
	for p != 0 && s.txns[p].state == aborted { // those leave by their ends
		p = s.txns[p].sessPrev
	}
	if p != 0 {
		x.flags |= outOfOrder
	}
	s.leaveSession(n)
	latest := &x.retired
	if t.flags&unknown != 0 {
		latest = &x.unsure
	}
	if old := *latest; old == 0 || s.follows(n, old) {
		*latest = n
		s.pin(n)
		s.unpin(old)
	}
}
