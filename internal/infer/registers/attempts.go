package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// TriesAgain takes in that n is a second attempt, and that the first attempt has no record. Then no
// value that n wrote names its writer. If the outcome of n is unknown, n counts on while other
// transactions show that it took effect. O(writes of n).
func (s *Registers) TriesAgain(n uint32) {
	if s.Txns[n].Flags&ledger.Again != 0 {
		return
	}
	s.Txns[n].Flags |= ledger.Again
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		v := s.Writes[id].Version
		if k := &s.Keys[s.Versions[v].Key]; k.Kind == event.List || s.Opt.Observed && k.Kind <= event.Register && k.Flags&(ledger.Versioned|ledger.Repeats) == 0 {
			s.MakeAmbiguous(v)
		}
	}
	if t := &s.Txns[n]; t.State == ledger.Counted && t.Flags&ledger.Unknown != 0 {
		s.Demote = append(s.Demote, n)
	}
}

// ReadTooEarly is about n's read of a list up to the element a. It makes the elements ambiguous whose
// one writer began after n had ended. O(elements of the list in memory). O(1) if no known transaction
// has begun after n's end.
func (s *Registers) ReadTooEarly(a, n uint32) {
	if t := &s.Txns[n]; s.Opt.Complete && !s.Opt.Existing || t.Flags&ledger.HasTimes != 0 && t.End >= s.Signs.Begun {
		return
	}
	for ; a != 0; a = s.Versions[a].Prev {
		x := &s.Versions[a]
		if x.Possible != 1 || x.Flags&ledger.Ambiguous != 0 {
			continue
		}
		for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
			if w := s.Writes[id].Txn; s.Txns[w].State != ledger.Aborted && s.BeganBehind(w, n) && s.AttemptOpen(a, n) {
				s.TriesAgain(w)
				break
			}
		}
	}
}
