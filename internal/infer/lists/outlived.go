package lists

import (
	"iter"
	"math"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// A delete takes all elements of a list away for good. So if a read shows two elements, nobody deleted
// the list between their appends, with or without a record (docs/proofs.md, section 7).

// AppendedOnce says whether one transaction is known to have appended the element to the list, and
// that it committed: no client tries that again.
func (s *Lists) AppendedOnce(key, epoch, element string) bool {
	k := s.KeyNamed(key, epoch)
	if k == 0 || s.Keys[k].Kind != event.List {
		return false
	}
	v := s.LookupVersion(k, event.HashText([]byte(element)))
	return v != 0 && s.appendedOnce(v)
}

// maxOutliving bounds the elements and readers that are looked at for one element.
const maxOutliving = 1 << 14

// Outlived says whether the records show that the element was appended after n read the list, which did
// not show it to n. It stands in one list with what n had found or appended. Or n found an element that
// was there before it. Or a transaction found it that began after n had ended.
//
// cleared remembers that the list had been cleared before n read it (lacksOlder). The transactions that
// show it may leave memory before n does.
func (s *Lists) Outlived(n uint32, key, epoch, element string, cleared *bool) bool {
	k := s.KeyNamed(key, epoch)
	if k == 0 || s.Keys[k].Kind != event.List || s.Keys[k].Flags&ledger.Unsupported != 0 {
		return false
	}
	v := s.LookupVersion(k, event.HashText([]byte(element)))
	return v != 0 && s.outlived(n, v, cleared)
}

func (s *Lists) outlived(n, v uint32, cleared *bool) bool {
	k := s.Versions[v].Key
	if !s.appendedOnce(v) {
		return false
	}
	if s.apart(n, s.Versions[v].Writer) {
		return true
	}
	if s.beside(s.Versions[v].Writer, n) {
		if *cleared = *cleared || s.lacksOlder(n, v); !*cleared {
			return true
		}
	}
	shown, steps := s.ShownBy(v) != 0, 0
	for u := s.Saw(n, v); u != 0 && s.Versions[u].Flags&ledger.Placed != 0 && steps < maxOutliving; u = s.Versions[u].Prev {
		if steps++; s.appendedOnce(u) && (shown || s.follows(s.Versions[u].Writer, s.Versions[v].Writer)) {
			return true
		}
	}
	if !shown {
		return false
	}
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		if own := s.Writes[id].Version; s.Versions[own].Key == k && own != v && s.ShownBy(own) != 0 && s.appendedOnce(own) {
			return true
		}
	}
	for u := v; u != 0; u = s.Versions[u].Next {
		if s.ShownBy(u) != 0 && s.appendedOnce(u) && s.follows(n, s.Versions[u].Writer) {
			return true
		}
		for r := s.Versions[u].Readers; r != 0; r = s.OlderReader(r) {
			if steps++; steps > maxOutliving {
				return false
			}
			if s.follows(n, s.Readers[r].Txn) {
				return true
			}
		}
	}
	return false
}

// lacksOlder says whether n missed an element of v's list that is known to have been there before n
// began. Then somebody has deleted the list, unless n read an old copy.
func (s *Lists) lacksOlder(n, v uint32) bool {
	saw, steps := s.Saw(n, v), 0
	if saw == 0 {
		return false
	}
	older := func(u uint32) bool {
		if s.appendedOnce(u) && s.follows(s.Versions[u].Writer, n) {
			return u != v
		}
		for r := s.Versions[u].Readers; r != 0 && steps < maxOutliving; r = s.OlderReader(r) {
			if steps++; s.follows(s.Readers[r].Txn, n) {
				return true
			}
		}
		return false
	}
	for u := s.Versions[saw].Next; u != 0 && steps < maxOutliving; u = s.Versions[u].Next {
		if steps++; older(u) {
			return true
		}
	}
	for u := s.Keys[s.Versions[v].Key].Unplaced; u != 0 && steps < maxOutliving; u = s.Versions[u].Sibling {
		if steps++; older(u) {
			return true
		}
	}
	return false
}

// beside says whether t began before n ended, or just then: in n's session, or by their clocks, whatever the drift.
func (s *Lists) beside(n, t uint32) bool {
	x, y := &s.Txns[n], &s.Txns[t]
	if x.OneSession(y) {
		return x.Flags&y.Flags&(ledger.HasSeq|ledger.HasTimes) != 0 && !s.apart(n, t)
	}
	return x.Flags&y.Flags&ledger.HasTimes != 0 && y.Start <= x.End
}

// apart says whether t began after n had ended: in n's session, or by their clocks. A session has one
// clock.
func (s *Lists) apart(n, t uint32) bool {
	x, y := &s.Txns[n], &s.Txns[t]
	timed := x.Flags&y.Flags&ledger.HasTimes != 0
	if x.OneSession(y) {
		if x.Flags&y.Flags&ledger.HasSeq != 0 {
			return x.Seq < y.Seq
		}
		return timed && y.Start >= x.End && y.End > x.Start
	}
	return timed && y.Start > x.End+int64(s.Opt.ClockDrift)
}

// follows says whether t, which counts, began after n had ended: in n's session, or by their clocks.
func (s *Lists) follows(n, t uint32) bool {
	y := &s.Txns[t]
	return t != n && y.State == ledger.Counted && y.Flags&ledger.Stale == 0 && s.apart(n, t)
}

