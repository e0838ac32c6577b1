package infer

import "github.com/isowatch/isowatch/event"

// maxTentative bounds the unknown transactions that are kept behind the window
// for a late observation, which can come at any time.
const (
	maxTentative   = 1 << 17
	tentativeBytes = 512 // about
)

// KeepUnobserved says how many unknown transactions that nobody observed are kept behind the window. [State.LimitMemory]
// says it too.
func (s *memory) KeepUnobserved(n int) { s.tentative = n }

// Expire lets go of aborted transactions that ended before now, and of the oldest
// unobserved unknown ones beyond maxTentative.
func (s *memory) Expire(now int64, out *Out) {
	s.begin(out)
	for s.expiry.before(now) {
		s.expireNext()
	}
}

// ExpireShare is Expire for a share of all transactions that would expire at some time, the oldest
// ones: one in so many.
func (s *memory) ExpireShare(share int, out *Out) {
	s.begin(out)
	for n := len(s.expiry.heap)/share + 1; n > 0 && len(s.expiry.heap) > 0; n-- {
		s.expireNext()
	}
}

func (s *memory) expireNext() {
	d := s.expiry.pop()
	t := &s.txns[d.txn]
	switch {
	case t.gen != d.gen: // its number has another owner
	case t.state == tentative: // else it was observed
		s.keepTentative(d)
	case t.state == aborted:
		s.expire(d.txn)
	}
}

func (s *memory) expire(n uint32) {
	s.leaveSession(n)
	s.leave(n)
	s.dropWrites(n)
	s.txns[n].flags |= retired
	s.release(n)
}

// keepTentative keeps an unknown transaction that has expired, in place of the
// oldest such one.
func (s *memory) keepTentative(d due) {
	s.unsure = append(s.unsure, d)
	if len(s.unsure) < 2*s.tentative {
		return
	}
	for _, old := range s.unsure[:s.tentative] {
		if t := &s.txns[old.txn]; t.gen == old.gen && t.state == tentative {
			s.expire(old.txn)
		}
	}
	s.unsure = append(s.unsure[:0], s.unsure[s.tentative:]...)
}

// dropWrites lets go of what n wrote.
func (s *memory) dropWrites(n uint32) {
	for id := s.txns[n].writes; id != 0; {
		next, v := s.writes[id].nextOfTxn, s.writes[id].version
		s.dropWrite(id)
		if s.txns[n].state == aborted {
			s.aborts.add(s.valueKey(v))
		} else {
			s.values.add(s.valueKey(v))
		}
		s.dropIfUnused(v)
		id = next
	}
	s.txns[n].writes = 0
}

// Retire lets go of n, which has left every order: its reads, its place in its session, and
// versions that no later transaction can need. The state of lemma 2 stays (docs/proofs.md): the
// current version of each key with its writer's ranks, unplaced appends, and the session's last
// member.
func (s *memory) Retire(n uint32, out *Out) {
	s.begin(out)
	t := &s.txns[n]
	if t.state != counted {
		return
	}
	t.flags |= retired
	t.pins++ // until the end of this function
	s.signs.endRetired = max(s.signs.endRetired, t.end)
	if s.opt.Linear && t.flags&hasTimes != 0 {
		s.begunRetired = max(s.begunRetired, t.start)
	}
	mark := seen | seenSurely
	if t.flags&unknown != 0 {
		mark = seen
	}
	for id := t.reads; id != 0; {
		r := &s.readers[id]
		next, v := r.nextOfTxn, r.version
		x := &s.versions[v]
		if x.oldest == id && x.readers != id { // as dropReader does; mostly another transaction has read the version since
			x.oldest = r.newer
			*r = reader{}
			s.free.readers.Give(id)
		} else {
			s.dropReader(id)
		}
		x.flags |= mark
		again := false
		if x.possible == 0 && x.flags&(initialVersion|nothing|baseline) == 0 {
			if again = x.flags&ambiguous != 0 && s.keys[x.key].kind != event.List && s.twice.has(s.valueKey(v)); !again {
				s.keepLate(v)
			}
		}
		if x.readers == 0 && again { // several transactions that are gone wrote it: the filter knows it
			s.drop(v)
		} else if x.readers == 0 {
			s.supersede(v)
		}
		if x.flags&notKept == 0 {
			s.keep(v)
		}
		id = next
	}
	s.txns[n].reads = 0
	if s.txns[n].scans != 0 {
		s.dropScans(n)
	}
	if s.opt.Ordered && s.opt.partly() {
		s.leaveKeys(n, false)
	}
	s.leave(n)
	s.retireSession(n)
	s.reopened = s.reopened[:0]
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.reopened = append(s.reopened, id)
	}
	for _, id := range s.reopened {
		if s.writes[id].txn == n { // not freed together with one before
			s.retireWrite(id)
		}
	}
	s.unpin(n)
}

// maxLate bounds the versions that are kept only because a retired transaction
// read them and their writer is missing.
const maxLate = 1 << 16

// keepLate keeps v for a writer that may still come.
func (s *registers) keepLate(v uint32) {
	x := &s.versions[v]
	if x.flags&lateReaders != 0 {
		return
	}
	x.flags |= lateReaders
	s.late = append(s.late, v)
	if len(s.late) > maxLate {
		old := s.late[0]
		s.late = append(s.late[:0], s.late[1:]...)
		s.versions[old].flags &^= lateReaders
		s.dropIfUnused(old)
	}
}

