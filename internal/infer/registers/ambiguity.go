package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// AwaitAgain asks again who wrote v, for its readers: an aborted writer has come, or a possible
// one has gone.
func (s *Registers) AwaitAgain(v uint32) {
	x := &s.Versions[v]
	if x.Possible > 0 || x.Flags&(ledger.InitialVersion|ledger.Nothing) != 0 {
		return
	}
	r := x.Readers
	for r != x.Oldest && s.ReadsAnything != nil && s.ReadsAnything(s.Readers[r].Txn) {
		r = s.Readers[r].Older
	}
	if r != 0 {
		s.Await(v, s.Readers[r].Txn, s.Readers[r].Op)
	} else if w := x.Witness; w != 0 && s.Txns[w].State == ledger.Counted {
		s.Await(v, w, 0)
	}
}

// PossibleWriter takes in that the transaction n, which did not abort, wrote v. If another writer is
// known, or has left memory, v becomes ambiguous.
func (s *Registers) PossibleWriter(v, n uint32) {
	x := &s.Versions[v]
	x.Possible++
	if x.Flags&ledger.Nothing != 0 {
		s.Out.Left = append(s.Out.Left, ledger.Left{Value: s.KeyOfValue(v), By: n})
		return
	}
	s.Supplied(v)
	if s.Opt.Observed {
		s.NoteValue(v)
	}
	if x.Possible > 1 && s.Opt.Observed && s.Keys[x.Key].Kind == event.List {
		s.Signs.Patterns.Get(s.Keys[x.Key].Pattern).Shared = true // clients append again: see window/waiting.go
	}
	if x.Possible > 1 || s.Values.Has(s.KeyOfValue(v)) {
		s.Out.Ambiguous = append(s.Out.Ambiguous, s.KeyOfValue(v))
		for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
			w := s.Writes[id].Txn
			if x.Flags&ledger.Ambiguous != 0 && x.Possible > 2 && w != n {
				break // the others were looked at when the second one came
			}
			if s.Txns[w].State == ledger.Counted && s.Txns[w].Flags&ledger.Unknown != 0 {
				s.Demote = append(s.Demote, w)
			}
		}
		s.SecondWriter(v, n)
		s.noteTwice(v, n)
		before := s.Counters.Ambiguous + s.Counters.Repeated
		if x.Flags&ledger.Ambiguous != 0 && s.Searchable(v) { // what rests on the writers that were known is void
			s.Out.Kills = append(s.Out.Kills, ledger.Kill{Version: v})
		}
		s.MakeAmbiguous(v)
		if s.Opt.Existing && x.Possible == 1 && !s.Searchable(v) && s.Counters.Ambiguous+s.Counters.Repeated == before {
			s.Counters.Ambiguous++ // a reader may have taken it for the value from before watching
		}
		return
	}
	if s.Txns[n].State == ledger.Tentative && s.WasObserved(v) {
		s.Promote = append(s.Promote, n)
	}
}

// noteTwice notes who else wrote the value that n has written.
func (s *Registers) noteTwice(v, n uint32) {
	t := ledger.Twice{Version: v, Second: n}
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; w != n && s.Txns[w].State != ledger.Aborted {
			t.First = w
			break
		}
	}
	s.Out.Twice = append(s.Out.Twice, t)
}

// WasObserved says whether a transaction that counts saw v.
func (s *Registers) WasObserved(v uint32) bool {
	x := &s.Versions[v]
	return x.Readers != 0 || x.Flags&(ledger.LateReaders|ledger.Placed|ledger.Seen) != 0
}

// ObservedSome says whether a version that only n can have written was seen.
func (s *Registers) ObservedSome(n uint32) bool {
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		v := s.Writes[id].Version
		if s.Versions[v].Flags&ledger.Ambiguous == 0 && s.Versions[v].Possible == 1 && s.WasObserved(v) {
			return true
		}
	}
	return false
}

// MakeAmbiguous takes back what was concluded from v having one writer. That a register's v was read
// does not show any more that this writer took effect.
func (s *Registers) MakeAmbiguous(v uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.Ambiguous != 0 {
		return
	}
	s.Mark(v, ledger.Ambiguous, 0)
	if s.WasObserved(v) || s.Keys[x.Key].Kind == event.List {
		s.CountAmbiguous(v)
	}
	w := x.Writer
	x.Writer = 0
	if s.Keys[x.Key].Kind == event.List {
		if w != 0 {
			s.Above.List.Dispute(v, w)
		}
		return
	}
	if w != 0 && s.Txns[w].Flags&ledger.Unknown != 0 {
		s.Demote = append(s.Demote, w)
	}
	if x.Flags&ledger.Tombstone != 0 {
		s.DeletedRow(x.Key, 0)
	}
	if s.IsOrdered(v) {
		if w != 0 {
			s.BridgeOrdered(v, w)
		}
		s.ForgetPlaceOfReaders(v)
		if !s.Numeric(x.Key) {
			s.losePlace(v)
		}
	}
	if s.Opt.Ordered && s.Opt.Partly() {
		defer s.OrderAgain(x.Key)
	}
	if !s.Opt.Whole && s.Searchable(v) {
		s.Unorder(x.Key) // what freezes from here on is run: see package window
	}
	s.Kill(v, w, ledger.WR|ledger.WW|ledger.OtherRow|ledger.Reread) // who read v may have read from another; WW alone: see package window, viewsOf
	for id := x.Over; id != 0; id = s.Writes[id].NextOver {
		s.KillOrder(s.Writes[id].Version, s.Writes[id].Txn)
	}
	s.uproot(v)
}