// afterUnseen says whether a read may come after a delete that nobody saw. It does not begin as the
// frozen list does. It is empty, or shows no element that the list is known to have had before, and that
// cannot return.
func (s *Lists) afterUnseen(k uint32, elems []event.Elem) bool {
	x, count := &s.Keys[k], uint32(len(elems))
	old := count < x.Base || count == x.Base && s.Versions[x.Initial].Flags&ledger.Overwritten != 0
	if !s.Opt.Vacant() || !old && (x.Base == 0 || s.prefixes[x.Base] == x.BasePrefix) {
		return false
	}
	return s.afterDelete(k, elems, false)
}

// afterDelete says whether the list is known to have had no such element before, except those that may
// return. If coming is true, the record of a second attempt may be on its way. Then any element may return
// whose append has an unknown outcome. O(elements).
func (s *Lists) afterDelete(k uint32, elems []event.Elem, coming bool) bool {
	for i := range elems {
		v := s.LookupVersion(k, elems[i].Hash)
		switch {
		case v != 0 && s.Versions[v].Flags&ledger.Placed != 0:
			if !s.mayReturn(v) && (!coming || s.appendedOnce(v)) {
				return false
			}
		case v != 0 && s.Versions[v].Writes != 0: // an append that no list has shown
		default:
			if value := ledger.VersionHash(0, elems[i].Hash) ^ s.Keys[k].Hash.Lo; s.Values.Has(value) && !s.Twice.Has(value) {
				return false // it froze
			}
		}
	}
	return true
}

// oldState reports a read of a list that does not begin as the frozen one does. If a delete whose
// record is on its way may explain the read, the anomaly names the initial version.
func (s *Lists) oldState(k uint32, elems []event.Elem, n, op uint32) {
	a := ledger.Anomaly{Kind: ledger.RetiredRead, A: n, OpA: op}
	if s.afterDelete(k, elems, true) {
		a.Other = s.Keys[k].Initial
	}
	s.Report(a)
}

// MissedUnseen is the transaction whose read gives the order of e, if that rests on nobody having
// deleted a list unseen, 0 otherwise. The transaction missed the element e.Version.
func (s *Lists) MissedUnseen(e *ledger.Edge) uint32 {
	if !s.Opt.Vacant() || e.Version == 0 || s.Keys[s.Versions[e.Version].Key].Kind != event.List {
		return 0
	}
	n := uint32(0)
	switch {
	case e.Label&ledger.RW != 0:
		n = e.From
	case e.Label == ledger.WW && s.Versions[e.Version].Flags&ledger.Placed == 0: // otherwise one list shows both
		n = e.Witness
	}
	if n == 0 || s.outlived(n, e.Version, new(bool)) {
		return 0
	}
	return n
}

// MissesUnseen says whether that is still so for n and the element v, whose ValueKey is value. gone
// says that no record can change it any more. For cleared see Outlived.
func (s *Lists) MissesUnseen(n, v uint32, value uint64, cleared *bool) (misses, gone bool) {
	if n == 0 || s.Txns[n].State != ledger.Counted || int(v) >= len(s.Versions) || s.Versions[v].Key == 0 || s.KeyOfValue(v) != value {
		return true, true
	}
	return !s.outlived(n, v, cleared), false
}

// NoteParted notes that n may have deleted the list k, which o did not append to.
func (s *Lists) NoteParted(k, n uint32, o *event.Op) {
	if s.Keys[k].Kind != event.List || !causes.WritesVersion(o) || o.Kind == event.Append || causes.OfElement(o) {
		return
	}
	d := ledger.Deletion{Version: s.Keys[k].Initial, Began: math.MinInt64}
	if s.Txns[n].Flags&ledger.HasTimes != 0 {
		d.Began = s.Txns[n].Start - s.Opt.ClockDrift
	}
	s.Out.PartedBy = append(s.Out.PartedBy, d)
}

// LacksNone says whether v is of a list, and no append that a list up to v lacks is of a transaction
// that is gone. O(elements behind v).
func (s *Lists) LacksNone(v uint32, gone func(n uint32) bool) bool {
	if s.Keys[s.Versions[v].Key].Kind != event.List {
		return false
	}
	for u := range s.lackedBehind(v) {
		if gone(s.Versions[u].Writer) {
			return false
		}
	}
	return true
}

// maxLacked bounds the appends that LackedUnseen looks at.
const maxLacked = 64

// LackedUnseen is an append of a transaction that is gone, and n's read of a list up to v lacks it.
// Somebody may have deleted the list without a record after each such append. Otherwise it is 0.
func (s *Lists) LackedUnseen(n, v uint32, gone func(n uint32) bool) (lacked uint32) {
	if !s.Opt.Vacant() || s.Keys[s.Versions[v].Key].Kind != event.List {
		return 0
	}
	looked := 0
	for u := range s.lackedBehind(v) {
		if !gone(s.Versions[u].Writer) {
			continue
		}
		if looked++; looked > maxLacked {
			break
		}
		if s.outlived(n, u, new(bool)) {
			return 0
		}
		if lacked == 0 {
			lacked = u
		}
	}
	return lacked
}

// lackedBehind are the appends that a list up to v lacks.
func (s *Lists) lackedBehind(v uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for u := s.Versions[v].Next; u != 0; u = s.Versions[u].Next {
			if s.Versions[u].Writer != 0 && !yield(u) {
				return
			}
		}
		for u := s.Keys[s.Versions[v].Key].Unplaced; u != 0; u = s.Versions[u].Sibling {
			if s.Versions[u].Writer != 0 && !yield(u) {
				return
			}
		}
	}
}
