package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// promoteNow counts an unknown transaction that was observed, with all its
// operations.
func (s *State) promoteNow(n uint32) {
	if s.Txns[n].State != ledger.Tentative || !s.ObservedSome(n) {
		return
	}
	s.Scratch.Reset()
	x := &s.Txns[n]
	if err := s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(x.Record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	t := &s.Scratch.Txns[0]
	s.PlanFrom, s.PlanTo = 0, 0
	s.forgetWrites(n)
	s.Txns[n].State = ledger.Counted
	s.count(&s.Scratch, t, n)
}

// settleOutcomes takes the observation of unknown outcomes to a fixpoint.
func (s *State) settleOutcomes() {
	for len(s.Promote)+len(s.Demote) > 0 {
		if len(s.Demote) > 0 {
			n := s.Demote[0]
			s.Demote = append(s.Demote[:0], s.Demote[1:]...)
			s.demoteNow(n)
			continue
		}
		n := s.Promote[0]
		s.Promote = append(s.Promote[:0], s.Promote[1:]...)
		s.promoteNow(n)
	}
}

// demoteNow makes an unknown transaction tentative again: what it was observed by may have been written
// by another. It counts again at once if another value of it was observed.
func (s *State) demoteNow(n uint32) {
	x := &s.Txns[n]
	if x.State != ledger.Counted || x.Flags&ledger.Retired != 0 || s.ObservedSome(n) {
		return
	}
	s.Scratch.Reset()
	if err := s.Decoder.DecodeRecord(&s.Scratch, event.Position{}, s.Records.Get(x.Record)); err != nil {
		return // not possible: the record was written by AppendRecord
	}
	s.uncount(n, false)
	s.Txns[n].State = ledger.Tentative
	s.expiry.Push(s.Txns[n].End, n, s.Txns[n].Gen, 0, 0, 0)
	s.noteWrites(&s.Scratch, &s.Scratch.Txns[0], n)
}

// uncount takes n, which counts, out of the history, with all conclusions from its operations. same
// says that a record with the same operations takes its place.
func (s *State) uncount(n uint32, same bool) {
	s.DropScans(n)
	s.ReadCounts.Forget(&s.Txns[n])
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		s.LoseWriter(s.Writes[id].Version, n)
	}
	for id := s.Txns[n].Reads; id != 0; {
		next, v := s.Readers[id].NextOfTxn, s.Readers[id].Version
		s.ReadCounts.Total--
		s.ReadCounts.Open[s.Readers[id].Why(s.Versions[v].Open)]--
		s.DropReader(id)
		if s.Versions[v].Flags&ledger.Accused != 0 { // perhaps by n
			s.unaccused = append(s.unaccused, v)
		}
		if k := s.Versions[v].Key; same {
			s.reshown = append(s.reshown, k)
		} else {
			s.Unplace(k, n)
		}
		if w := s.Versions[v].Writer; w != 0 && s.Txns[w].Flags&ledger.Unknown != 0 && !s.WasObserved(v) {
			s.Demote = append(s.Demote, w)
		}
		id = next
	}
	s.Txns[n].Reads = 0
	s.LeaveSession(n)
	if s.Opt.Ordered && s.Opt.Partly() {
		s.LeaveKeys(n, true)
	}
	if s.Txns[n].Placeless() {
		s.Counters.Sessionless--
	}
	s.Parted = s.Parted[:0]
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		s.Part(id)
	}
	s.forgetWrites(n)
	s.Out.Gone, s.Out.GoneIDs = append(s.Out.Gone, n), append(s.Out.GoneIDs, s.Txns[n].Id.Lo)
	s.Out.Nodes = slices.DeleteFunc(s.Out.Nodes, func(m uint32) bool { return m == n })
	s.Out.Edges = slices.DeleteFunc(s.Out.Edges, func(e ledger.Edge) bool { return e.From == n || e.To == n || e.Witness == n })
	for i := range s.Out.Anomalies {
		if a := &s.Out.Anomalies[i]; a.Kind == ledger.Internal && a.B == n {
			a.B = 0 // A contradicts its own operations: that stands without B
		}
	}
	s.Out.Anomalies = slices.DeleteFunc(s.Out.Anomalies, func(a ledger.Anomaly) bool { return a.A == n || a.B == n })
	for _, id := range s.Parted {
		s.Diverge(id, s.Diverging(id))
	}
}

// forgetWrites unlinks and frees the write records of n.
func (s *State) forgetWrites(n uint32) {
	for id := s.Txns[n].Writes; id != 0; {
		next := s.Writes[id].NextOfTxn
		s.DropWrite(id)
		id = next
	}
	s.Txns[n].Writes = 0
}

// remove takes a record back, because a later one with its id replaces it. same says that the
// later one has the same operations.
func (s *State) remove(n uint32, same bool) {
	s.reopened = s.reopened[:0]
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		s.reopened = append(s.reopened, s.Writes[id].Version)
	}
	if s.Txns[n].State == ledger.Counted {
		s.uncount(n, same)
	} else {
		s.forgetWrites(n)
	}
	for _, v := range s.reopened {
		s.Disown(v)
		if !same { // else it has several writers again when the record has come
			s.Disambiguate(v)
		}
		s.AwaitAgain(v)
		s.CountUnwritten(v)
	}
	x := &s.Txns[n]
	if x.Flags&ledger.Retired == 0 {
		s.leave(n)
	}
	if x.Flags&ledger.Stored != 0 {
		s.Bury(x)
		x.Flags &^= ledger.Stored
	}
	s.ByID.Remove(x.Id.Lo, n)
	// The number stays taken until nothing names it: an entry of a queue, a finding. Its id is free for
	// the new record.
	x.Id = event.Hash{}
	x.Flags |= ledger.Retired
	x.State = ledger.Free
	s.Release(n)
}