// losePlace takes v, which several may have written, out of the order of commit timestamps. It stood
// where one of its writers did. The places of the others are not kept, and only a trial of orders finds them.
func (s *Registers) losePlace(v uint32) {
	s.UnlinkOrdered(v)
	s.Uncheckable(s.Versions[v].Key)
}

// LoseWriter takes v from its writer n; a list's element stays where reads showed
// it.
func (s *Registers) LoseWriter(v, n uint32) {
	x := &s.Versions[v]
	if x.Writer != n {
		return
	}
	x.Writer = 0
	if s.Keys[x.Key].Kind == event.List {
		s.Above.List.Unsettle(v)
	} else if s.IsOrdered(v) {
		s.BridgeOrdered(v, n)
	}
}

// Disambiguate concludes again about v after one of its possible writers turned out not to have written
// it. If a writer that has left memory may have written v too, v stays ambiguous. It also stays so
// where the values of the pattern repeat, since later writers are not known.
func (s *Registers) Disambiguate(v uint32) {
	x := &s.Versions[v]
	if x.Flags&(ledger.Ambiguous|ledger.Nothing) != ledger.Ambiguous || x.Possible != 1 || s.Keys[x.Key].Flags&ledger.Repeats != 0 || s.Values.Has(s.KeyOfValue(v)) {
		return
	}
	s.Mark(v, 0, ledger.Ambiguous)
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		n := s.Writes[id].Txn
		switch s.Txns[n].State {
		case ledger.Tentative:
			if s.glimpsedBy(v, n) || s.Writes[id].Unread || s.TriedBefore(v, n) || s.AppendedBefore(v, n) { // n read the value before it wrote it, or the value may have been there
				s.Mark(v, ledger.Ambiguous, 0)
				return
			}
			if s.WasObserved(v) {
				s.replaceAgain(v, n)
				s.Promote = append(s.Promote, n)
			}
			return
		case ledger.Counted:
			if s.AppendedBefore(v, n) {
				s.Mark(v, ledger.Ambiguous, 0)
				return
			}
			if s.Keys[x.Key].Kind == event.List {
				s.Above.List.Settle(v, id, n, false)
				return
			}
			if s.sawOwnWrite(v, n) {
				return
			}
			s.replaceAgain(v, n)
			s.settleRegister(v, n)
			return
		}
	}
}

// sawOwnWrite says whether n, the only possible writer of v that is left, read it before
// writing it. As when n came (Install), v is ambiguous, and n's read is asked again.
func (s *Registers) sawOwnWrite(v, n uint32) (saw bool) {
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		if x := &s.Readers[r]; x.Txn == n {
			s.Mark(v, ledger.Ambiguous, 0)
			s.SuspectFuture(v, n, x.Op)
			saw = true
		}
	}
	return saw
}

// replaceAgain is called when n is known as the writer of v. The readers of v come before the
// transactions that replaced it. Their own writes replace v.
func (s *Registers) replaceAgain(v, n uint32) {
	x := &s.Versions[v]
	if s.Keys[x.Key].Kind == event.List {
		return
	}
	for o := x.Over; o != 0; o = s.Writes[o].NextOver {
		for r := x.Readers; r != 0; r = s.OlderReader(r) {
			if !s.Readers[r].Saw() {
				continue
			}
			s.GiveEdge(s.Readers[r].Txn, s.Writes[o].Txn, ledger.RW, s.Writes[o].Version, 0)
		}
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if t := s.Readers[r].Txn; t != n && !s.Readers[r].Reread {
			s.overwriteAfter(v, t)
		}
	}
}

// uproot makes the writes that replaced v blind, since v does not name one version any more.
func (s *Registers) uproot(v uint32) {
	if !s.Searchable(v) {
		return
	}
	initial := s.Keys[s.Versions[v].Key].Initial
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		s.Readers[r].Overwrote = false
	}
	for id := s.Versions[v].Over; id != 0; id = s.Versions[v].Over {
		s.WithdrawOverwrite(id)
		s.overwrite(id, initial, true)
		if s.Txns[s.Writes[id].Txn].Flags&ledger.Retired != 0 && s.Keys[s.Versions[v].Key].Flags&ledger.Emptied == 0 {
			s.RetireWrite(id)
		}
	}
}
