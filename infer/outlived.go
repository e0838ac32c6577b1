package infer

import (
	"math"

	"github.com/isowatch/isowatch/event"
)

// A delete takes all elements of a list away for good. So a list that shows two elements shows
// that nobody deleted it between their appends, seen or unseen (docs/proofs.md, section 7).

// AppendedOnce says whether one transaction is known to have appended the element to the list, and
// that it committed: no client tries that again.
func AppendedOnce(s *State, key, epoch, element string) bool {
	k := s.keyNamed(key, epoch)
	if k == 0 || s.keys[k].kind != event.List {
		return false
	}
	v := s.lookupVersion(k, event.HashText([]byte(element)))
	return v != 0 && appendedOnce(s, v)
}

func appendedOnce(s *State, v uint32) bool {
	x := &s.versions[v]
	return x.writer != 0 && x.flags&(ambiguous|baseline) == 0 && s.txns[x.writer].flags&unknown == 0
}

// maxOutliving bounds the elements and readers that are looked at for one element.
const maxOutliving = 1 << 14

// Outlived says whether the records show that the element was appended after n read the list,
// which did not show it to n. It stands in one list with what n had found or appended. Or n found
// what was there before it. Or somebody found it who began after n had ended.
func Outlived(s *State, n uint32, key, epoch, element string) bool {
	k := s.keyNamed(key, epoch)
	if k == 0 || s.keys[k].kind != event.List || s.keys[k].flags&unsupported != 0 {
		return false
	}
	v := s.lookupVersion(k, event.HashText([]byte(element)))
	return v != 0 && outlived(s, n, v)
}

func outlived(s *State, n, v uint32) bool {
	k := s.versions[v].key
	if !appendedOnce(s, v) {
		return false
	}
	if beside(s, s.versions[v].writer, n) {
		return true
	}
	shown, steps := s.ShownBy(v) != 0, 0
	for u := s.Saw(n, v); u != 0 && s.versions[u].flags&placed != 0 && steps < maxOutliving; u = s.versions[u].prev {
		if steps++; appendedOnce(s, u) && (shown || follows(s, s.versions[u].writer, s.versions[v].writer)) {
			return true
		}
	}
	if !shown {
		return false
	}
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		if own := s.writes[id].version; s.versions[own].key == k && own != v && s.ShownBy(own) != 0 && appendedOnce(s, own) {
			return true
		}
	}
	for u := v; u != 0; u = s.versions[u].next {
		for r := s.versions[u].readers; r != 0; r = s.olderReader(r) {
			if steps++; steps > maxOutliving {
				return false
			}
			if follows(s, n, s.readers[r].txn) {
				return true
			}
		}
	}
	return false
}

// beside says whether t is known to have begun before n ended, within the drift. Without times this is
// not known of two sessions.
func beside(s *State, n, t uint32) bool {
	x, y := &s.txns[n], &s.txns[t]
	inOrder := x.session != 0 && x.session == y.session && x.flags&y.flags&hasSeq != 0
	return (inOrder || x.flags&y.flags&hasTimes != 0) && !apart(s, n, t)
}

// apart says whether t began after n had ended: in n's session, or by their clocks.
func apart(s *State, n, t uint32) bool {
	x, y := &s.txns[n], &s.txns[t]
	if x.session != 0 && x.session == y.session && x.flags&y.flags&hasSeq != 0 {
		return x.seq < y.seq
	}
	return x.flags&y.flags&hasTimes != 0 && y.start > x.end+int64(s.opt.ClockDrift)
}

// follows says whether t, which counts, began after n had ended: in n's session, or by their clocks.
func follows(s *State, n, t uint32) bool {
	y := &s.txns[t]
	return t != n && y.state == counted && y.flags&stale == 0 && apart(s, n, t)
}

// afterUnseen says whether a read may come after a delete that nobody saw. It does not begin as the
// frozen list does. It is empty, or shows no element that the list is known to have had before.
func afterUnseen(s *State, k uint32, elems []event.Elem) bool {
	x, count := &s.keys[k], uint32(len(elems))
	old := count < x.base || count == x.base && s.versions[x.initial].flags&overwritten != 0
	if !s.opt.vacant() || !old && (x.base == 0 || s.prefixes[x.base] == x.basePrefix) {
		return false
	}
	return afterDelete(s, k, elems)
}

// afterDelete says whether the list is known to have had no such element before. O(elements).
func afterDelete(s *State, k uint32, elems []event.Elem) bool {
	for i := range elems {
		v := s.lookupVersion(k, elems[i].Hash)
		switch {
		case v != 0 && s.versions[v].flags&placed != 0:
			return false
		case v != 0 && s.versions[v].writes != 0: // an append that no list has shown
		case s.values.has(versionHash(0, elems[i].Hash) ^ s.keys[k].hash.Lo):
			return false // it froze
		}
	}
	return true
}

// oldState reports a read of a list that does not begin as the frozen one does. A delete on its way
// may explain it: then it rests on the initial version.
func oldState(s *State, k uint32, elems []event.Elem, n, op uint32) {
	a := Anomaly{Kind: RetiredRead, A: n, OpA: op}
	if afterDelete(s, k, elems) {
		a.Other = s.keys[k].initial
	}
	s.anomaly(a)
}

// MissedUnseen is the transaction whose read gives the order of e, if that rests on nobody having
// deleted a list unseen, 0 otherwise. The transaction missed the element e.Version.
func MissedUnseen(s *State, e *Edge) uint32 {
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
	if n == 0 || outlived(s, n, e.Version) {
		return 0
	}
	return n
}

// MissesUnseen says whether that still holds of n and v, whose ValueKey is value. gone says that
// nothing can show any more that it does not.
func MissesUnseen(s *State, n, v uint32, value uint64) (misses, gone bool) {
	if n == 0 || s.txns[n].state != counted || int(v) >= len(s.versions) || s.versions[v].key == 0 || s.valueKey(v) != value {
		return true, true
	}
	return !outlived(s, n, v), false
}

// parted notes that n may have deleted the list k, which o did not append to.
func parted(s *State, k, n uint32, o *event.Op) {
	if s.keys[k].kind != event.List || !writesVersion(o) || o.Kind == event.Append || ofElement(o) {
		return
	}
	d := Deletion{Version: s.keys[k].initial, Began: math.MinInt64}
	if s.txns[n].flags&hasTimes != 0 {
		d.Began = s.txns[n].start - s.opt.ClockDrift
	}
	s.out.PartedBy = append(s.out.PartedBy, d)
}
