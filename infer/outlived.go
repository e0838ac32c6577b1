package infer

import "github.com/isowatch/isowatch/event"

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
	if v == 0 || !appendedOnce(s, v) {
		return false
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

// follows says whether t, which counts, began after n had ended: in n's session, or by their clocks.
func follows(s *State, n, t uint32) bool {
	x, y := &s.txns[n], &s.txns[t]
	if t == n || y.state != counted || y.flags&stale != 0 {
		return false
	}
	if x.session != 0 && x.session == y.session && x.flags&y.flags&hasSeq != 0 {
		return x.seq < y.seq
	}
	return x.flags&y.flags&hasTimes != 0 && y.start > x.end+int64(s.opt.ClockDrift)
}

// afterUnseen says whether a read may come after a delete that nobody saw. It does not begin as the
// frozen list does. It is empty, or shows no element that the list is known to have had before.
// O(elements), once no prefix agrees.
func afterUnseen(s *State, k uint32, elems []event.Elem) bool {
	x, count := &s.keys[k], uint32(len(elems))
	old := count < x.base || count == x.base && s.versions[x.initial].flags&overwritten != 0
	if !s.opt.vacant() || !old && (x.base == 0 || s.prefixes[x.base] == x.basePrefix) {
		return false
	}
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