func (s *registers) retireWrite(id uint32) {
	w := s.writes[id]
	v := w.version
	x := &s.versions[v]
	k := &s.keys[x.key]
	if k.kind == event.List {
		s.kindsAbove.List.Freeze(x.key)
		s.keep(v)
		return
	}
	if x.flags&nothing != 0 {
		s.retireDelete(id)
		return
	}
	if w.intermediate || x.flags&ambiguous != 0 {
		s.drop(v)
		s.keep(v)
		return
	}
	p := w.pred
	s.supersede(v)
	if p != 0 {
		s.supersede(p)
	}
	if x := &s.versions[v]; x.key != 0 && s.keys[x.key].flags&emptied != 0 {
		s.leftBefore(x.key, w.txn)
	} else if x.key != 0 && w.blind && k.flags&(uncheckable|unordered) != 0 && x.over == 0 {
		if old := k.lastBlind; old != 0 && old != v {
			switch u := s.versions[old].writer; {
			case u == 0:
			case s.endedBefore(w.txn, u): // its outcome came late: the value of u is the current one
				old, v = v, old
			case !s.endedBefore(u, w.txn):
				s.twice.add(s.valueKey(old)) // nobody knows which of the two came last: a later read of it is of no old state
			}
			s.drop(old)
		}
		k.lastBlind = v
	}
	s.keep(v)
}

// gone says whether every possible writer of v has retired.
func (s *orders) gone(v uint32) bool {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if s.txns[s.writes[id].txn].flags&retired == 0 {
			return false
		}
	}
	return true
}

// supersede drops v when it and an overwriter have retired and no live transaction read it. A
// later read of it is of a version older than the current one.
func (s *registers) supersede(v uint32) {
	x := &s.versions[v]
	if x.key == 0 || x.readers != 0 || x.due > 0 {
		return
	}
	if s.isOrdered(v) {
		s.supersedeInOrder(v)
		return
	}
	if x.over == 0 && x.flags&(placed|inUnplaced) == 0 {
		if x.flags&old != 0 && s.keys[x.key].flags&emptied != 0 {
			s.drop(v)
		}
		return // of a register, and current
	}
	if s.keys[x.key].kind == event.List {
		s.kindsAbove.List.Freeze(x.key)
		return
	}
	if x.flags&initialVersion != 0 || !s.gone(v) {
		return
	}
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		if s.txns[s.writes[id].txn].flags&retired != 0 {
			s.drop(v)
			return
		}
	}
}

// drop forgets the register version v. The filter remembers that the version existed.
func (s *orders) drop(v uint32) {
	x := &s.versions[v]
	if x.key == 0 || x.flags&(initialVersion|nothing) != 0 {
		return
	}
	if x.readers != 0 || x.due > 0 || x.flags&lateReaders != 0 || !s.gone(v) {
		return
	}
	s.values.add(s.valueKey(v))
	if x.flags&ambiguous != 0 {
		s.twice.add(s.valueKey(v))
	}
	s.freeVersionNow(v)
}

// freeVersionNow frees v and its write records.
func (s *orders) freeVersionNow(v uint32) {
	x := &s.versions[v]
	if x.flags&kept != 0 {
		s.unkeep(v)
	}
	s.keys[x.key].count--
	if s.isOrdered(v) {
		s.leaveOrder(v)
	}
	if s.opt.Ordered && s.opt.partly() {
		s.leavePartly(v)
	}
	if s.keys[x.key].lastBlind == v {
		s.keys[x.key].lastBlind = 0
	}
	for id := x.over; id != 0; {
		next := s.writes[id].nextOver
		w := &s.writes[id]
		w.pred, w.nextOver, w.prevOver = 0, 0, 0
		id = next
	}
	for id := x.writes; id != 0; {
		next := s.writes[id].nextOfVer
		if p := s.writes[id].pred; p != 0 {
			s.versions[p].flags |= overwritten
			if s.keys[x.key].flags&unordered != 0 {
				s.versions[p].flags |= overwrittenSince
			}
		}
		s.withdrawOverwrite(id)
		s.unlinkFromTxn(id)
		t := s.writes[id].txn
		s.txns[t].pins--
		s.writes[id] = write{}
		s.free.writes.Give(id)
		s.release(t)
		id = next
	}
	witness := x.witness
	s.byVersion.remove(versionHash(x.key, x.hash), v)
	*x = version{}
	s.free.versions.Give(v)
	s.freed++
	s.unpin(witness)
}

func (s *orders) unlinkFromTxn(id uint32) {
	w := &s.writes[id]
	if w.prevOfTxn == 0 {
		s.txns[w.txn].writes = w.nextOfTxn
	} else {
		s.writes[w.prevOfTxn].nextOfTxn = w.nextOfTxn
	}
	if w.nextOfTxn != 0 {
		s.writes[w.nextOfTxn].prevOfTxn = w.prevOfTxn
	}
}

// dropIfUnused frees a version that nobody wrote or read any more. A value from before watching that
// somebody read stays until somebody replaces it.
func (s *registers) dropIfUnused(v uint32) {
	x := &s.versions[v]
	if x.key == 0 || x.readers != 0 || x.writes != 0 || x.due > 0 || x.flags&(baseline|seen) == baseline|seen ||
		x.flags&(initialVersion|nothing|placed|inUnplaced|lateReaders) != 0 || x.over != 0 {
		s.supersede(v)
		s.keep(v)
		return
	}
	s.freeVersionNow(v)
}
