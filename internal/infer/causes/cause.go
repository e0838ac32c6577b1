package causes

import (
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/pattern"
)

// AddedUnseen says whether v is an element of a set, and somebody may have added it without a record.
// Elements are added again, whatever names the writer of a value. So a transaction that adds the
// element later is not the one that an earlier reader saw.
func (s *Causes) AddedUnseen(v uint32) bool {
	o := &s.Opt
	return (o.Existing || o.UnmonitoredWriters || !o.Complete) && s.Keys[s.Versions[v].Key].Flags&ledger.Element != 0
}

// addedAgain says whether v is an element of a set, and somebody may have added it again without a
// record after it was removed.
func (s *Causes) addedAgain(v uint32) bool {
	return s.Keys[s.Versions[v].Key].Flags&ledger.Element != 0 && (s.Opt.UnmonitoredWriters || !s.Opt.Complete)
}

// Readded says whether e is the anti-dependency of a transaction that found an element of a set, and
// the other one removed it. Or a read of the element forces e, from its remover to its adder. Somebody
// may have added the element again without a record.
func (s *Causes) Readded(e *ledger.Edge) bool {
	if e.Label&ledger.Saturated != 0 {
		return s.MayBeReadded(e.Version)
	}
	v := e.Version
	if e.Label&ledger.RW == 0 || v == 0 || !s.addedAgain(v) {
		return false
	}
	return !s.showsElement(v) // not one who added it
}

// showsElement says whether v, a version of an element of a set, says that the set has the element.
func (s *Causes) showsElement(v uint32) bool {
	k := &s.Keys[s.Versions[v].Key]
	return ElementHash(s.Keys[k.Set()].Hash, s.Versions[v].Hash) == k.Hash
}

// MayBeReadded says whether v is an element of a set that is there, and somebody may have added it
// again without a record. Then a reader of the element may have read after a remove.
func (s *Causes) MayBeReadded(v uint32) bool { return v != 0 && s.addedAgain(v) && s.showsElement(v) }

// ReadBefore says whether reader, who read v, had ended when the writer of v began. Then it did not
// read from that writer, or may not have. It takes the sign. Cause precedes effect by event times and
// session order, never by the order of arrival.
func (s *Causes) ReadBefore(v, writer, reader uint32) bool {
	if writer == reader || s.Keys[s.Versions[v].Key].Flags&ledger.Versioned != 0 {
		return false
	}
	w, r := &s.Txns[writer], &s.Txns[reader]
	if r.State == ledger.Aborted && s.Retried(v) {
		return false // it may have aborted since it had read of the first try
	}
	behind := beforeInSession(r, w)
	if w.Flags&r.Flags&ledger.HasTimes != 0 && w.Start > r.End {
		if w.Start-r.End <= s.Opt.ClockDrift && !behind {
			return s.Opt.Plain()
		}
		behind = true
	}
	if behind {
		s.Sign(s.Versions[v].Key, pattern.LateWriter)
	}
	return behind
}

// mayComeBack says whether somebody without a record may have written a value of the key k again, though
// its pattern has not shown it yet. For elements of sets see addedAgain.
func (s *Causes) mayComeBack(k uint32) bool {
	return s.Opt.Strangers() && (s.Opt.UnmonitoredWriters || s.Keys[k].Flags&ledger.Element == 0)
}

// CameBack says whether reader read v when a transaction that had read and replaced v was over.
// It must be over by session order, or by more than the clock drift. replaced says that reader
// wrote the key too.
func (s *Causes) CameBack(v, over, reader uint32, replaced bool) bool {
	if !s.mayComeBack(s.Versions[v].Key) || s.Keys[s.Versions[v].Key].Flags&ledger.Versioned != 0 {
		return false
	}
	o, r := &s.Txns[over], &s.Txns[reader]
	if over == reader || r.State == ledger.Aborted || o.Flags&ledger.Unknown != 0 {
		return false
	}
	behind := o.Flags&r.Flags&ledger.HasTimes != 0 && r.Start > o.End && r.Start-o.End > s.Opt.ClockDrift
	if !behind && !beforeInSession(o, r) {
		return false
	}
	if replaced {
		s.Sign(s.Versions[v].Key, pattern.CameBack)
	}
	return true
}

// NobodyKnown says whether no known transaction wrote v, where one without a record may have:
// then v names no version, until its writer is known.
func (s *Absences) NobodyKnown(v uint32) bool {
	x := &s.Versions[v]
	return s.Opt.Strangers() && x.Flags&ledger.InitialVersion == 0 && x.Writer == 0 && x.Possible == 0 && s.Keys[x.Key].Flags&ledger.Versioned == 0
}

// ReadBeforeAll is ReadBefore of all who read v. O(readers).
func (s *Causes) ReadBeforeAll(v, writer uint32) bool {
	if !s.Opt.Causal() && !s.AddedUnseen(v) {
		return false
	}
	before := false // by less than the drift, perhaps; another one may be a sign
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		x := &s.Readers[r]
		replaced := s.Opt.BlindIsAmbiguous() && (x.Overwrote || s.LastOf(x.Txn, s.Versions[v].Key) != 0)
		before = s.ReadBefore(v, writer, x.Txn) || replaced && s.Signs.Stood.Before(s, v, writer, x.Txn, true) || before
		before = s.tookBack(v, writer) && s.CameBack(v, writer, x.Txn, false) || before
	}
	if before = s.glimpsedBefore(v, writer) || before; before {
		return true
	}
	if s.Versions[v].Flags&(ledger.Seen|ledger.LateReaders) != 0 && (s.Opt.Strangers() || s.AddedUnseen(v)) {
		// A retired transaction had ended as well. Or the record is late, and proves nothing.
		if w := &s.Txns[writer]; s.Opt.Strangers() && w.Flags&ledger.HasTimes != 0 && w.Start-s.Signs.EndRetired > s.Opt.ClockDrift {
			s.Sign(s.Versions[v].Key, pattern.LateWriter)
		}
		return true
	}
	return false
}

