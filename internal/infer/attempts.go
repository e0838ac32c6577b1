package infer

import "github.com/isowatch/isowatch/event"

// Clients try again what was refused or got no answer. The second attempt appends the same element.
// Where the first one has no record, the element seems to have one writer, and may have been in the
// list before that began. The contract leaves this open under a partial capture, and where watching
// began midway (docs/semantics.md, section 2). Cause precedes effect: who was over when the append
// began did not read it. Then the element names no append.

// attemptOpen says whether the contract leaves that r, or whoever ran before, read the element v of an
// append without a record.
func (s *absences) attemptOpen(v, r uint32) bool {
	if !s.opt.Complete {
		return true
	}
	return s.opt.Existing && s.mayBeBaseline(due{txn: r, version: v})
}

// appendedBefore says whether n appends the element v again. n is known to be a second attempt. Or
// somebody had read v before n began, and the contract allows for that. A read of a later element shows
// v too. O(readers behind v).
func (s *absences) appendedBefore(v, n uint32) bool {
	x := &s.versions[v]
	if k := &s.keys[x.key]; s.txns[n].flags&again != 0 && k.flags&repeats == 0 && !k.tellsVersions() {
		return true
	}
	if s.opt.Complete && !s.opt.Existing || s.keys[x.key].kind != event.List || x.flags&placed == 0 {
		return false
	}
	if x.flags&twofold != 0 && s.againOpen(v, n) {
		return true
	}
	if w := x.witness; w != 0 && s.beganBehind(n, w) && s.attemptOpen(v, w) {
		return true
	}
	for u := v; u != 0; u = s.versions[u].next {
		for r := s.versions[u].readers; r != 0; r = s.olderReader(r) {
			if t := s.readers[r].txn; s.beganBehind(n, t) && s.attemptOpen(v, t) {
				return true
			}
		}
	}
	return false
}

// triesAgain takes in that n is a second attempt, and that the first attempt has no record. Then no
// value that n wrote names its writer. If the outcome of n is unknown, n counts on while other
// transactions show that it took effect. O(writes of n).
func (s *registers) triesAgain(n uint32) {
	if s.txns[n].flags&again != 0 {
		return
	}
	s.txns[n].flags |= again
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		v := s.writes[id].version
		if k := &s.keys[s.versions[v].key]; k.kind == event.List || s.opt.Observed && k.kind <= event.Register && k.flags&(versioned|repeats) == 0 {
			s.makeAmbiguous(v)
		}
	}
	if t := &s.txns[n]; t.state == counted && t.flags&unknown != 0 {
		s.demote = append(s.demote, n)
	}
}

// noteBegin takes in when n began.
func (s *absences) noteBegin(n uint32) {
	if t := &s.txns[n]; t.flags&hasTimes != 0 {
		s.signs.begun = max(s.signs.begun, t.start)
	}
}

// readTooEarly is about n's read of a list up to the element a. It makes the elements ambiguous whose
// one writer began after n had ended. O(elements of the list in memory). O(1) if no known transaction
// has begun after n's end.
func (s *registers) readTooEarly(a, n uint32) {
	if t := &s.txns[n]; s.opt.Complete && !s.opt.Existing || t.flags&hasTimes != 0 && t.end >= s.signs.begun {
		return
	}
	for ; a != 0; a = s.versions[a].prev {
		x := &s.versions[a]
		if x.possible != 1 || x.flags&ambiguous != 0 {
			continue
		}
		for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
			if w := s.writes[id].txn; s.txns[w].state != aborted && s.beganBehind(w, n) && s.attemptOpen(a, n) {
				s.triesAgain(w)
				break
			}
		}
	}
}

// attemptBefore is about an element that d's reader shows twice, and that has one append. It says
// whether a first attempt may have appended the element before watching began.
func (s *absences) attemptBefore(d due) bool {
	if !s.opt.Existing {
		return false
	}
	for id := s.versions[d.version].writes; id != 0; id = s.writes[id].nextOfVer {
		if w := &s.txns[s.writes[id].txn]; w.state != aborted && w.start <= s.baselineEnds {
			return true
		}
	}
	return s.mayBeBaseline(d)
}

// againOpen says whether the contract leaves that an append without a record put the element v into the
// list too, beside w's.
func (s *absences) againOpen(v, w uint32) bool {
	x := &s.versions[v]
	return s.attemptOpen(v, w) || s.txns[x.witness].start <= s.baselineEnds && s.attemptOpen(v, x.witness)
}

// appendedEarly says whether the known writer of v began while transactions from before watching may have been
// ending.
func (s *absences) appendedEarly(v uint32) bool {
	w := s.versions[v].writer
	return w != 0 && s.txns[w].start <= s.baselineEnds
}

// mayTryAgain says whether the contract leaves that a first attempt of n has no record.
func (s *absences) mayTryAgain(n uint32) bool {
	return !s.opt.Complete || s.opt.Existing && s.txns[n].start <= s.baselineEnds
}
