package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Decide answers the questions that Undecided speaks of, and gives to out what follows.
func (s *Registers) Decide(now, gone int64, out *ledger.Out) {
	s.Begin(out)
	for limit := s.PatientLimit(now, gone); ; {
		var d ledger.Due
		switch p := s.Patient.Before(limit); {
		case s.Absence.Before(now) && !(p && s.Patient.Heap[0].At+s.Patience() < s.Absence.Heap[0].At):
			d = s.Absence.Pop()
		case p:
			d = s.Patient.Pop()
		default:
			return
		}
		t := &s.Txns[d.Txn]
		t.Due--
		if d.Kind == ledger.MissingSeq {
			s.Sessions[t.Session].Refs--
		}
		if d.Version != 0 {
			s.Versions[d.Version].Due--
		}
		if t.State == ledger.Counted || d.Kind == ledger.MissingSeq && t.Id != (event.Hash{}) {
			s.decide(d)
		}
		s.Release(d.Txn)
		if d.Version != 0 {
			s.DropIfUnused(d.Version)
		}
	}
}

func (s *Registers) decide(d ledger.Due) {
	x := &s.Versions[d.Version]
	if d.Version != 0 && s.Keys[x.Key].Flags&(ledger.Unsupported|ledger.Repeats) != 0 {
		return // nothing is concluded about the key any more, and it is counted
	}
	if x.Writes != 0 && x.Flags&ledger.Ambiguous != 0 && s.Keys[x.Key].Flags&(ledger.Versioned|ledger.PlainBefore) == ledger.Versioned|ledger.PlainBefore {
		s.Counters.Ambiguous++ // who told the version of the same value may have left it: see ToldLater
		return
	}
	switch d.Kind {
	case ledger.MissingSeq:
		s.DecideSeq(d.Txn)
	case ledger.ShownTwice, ledger.StillShownTwice:
		if x.Possible == 1 {
			s.Accuse(d, ledger.DuplicateElements, s.Certain() && !s.AttemptBefore(d))
		} else if x.Possible == 0 && d.Kind == ledger.ShownTwice && s.Patience() > 0 {
			s.AskPatiently(d, ledger.StillShownTwice) // for the append's record to come at all
		} else if x.Possible == 0 {
			s.KeepLate(d.Version) // if the append comes all the same, a horizon finding tells it
		}
	case ledger.OwnFuture:
		if x.Possible == 1 && x.Flags&ledger.WasThere == 0 && s.WriteOf(d.Txn, d.Version) != 0 && !(s.Opt.Existing && s.MayBeBaseline(d)) {
			s.Accuse(d, ledger.FutureRead, s.Certain())
		}
	case ledger.MissingWriter, ledger.UnheardWriter, ledger.WriterAgain:
		if x.Possible > 0 || x.Flags&ledger.Baseline != 0 || x.Flags&ledger.Accused != 0 && d.Kind != ledger.WriterAgain {
			return
		}
		if x.Writes == 0 && d.Kind == ledger.MissingWriter && s.Patience() > 0 {
			// The writer may have been running for its client when the reader had
			// ended, and is recorded when it ends.
			s.AskPatiently(d, ledger.UnheardWriter)
			return
		}
		s.DecideWriter(d)
	}
}

// emptyArray is the value of a register that an empty list looks like.
var emptyArray = event.HashText([]byte("[]"))

// CountUnwritten counts v if it has no writer any more, since a record was replaced, and all its readers are
// gone.
func (s *Registers) CountUnwritten(v uint32) {
	x := &s.Versions[v]
	if x.Possible > 0 || x.Due > 0 || x.Flags&ledger.Seen == 0 || x.Flags&(ledger.InitialVersion|ledger.Nothing|ledger.Baseline|ledger.Unattributed) != 0 {
		return
	}
	s.Mark(v, ledger.Unattributed, 0)
	s.Counters.Unattributed++
	s.KeepLate(v)
}
