package infer

import (
	"iter"
	"math"

	"github.com/isowatch/isowatch/event"
)

// A delete takes all elements of a list away for good. So if a read shows two elements, nobody deleted
// the list between their appends, with or without a record (docs/proofs.md, section 7).

// AppendedOnce says whether one transaction is known to have appended the element to the list, and
// that it committed: no client tries that again.
func (s *lists) AppendedOnce(key, epoch, element string) bool {
	k := s.keyNamed(key, epoch)
	if k == 0 || s.keys[k].kind != event.List {
		return false
	}
	v := s.lookupVersion(k, event.HashText([]byte(element)))
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
func (s *lists) Outlived(n uint32, key, epoch, element string, cleared *bool) bool {
	k := s.keyNamed(key, epoch)
	if k == 0 || s.keys[k].kind != event.List || s.keys[k].flags&unsupported != 0 {
		return false
	}
	v := s.lookupVersion(k, event.HashText([]byte(element)))
	return v != 0 && s.outlived(n, v, cleared)
}

func (s *lists) outlived(n, v uint32, cleared *bool) bool {
	k := s.versions[v].key
	if !s.appendedOnce(v) {
		return false
	}
	if s.apart(n, s.versions[v].writer) {
		return true
	}
	if s.beside(s.versions[v].writer, n) {
		if *cleared = *cleared || s.lacksOlder(n, v); !*cleared {
			return true
		}
	}
	shown, steps := s.ShownBy(v) != 0, 0
	for u := s.Saw(n, v); u != 0 && s.versions[u].flags&placed != 0 && steps < maxOutliving; u = s.versions[u].prev {
		if steps++; s.appendedOnce(u) && (shown || s.follows(s.versions[u].writer, s.versions[v].writer)) {
			return true
		}
	}
	if !shown {
		return false
	}
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if own := s.writes[id].version; s.versions[own].key == k && own != v && s.ShownBy(own) != 0 && s.appendedOnce(own) {
			return true
		}
	}
	for u := v; u != 0; u = s.versions[u].next {
		if s.ShownBy(u) != 0 && s.appendedOnce(u) && s.follows(n, s.versions[u].writer) {
			return true
		}
		for r := s.versions[u].readers; r != 0; r = s.olderReader(r) {
			if steps++; steps > maxOutliving {
				return false
			}
			if s.follows(n, s.readers[r].txn) {
				return true
			}
		}
	}
	return false
}

// lacksOlder says whether n missed an element of v's list that is known to have been there before n
// began. Then somebody has deleted the list, unless n read an old copy.
func (s *lists) lacksOlder(n, v uint32) bool {
	saw, steps := s.Saw(n, v), 0
	if saw == 0 {
		return false
	}
	older := func(u uint32) bool {
		if s.appendedOnce(u) && s.follows(s.versions[u].writer, n) {
			return u != v
		}
		for r := s.versions[u].readers; r != 0 && steps < maxOutliving; r = s.olderReader(r) {
			if steps++; s.follows(s.readers[r].txn, n) {
				return true
			}
		}
		return false
	}
	for u := s.versions[saw].next; u != 0 && steps < maxOutliving; u = s.versions[u].next {
		if steps++; older(u) {
			return true
		}
	}
	for u := s.keys[s.versions[v].key].unplaced; u != 0 && steps < maxOutliving; u = s.versions[u].sibling {
		if steps++; older(u) {
			return true
		}
	}
	return false
}

// beside says whether t began before n ended, or just then: in n's session, or by their clocks, whatever the drift.
func (s *lists) beside(n, t uint32) bool {
	x, y := &s.txns[n], &s.txns[t]
	if x.oneSession(y) {
		return x.flags&y.flags&(hasSeq|hasTimes) != 0 && !s.apart(n, t)
	}
	return x.flags&y.flags&hasTimes != 0 && y.start <= x.end
}

// apart says whether t began after n had ended: in n's session, or by their clocks. A session has one
// clock.
func (s *lists) apart(n, t uint32) bool {
	x, y := &s.txns[n], &s.txns[t]
	timed := x.flags&y.flags&hasTimes != 0
	if x.oneSession(y) {
		if x.flags&y.flags&hasSeq != 0 {
			return x.seq < y.seq
		}
		return timed && y.start >= x.end && y.end > x.start
	}
	return timed && y.start > x.end+int64(s.opt.ClockDrift)
}

// follows says whether t, which counts, began after n had ended: in n's session, or by their clocks.
func (s *lists) follows(n, t uint32) bool {
	y := &s.txns[t]
	return t != n && y.state == counted && y.flags&stale == 0 && s.apart(n, t)
}

