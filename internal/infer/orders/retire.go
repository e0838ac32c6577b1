package orders

import "github.com/isowatch/isowatch/internal/infer/ledger"

// Gone says whether every possible writer of v has retired.
func (s *Orders) Gone(v uint32) bool {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if s.Txns[s.Writes[id].Txn].Flags&ledger.Retired == 0 {
			return false
		}
	}
	return true
}

// Drop forgets the register version v. The filter remembers that the version existed.
func (s *Orders) Drop(v uint32) {
	x := &s.Versions[v]
	if x.Key == 0 || x.Flags&(ledger.InitialVersion|ledger.Nothing) != 0 {
		return
	}
	if x.Readers != 0 || x.Due > 0 || x.Flags&ledger.LateReaders != 0 || !s.Gone(v) {
		return
	}
	s.Values.Add(s.KeyOfValue(v))
	if x.Flags&ledger.Ambiguous != 0 {
		s.Twice.Add(s.KeyOfValue(v))
	}
	s.FreeVersionNow(v)
}

// FreeVersionNow frees v and its write records.
func (s *Orders) FreeVersionNow(v uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.Kept != 0 {
		s.Unkeep(v)
	}
	s.Keys[x.Key].Count--
	if s.IsOrdered(v) {
		s.leaveOrder(v)
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		s.leavePartly(v)
	}
	if s.Keys[x.Key].LastBlind == v {
		s.Keys[x.Key].LastBlind = 0
	}
	for id := x.Over; id != 0; {
		next := s.Writes[id].NextOver
		w := &s.Writes[id]
		w.Pred, w.NextOver, w.PrevOver = 0, 0, 0
		id = next
	}
	for id := x.Writes; id != 0; {
		next := s.Writes[id].NextOfVer
		if p := s.Writes[id].Pred; p != 0 {
			s.Versions[p].Flags |= ledger.Overwritten
			if s.Keys[x.Key].Flags&ledger.Unordered != 0 {
				s.Versions[p].Flags |= ledger.OverwrittenSince
			}
		}
		s.WithdrawOverwrite(id)
		s.UnlinkFromTxn(id)
		t := s.Writes[id].Txn
		s.Txns[t].Pins--
		s.Writes[id] = ledger.Write{}
		s.Free.Writes.Give(id)
		s.Release(t)
		id = next
	}
	witness := x.Witness
	s.ByVersion.Remove(ledger.VersionHash(x.Key, x.Hash), v)
	*x = ledger.Version{}
	s.Free.Versions.Give(v)
	s.Freed++
	s.Unpin(witness)
}

// UnlinkFromTxn takes the write record id out of its transaction's list.
func (s *Orders) UnlinkFromTxn(id uint32) {
	w := &s.Writes[id]
	if w.PrevOfTxn == 0 {
		s.Txns[w.Txn].Writes = w.NextOfTxn
	} else {
		s.Writes[w.PrevOfTxn].NextOfTxn = w.NextOfTxn
	}
	if w.NextOfTxn != 0 {
		s.Writes[w.NextOfTxn].PrevOfTxn = w.PrevOfTxn
	}
}

// Unkeep takes v out of its key's chain of kept versions: see KeepVersion in package registers.
func (s *Orders) Unkeep(v uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.Chained == 0 {
		*s.KeptHead(x.Key) = 0
		x.Flags &^= ledger.Kept
		return
	}
	if x.SibPrev != 0 {
		s.Versions[x.SibPrev].Sibling = x.Sibling
	} else {
		*s.KeptHead(x.Key) = x.Sibling
	}
	if x.Sibling != 0 {
		s.Versions[x.Sibling].SibPrev = x.SibPrev
	}
	x.Sibling, x.SibPrev = 0, 0
	x.Flags &^= ledger.Kept | ledger.Chained
}
