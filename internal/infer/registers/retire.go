package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// maxLate bounds the versions that are kept only because a retired transaction
// read them and their writer is missing.
const maxLate = 1 << 16

// KeepLate keeps v for a writer that may still come.
func (s *Registers) KeepLate(v uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.LateReaders != 0 {
		return
	}
	x.Flags |= ledger.LateReaders
	s.Late = append(s.Late, v)
	if len(s.Late) > maxLate {
		old := s.Late[0]
		s.Late = append(s.Late[:0], s.Late[1:]...)
		s.Versions[old].Flags &^= ledger.LateReaders
		s.DropIfUnused(old)
	}
}

// RetireWrite takes in that the writer of the write record id has retired: versions that nothing needs may go.
func (s *Registers) RetireWrite(id uint32) {
	w := s.Writes[id]
	v := w.Version
	x := &s.Versions[v]
	k := &s.Keys[x.Key]
	if k.Kind == event.List {
		s.Above.List.Freeze(x.Key)
		s.KeepVersion(v)
		return
	}
	if x.Flags&ledger.Nothing != 0 {
		s.retireDelete(id)
		return
	}
	if w.Intermediate || x.Flags&ledger.Ambiguous != 0 {
		s.Drop(v)
		s.KeepVersion(v)
		return
	}
	p := w.Pred
	s.Supersede(v)
	if p != 0 {
		s.Supersede(p)
	}
	if x := &s.Versions[v]; x.Key != 0 && s.Keys[x.Key].Flags&ledger.Emptied != 0 {
		s.leftBefore(x.Key, w.Txn)
	} else if x.Key != 0 && w.Blind && k.Flags&(ledger.Uncheckable|ledger.Unordered) != 0 && x.Over == 0 {
		if old := k.LastBlind; old != 0 && old != v {
			switch u := s.Versions[old].Writer; {
			case u == 0:
			case s.EndedBefore(w.Txn, u): // its outcome came late: the value of u is the current one
				old, v = v, old
			case !s.EndedBefore(u, w.Txn):
				s.Twice.Add(s.KeyOfValue(old)) // nobody knows which of the two came last: a later read of it is of no old state
			}
			s.Drop(old)
		}
		k.LastBlind = v
	}
	s.KeepVersion(v)
}

// Supersede drops v when it and an overwriter have retired and no live transaction read it. A
// later read of it is of a version older than the current one.
func (s *Registers) Supersede(v uint32) {
	x := &s.Versions[v]
	if x.Key == 0 || x.Readers != 0 || x.Due > 0 {
		return
	}
	if s.IsOrdered(v) {
		s.SupersedeInOrder(v)
		return
	}
	if x.Over == 0 && x.Flags&(ledger.Placed|ledger.InUnplaced) == 0 {
		if x.Flags&ledger.Old != 0 && s.Keys[x.Key].Flags&ledger.Emptied != 0 {
			s.Drop(v)
		}
		return // of a register, and current
	}
	if s.Keys[x.Key].Kind == event.List {
		s.Above.List.Freeze(x.Key)
		return
	}
	if x.Flags&ledger.InitialVersion != 0 || !s.Gone(v) {
		return
	}
	for id := x.Over; id != 0; id = s.Writes[id].NextOver {
		if s.Txns[s.Writes[id].Txn].Flags&ledger.Retired != 0 {
			s.Drop(v)
			return
		}
	}
}

// DropIfUnused frees a version that nobody wrote or read any more. A value from before watching that
// somebody read stays until somebody replaces it.
func (s *Registers) DropIfUnused(v uint32) {
	x := &s.Versions[v]
	if x.Key == 0 || x.Readers != 0 || x.Writes != 0 || x.Due > 0 || x.Flags&(ledger.Baseline|ledger.Seen) == ledger.Baseline|ledger.Seen ||
		x.Flags&(ledger.InitialVersion|ledger.Nothing|ledger.Placed|ledger.InUnplaced|ledger.LateReaders) != 0 || x.Over != 0 {
		s.Supersede(v)
		s.KeepVersion(v)
		return
	}
	s.FreeVersionNow(v)
}

// DropWrite unlinks a write record from its version and frees it; the list of
// the transaction is the caller's.
func (s *Registers) DropWrite(id uint32) {
	s.WithdrawOverwrite(id)
	w := s.Writes[id]
	v := &s.Versions[w.Version]
	if w.PrevOfVer == 0 {
		v.Writes = w.NextOfVer
	} else {
		s.Writes[w.PrevOfVer].NextOfVer = w.NextOfVer
	}
	if w.NextOfVer != 0 {
		s.Writes[w.NextOfVer].PrevOfVer = w.PrevOfVer
	}
	if s.Txns[w.Txn].State != ledger.Aborted {
		v.Possible--
	}
	if v.Writer == w.Txn {
		v.Writer = 0
	}
	s.Txns[w.Txn].Pins--
	s.Writes[id] = ledger.Write{}
	s.Free.Writes.Give(id)
}