// afterUnseen says whether a read may come after a delete that nobody saw. It does not begin as the
// frozen list does. It is empty, or shows no element that the list is known to have had before, and that
// cannot return.
func (s *lists) afterUnseen(k uint32, elems []event.Elem) bool {
	x, count := &s.keys[k], uint32(len(elems))
	old := count < x.base || count == x.base && s.versions[x.initial].flags&overwritten != 0
	if !s.opt.vacant() || !old && (x.base == 0 || s.prefixes[x.base] == x.basePrefix) {
		return false
	}
	return s.afterDelete(k, elems, false)
}

// afterDelete says whether the list is known to have had no such element before, except those that may
// return. If coming is true, the record of a second attempt may be on its way. Then any element may return
// whose append has an unknown outcome. O(elements).
func (s *lists) afterDelete(k uint32, elems []event.Elem, coming bool) bool {
	for i := range elems {
		v := s.lookupVersion(k, elems[i].Hash)
		switch {
		case v != 0 && s.versions[v].flags&placed != 0:
			if !s.mayReturn(v) && (!coming || s.appendedOnce(v)) {
				return false
			}
		case v != 0 && s.versions[v].writes != 0: // an append that no list has shown
		default:
			if value := versionHash(0, elems[i].Hash) ^ s.keys[k].hash.Lo; s.values.has(value) && !s.twice.has(value) {
				return false // it froze
			}
		}
	}
	return true
}

// oldState reports a read of a list that does not begin as the frozen one does. If a delete whose
// record is on its way may explain the read, the anomaly names the initial version.
func (s *lists) oldState(k uint32, elems []event.Elem, n, op uint32) {
	a := Anomaly{Kind: RetiredRead, A: n, OpA: op}
	if s.afterDelete(k, elems, true) {
		a.Other = s.keys[k].initial
	}
	s.anomaly(a)
}

// MissedUnseen is the transaction whose read gives the order of e, if that rests on nobody having
// deleted a list unseen, 0 otherwise. The transaction missed the element e.Version.
func (s *lists) MissedUnseen(e *Edge) uint32 {
	if !s.opt.vacant() || e.Version == 0 || s.keys[s.versions[e.Version].key].kind != event.List {
		return 0
	}
	n := uint32(0)
	switch {
	case e.Label&RW != 0:
		n = e.From
	case e.Label == WW && s.versions[e.Version].flags&placed == 0: // otherwise one list shows both
		n = e.Witness
	}
	if n == 0 || s.outlived(n, e.Version, new(bool)) {
		return 0
	}
	return n
}

// MissesUnseen says whether that is still so for n and the element v, whose ValueKey is value. gone
// says that no record can change it any more. For cleared see Outlived.
func (s *lists) MissesUnseen(n, v uint32, value uint64, cleared *bool) (misses, gone bool) {
	if n == 0 || s.txns[n].state != counted || int(v) >= len(s.versions) || s.versions[v].key == 0 || s.valueKey(v) != value {
		return true, true
	}
	return !s.outlived(n, v, cleared), false
}

// noteParted notes that n may have deleted the list k, which o did not append to.
func (s *lists) noteParted(k, n uint32, o *event.Op) {
	if s.keys[k].kind != event.List || !writesVersion(o) || o.Kind == event.Append || ofElement(o) {
		return
	}
	d := Deletion{Version: s.keys[k].initial, Began: math.MinInt64}
	if s.txns[n].flags&hasTimes != 0 {
		d.Began = s.txns[n].start - s.opt.ClockDrift
	}
	s.out.PartedBy = append(s.out.PartedBy, d)
}

// LacksNone says whether v is of a list, and no append that a list up to v lacks is of a transaction
// that is gone. O(elements behind v).
func (s *lists) LacksNone(v uint32, gone func(n uint32) bool) bool {
	if s.keys[s.versions[v].key].kind != event.List {
		return false
	}
	for u := range s.lackedBehind(v) {
		if gone(s.versions[u].writer) {
			return false
		}
	}
	return true
}

// maxLacked bounds the appends that LackedUnseen looks at.
const maxLacked = 64

// LackedUnseen is an append of a transaction that is gone, and n's read of a list up to v lacks it.
// Somebody may have deleted the list without a record after each such append. Otherwise it is 0.
func (s *lists) LackedUnseen(n, v uint32, gone func(n uint32) bool) (lacked uint32) {
	if !s.opt.vacant() || s.keys[s.versions[v].key].kind != event.List {
		return 0
	}
	looked := 0
	for u := range s.lackedBehind(v) {
		if !gone(s.versions[u].writer) {
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
func (s *lists) lackedBehind(v uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for u := s.versions[v].next; u != 0; u = s.versions[u].next {
			if s.versions[u].writer != 0 && !yield(u) {
				return
			}
		}
		for u := s.keys[s.versions[v].key].unplaced; u != 0; u = s.versions[u].sibling {
			if s.versions[u].writer != 0 && !yield(u) {
				return
			}
		}
	}
}
