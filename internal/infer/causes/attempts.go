package causes

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Clients try again what was refused or got no answer. The second attempt appends the same element.
// Where the first one has no record, the element seems to have one writer, and may have been in the
// list before that began. The contract leaves this open under a partial capture, and where watching
// began midway (docs/semantics.md, section 2). Cause precedes effect: who was over when the append
// began did not read it. Then the element names no append.

// AttemptOpen says whether the contract leaves that r, or whoever ran before, read the element v of an
// append without a record.
func (s *Absences) AttemptOpen(v, r uint32) bool {
	if !s.Opt.Complete {
		return true
	}
	return s.Opt.Existing && s.MayBeBaseline(ledger.Due{Txn: r, Version: v})
}

// AppendedBefore says whether n appends the element v again. n is known to be a second attempt. Or
// somebody had read v before n began, and the contract allows for that. A read of a later element shows
// v too. O(readers behind v).
func (s *Absences) AppendedBefore(v, n uint32) bool {
	x := &s.Versions[v]
	if k := &s.Keys[x.Key]; s.Txns[n].Flags&ledger.Again != 0 && k.Flags&ledger.Repeats == 0 && !k.TellsVersions() {
		return true
	}
	if s.Opt.Complete && !s.Opt.Existing || s.Keys[x.Key].Kind != event.List || x.Flags&ledger.Placed == 0 {
		return false
	}
	if x.Flags&ledger.Twofold != 0 && s.AgainOpen(v, n) {
		return true
	}
	if w := x.Witness; w != 0 && s.BeganBehind(n, w) && s.AttemptOpen(v, w) {
		return true
	}
	for u := v; u != 0; u = s.Versions[u].Next {
		for r := s.Versions[u].Readers; r != 0; r = s.OlderReader(r) {
			if t := s.Readers[r].Txn; s.BeganBehind(n, t) && s.AttemptOpen(v, t) {
				return true
			}
		}
	}
	return false
}

// NoteBegin takes in when n began.
func (s *Absences) NoteBegin(n uint32) {
	if t := &s.Txns[n]; t.Flags&ledger.HasTimes != 0 {
		s.Signs.Begun = max(s.Signs.Begun, t.Start)
	}
}

// AttemptBefore is about an element that d's reader shows twice, and that has one append. It says
// whether a first attempt may have appended the element before watching began.
func (s *Absences) AttemptBefore(d ledger.Due) bool {
	if !s.Opt.Existing {
		return false
	}
	for id := s.Versions[d.Version].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := &s.Txns[s.Writes[id].Txn]; w.State != ledger.Aborted && w.Start <= s.BaselineEnds {
			return true
		}
	}
	return s.MayBeBaseline(d)
}

// AgainOpen says whether the contract leaves that an append without a record put the element v into the
// list too, beside w's.
func (s *Absences) AgainOpen(v, w uint32) bool {
	x := &s.Versions[v]
	return s.AttemptOpen(v, w) || s.Txns[x.Witness].Start <= s.BaselineEnds && s.AttemptOpen(v, x.Witness)
}

// AppendedEarly says whether the known writer of v began while transactions from before watching may have been
// ending.
func (s *Absences) AppendedEarly(v uint32) bool {
	w := s.Versions[v].Writer
	return w != 0 && s.Txns[w].Start <= s.BaselineEnds
}

// mayTryAgain says whether the contract leaves that a first attempt of n has no record.
func (s *Absences) mayTryAgain(n uint32) bool {
	return !s.Opt.Complete || s.Opt.Existing && s.Txns[n].Start <= s.BaselineEnds
}
