package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// triedBefore says whether n, which is not known to have committed, may try again what another one
// tried before the first record. Then a reader of v, which n wrote, may have read from the first
// attempt. So the read does not show that n took effect. A version shows it. Elements of lists and sets
// have no version, whatever the contract says of registers. Under a partial capture findings about n
// are not certain: TookEffect.
func (s *absences) triedBefore(v, n uint32) bool {
	k := &s.keys[s.versions[v].key]
	return s.opt.Existing && s.opt.plain() && !k.tellsVersions() && s.txns[n].start <= s.baselineEnds
}

// tellsVersions says whether operations tell the versions of the key.
func (k *key) tellsVersions() bool {
	return k.flags&versioned != 0 && k.kind != event.List && k.flags&element == 0
}

// promoteNow counts an unknown transaction that was observed, with all its
// operations.
func (s *State) promoteNow(n uint32) {
	if s.txns[n].state != tentative || !s.observedSome(n) {
		return
	}
	s.scratch.Reset()
	x := &s.txns[n]
	if err := s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(x.record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	t := &s.scratch.Txns[0]
	s.planFrom, s.planTo = 0, 0
	s.forgetWrites(n)
	s.txns[n].state = counted
	s.count(&s.scratch, t, n)
}

// settleOutcomes takes the observation of unknown outcomes to a fixpoint.
func (s *State) settleOutcomes() {
	for len(s.promote)+len(s.demote) > 0 {
		if len(s.demote) > 0 {
			n := s.demote[0]
			s.demote = append(s.demote[:0], s.demote[1:]...)
			s.demoteNow(n)
			continue
		}
		n := s.promote[0]
		s.promote = append(s.promote[:0], s.promote[1:]...)
		s.promoteNow(n)
	}
}

// demoteNow makes an unknown transaction tentative again: what it was observed by may have been written
// by another. It counts again at once if another value of it was observed.
func (s *State) demoteNow(n uint32) {
	x := &s.txns[n]
	if x.state != counted || x.flags&retired != 0 || s.observedSome(n) {
		return
	}
	s.scratch.Reset()
	if err := s.decoder.DecodeRecord(&s.scratch, event.Position{}, s.records.get(x.record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	s.uncount(n, false)
	s.txns[n].state = tentative
	s.expiry.push(s.txns[n].end, n, s.txns[n].gen, 0, 0, 0)
	s.noteWrites(&s.scratch, &s.scratch.Txns[0], n)
}

// uncount takes n, which counts, out of the history, with all conclusions from its operations. same
// says that a record with the same operations takes its place.
func (s *State) uncount(n uint32, same bool) {
	s.dropScans(n)
	s.reads.forget(&s.txns[n])
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.unsettle(s.writes[id].version, n)
	}
	for id := s.txns[n].reads; id != 0; {
		next, v := s.readers[id].nextOfTxn, s.readers[id].version
		s.reads.Total--
		s.reads.Open[s.readers[id].why(s.versions[v].open)]--
		s.dropReader(id)
		if s.versions[v].flags&accused != 0 { // perhaps by n
			s.unaccused = append(s.unaccused, v)
		}
		if k := s.versions[v].key; same {
			s.reshown = append(s.reshown, k)
		} else {
			s.unplace(k, n)
		}
		if w := s.versions[v].writer; w != 0 && s.txns[w].flags&unknown != 0 && !s.observed(v) {
			s.demote = append(s.demote, w)
		}
		id = next
	}
	s.txns[n].reads = 0
	s.leaveSession(n)
	if s.opt.Ordered && s.opt.partly() {
		s.leaveKeys(n, true)
	}
	if s.txns[n].placeless() {
		s.Counters.Sessionless--
	}
	s.parted = s.parted[:0]
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.part(id)
	}
	s.forgetWrites(n)
	s.out.Gone, s.out.GoneIDs = append(s.out.Gone, n), append(s.out.GoneIDs, s.txns[n].id.Lo)
	s.out.Nodes = slices.DeleteFunc(s.out.Nodes, func(m uint32) bool { return m == n })
	s.out.Edges = slices.DeleteFunc(s.out.Edges, func(e Edge) bool { return e.From == n || e.To == n || e.Witness == n })
	for i := range s.out.Anomalies {
		if a := &s.out.Anomalies[i]; a.Kind == Internal && a.B == n {
			a.B = 0 // A contradicts its own operations: that stands without B
		}
	}
	s.out.Anomalies = slices.DeleteFunc(s.out.Anomalies, func(a Anomaly) bool { return a.A == n || a.B == n })
	for _, id := range s.parted {
		s.diverge(id, s.diverging(id))
	}
}

// forgetWrites unlinks and frees the write records of n.
func (s *State) forgetWrites(n uint32) {
	for id := s.txns[n].writes; id != 0; {
		next := s.writes[id].nextOfTxn
		s.dropWrite(id)
		id = next
	}
	s.txns[n].writes = 0
}

// dropWrite unlinks a write record from its version and frees it; the list of
// the transaction is the caller's.
func (s *registers) dropWrite(id uint32) {
	s.withdrawOverwrite(id)
	w := s.writes[id]
	v := &s.versions[w.version]
	if w.prevOfVer == 0 {
		v.writes = w.nextOfVer
	} else {
		s.writes[w.prevOfVer].nextOfVer = w.nextOfVer
	}
	if w.nextOfVer != 0 {
		s.writes[w.nextOfVer].prevOfVer = w.prevOfVer
	}
	if s.txns[w.txn].state != aborted {
		v.possible--
	}
	if v.writer == w.txn {
		v.writer = 0
	}
	s.txns[w.txn].pins--
	s.writes[id] = write{}
	s.free.writes.Give(id)
}

// remove takes a record back, because a later one with its id replaces it. same says that the
// later one has the same operations.
func (s *State) remove(n uint32, same bool) {
	s.reopened = s.reopened[:0]
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		s.reopened = append(s.reopened, s.writes[id].version)
	}
	if s.txns[n].state == counted {
		s.uncount(n, same)
	} else {
		s.forgetWrites(n)
	}
	for _, v := range s.reopened {
		s.disown(v)
		if !same { // else it has several writers again when the record has come
			s.disambiguate(v)
		}
		s.awaitAgain(v)
		s.unwritten(v)
	}
	x := &s.txns[n]
	if x.flags&retired == 0 {
		s.leave(n)
	}
	if x.flags&stored != 0 {
		s.bury(x)
		x.flags &^= stored
	}
	s.byID.remove(x.id.Lo, n)
	// The number stays taken until nothing names it: an entry of a queue, a finding. Its id is free for
	// the new record.
	x.id = event.Hash{}
	x.flags |= retired
	x.state = free
	s.release(n)
}