// ReplacedBefore says whether a reader of v began when another transaction was over that had read and
// replaced v. This other transaction is n, which is about to replace v, or one that came earlier.
// O(readers).
func (s *Causes) ReplacedBefore(v, n uint32) (back bool) {
	if !s.mayComeBack(s.Versions[v].Key) {
		return false
	}
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		if x := &s.Readers[r]; s.CameBack(v, n, x.Txn, x.Overwrote || s.LastOf(x.Txn, s.Versions[v].Key) != 0) {
			back = true
		}
	}
	return s.glimpsedBack(v, n) || back
}

// ReplacedTwice takes a sign. Two transactions read and replaced v, and one was over when the other
// began. One of them is n, which is about to replace v. The other one came earlier. O(readers).
func (s *Causes) ReplacedTwice(v, n uint32) {
	if !s.mayComeBack(s.Versions[v].Key) || s.Retried(v) {
		return
	}
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		x := &s.Readers[r]
		if x.Overwrote || s.LastOf(x.Txn, s.Versions[v].Key) != 0 {
			s.CameBack(v, n, x.Txn, true)
			s.CameBack(v, x.Txn, n, true)
		}
	}
	s.glimpsedBack(v, n)
}

// WrittenLate takes the sign that a reader of v was over when n, which wrote it, began.
// O(readers).
func (s *Causes) WrittenLate(v, n uint32) {
	if !s.Opt.Observed || s.Retried(v) {
		return
	}
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		s.ReadBefore(v, n, s.Readers[r].Txn)
	}
	s.glimpsedBefore(v, n)
}

// ReadEarly takes the sign that n, which read v, was over when a writer of it began.
// O(writers).
func (s *Causes) ReadEarly(v, n uint32) {
	if !s.Opt.Observed || s.Retried(v) {
		return
	}
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; s.Txns[w].State != ledger.Aborted {
			s.ReadBefore(v, w, n)
		}
	}
}

// Retried says whether v has several writers, and one of them aborted or has an unknown
// outcome.
func (s *Causes) Retried(v uint32) bool {
	several, failed := false, false
	first := uint32(0)
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		w := s.Writes[id].Txn
		if first == 0 {
			first = w
		}
		several = several || w != first
		failed = failed || s.Txns[w].State != ledger.Counted || s.Txns[w].Flags&ledger.Unknown != 0
	}
	return several && failed
}

// GoneBefore takes a sign. n replaced v, and v's writer is not in memory. But a transaction had
// written v, and others had replaced it, and they have left memory.
func (s *Causes) GoneBefore(v, n uint32) {
	if s.Versions[v].Flags&ledger.Unrecorded != 0 && s.BeganAfterRetired(s.Versions[v].Key, n) && s.Values.Has(s.KeyOfValue(v)) {
		s.Sign(s.Versions[v].Key, pattern.CameBack)
	}
}

// BeganAfterRetired says whether n began when all who have retired were over, and what it
// replaced of the key k may have come back.
func (s *Causes) BeganAfterRetired(k, n uint32) bool {
	return s.mayComeBack(k) && s.Txns[n].Flags&ledger.HasTimes != 0 && s.Txns[n].Start-s.Signs.EndRetired > s.Opt.ClockDrift
}

// NotThat says whether the read of v by n, which replaced it or not, cannot be of the one
// version that v is taken for.
func (s *Causes) NotThat(v, n uint32, replaced bool) bool {
	x := &s.Versions[v]
	if x.Writer != 0 && (s.Opt.Causal() || s.AddedUnseen(v)) && (s.ReadBefore(v, x.Writer, n) || replaced && s.Signs.Stood.Before(s, v, x.Writer, n, true)) {
		return true
	}
	if s.addedAgain(v) && (x.Flags&ledger.Old != 0 || s.IsOrdered(v) && s.Txns[s.Versions[s.KnownAfter(v)].Writer].Flags&ledger.Retired != 0) {
		return true // a transaction that has retired removed it
	}
	for id := x.Over; id != 0; id = s.Writes[id].NextOver {
		if w := &s.Writes[id]; !w.Blind && s.CameBack(v, w.Txn, n, replaced) {
			return true
		}
	}
	return s.tookBack(v, x.Writer) && s.CameBack(v, x.Writer, n, false)
}

// tookBack says whether writer wrote v and replaced it itself, in one transaction. So it knew v, as one does
// who read and replaced it. A reader of v that began later gives no sign.
func (s *Causes) tookBack(v, writer uint32) bool {
	if writer == 0 || s.Versions[v].Flags&ledger.OverwrittenByWriter == 0 {
		return false
	}
	id := s.WriteOf(writer, v)
	return id != 0 && s.Writes[id].Intermediate
}
