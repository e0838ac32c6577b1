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
	// retired is the latest member that left memory; its ranks are still known.
	retired uint32
	flags   sessionFlags
}

type sessionFlags uint8

const overlapping sessionFlags = 1

// enterSession notes n as a member of its session, whatever its outcome.
func (s *State) enterSession(b *event.Batch, t *event.Txn, n uint32) {
	if t.Session.Len == 0 {
		return
	}
	h := s.inEpoch(b, t, t.SessionHash)
	id := s.internSession(h, b.Bytes(t.Session))
	s.txns[n].session = id
	if t.Flags&event.HasSeq != 0 {
		s.noteSeq(id, t.Seq, n)
	}
}

func (s *State) internSession(h event.Hash, name []byte) uint32 {
	x := &s.bySession
	i, mask, fp := x.start(h.Lo)
	for x.slots[i] != 0 {
		if slot := x.slots[i]; uint32(slot>>32) == fp && s.sessions[uint32(slot)].hash == h {
			return uint32(slot)
		}
		i = (i + 1) & mask
	}
	id := uint32(len(s.sessions))
	s.sessions = append(s.sessions, session{hash: h, name: s.names.put(name)})
	x.insert(h.Lo, id)
	return id
}

// linkSession orders n, which counts now, within its session: by seq, or by the
// client's own clock where there is none. A member whose outcome was unknown is
// reached from its predecessor, and nothing follows from it.
func (s *State) linkSession(n uint32) {
	t := &s.txns[n]
	x := &s.sessions[t.session]
	if t.session == 0 || t.flags&stale != 0 || t.flags&(hasSeq|hasTimes) == 0 || x.flags&overlapping != 0 {
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
	before, after := prev, next
	for before != 0 && s.txns[before].flags&unknown != 0 {
		before = s.txns[before].sessPrev
	}
	for after != 0 && s.txns[after].flags&unknown != 0 {
		after = s.txns[after].sessNext
	}
	if before != 0 && s.overlap(before, n) {
		s.overlaps(x, n, before)
		return
	}
	if after != 0 && t.flags&unknown == 0 && s.overlap(n, after) {
		s.overlaps(x, n, after)
		return
	}
	t.flags |= inSession
	t.sessPrev, t.sessNext = prev, next
	if prev != 0 {
		s.txns[prev].sessNext = n
	}
	if next != 0 {
		s.txns[next].sessPrev = n
	} else {
		x.last = n
	}
	s.seat(n)
	if before == 0 && x.retired != 0 {
		if !s.follows(x.retired, n) {
			s.edge(x.retired, n, Process, 0, 0)
		} else if t.flags&unknown == 0 {
			s.edge(n, x.retired, Process, 0, 0) // rule (d)
		}
	}
	s.edge(before, n, Process, 0, 0)
	if t.flags&unknown != 0 {
		return
	}
	for m := next; m != 0; m = s.txns[m].sessNext {
		s.edge(n, m, Process, 0, 0)
		if m == after {
			break
		}
	}
}

// overlaps reports that n and m of the session x were under way at the same time:
// it is not sequential, and gives no more edges.
func (s *State) overlaps(x *session, n, m uint32) {
	x.flags |= overlapping
	s.Counters.Overlapping++
	s.anomaly(Anomaly{Kind: SessionOverlap, A: n, B: m, Certain: true})
}

// follows says whether a comes after b in their session.
func (s *State) follows(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	if x.flags&y.flags&hasSeq != 0 {
		return x.seq > y.seq
	}
	return x.start > y.start || x.start == y.start && x.end > y.end
}

// checkNeighbours panics unless a walk along the whole list finds the same place
// for n.
func (s *State) checkNeighbours(n, prev, next uint32) {
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
func (s *State) overlap(a, b uint32) bool {
	x, y := &s.txns[a], &s.txns[b]
	if x.flags&y.flags&hasSeq != 0 && x.seq == y.seq {
		return true
	}
	return x.flags&y.flags&hasTimes != 0 && x.end > y.start
}

// leaveSession unlinks n from its session's list.
func (s *State) leaveSession(n uint32) {
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
	s.unseat(n, s.sessions[t.session].last == 0)
	t.flags &^= inSession
	t.sessPrev, t.sessNext = 0, 0
}

// retireSession keeps n as its session's latest retired member, if it is.
func (s *State) retireSession(n uint32) {
	t := &s.txns[n]
	if t.flags&inSession == 0 {
		return
	}
	s.leaveSession(n)
	x := &s.sessions[t.session]
	if t.flags&unknown != 0 {
		return
	}
	if old := x.retired; old == 0 || s.follows(n, old) {
		x.retired = n
		s.pin(n)
		s.unpin(old)
	}
}
