package infer

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// An unknown transaction counts because somebody saw a value that only it can have written.
// Conclusions from its operations rest on that: a second possible writer of the value takes
// them back (promoteNow, demoteNow). Once it has retired it cannot leave the orders any more.
// Findings about it must then be known to rest on those values.

// maxProof is how many values are noted of one transaction. One of them would be enough.
const maxProof = 16

// Proofs appends to dst the evidence that the unknown transaction n took effect: ValueKeys in groups.
// In each group, at least one value must keep naming its writer. ok is false when nothing in memory
// shows it.
func (s *causes) Proofs(dst [][]uint64, n uint32) (_ [][]uint64, ok bool) {
	return s.proofs(dst, n, nil, s.hasOneWriter)
}

// TookEffect says whether the unknown transaction n surely took effect, whatever comes. Others saw a
// version of it that no retry can have written. That is so if operations tell the version, or the
// contract declares values to be unique. A retry writes elements of sets and lists again, whatever is
// declared. If all says that all records have come, no retry has. But a writer without a record may
// have added an element of a set.
func (s *causes) TookEffect(n uint32, all bool) bool {
	_, ok := s.proofs(nil, n, nil, func(v uint32) bool {
		k := &s.keys[s.versions[v].key]
		switch {
		case !s.hasOneWriter(v):
			return false
		case k.flags&element != 0:
			return all && !s.opt.UnmonitoredWriters
		case k.kind == event.List:
			return all
		}
		return all || k.flags&(versioned|plainBefore) == versioned || !s.opt.plain()
	})
	return ok
}

// MayBeRewritten says whether n read a plain value of one of the keys that a transaction of
// unknown outcome wrote. Its client may not have heard an outcome that is known by now. A retry may have
// written the value again.
func (s *causes) MayBeRewritten(n uint32, keys []string) bool {
	for id := s.txns[n].reads; id != 0 && s.opt.plain(); id = s.readers[id].nextOfTxn {
		v := s.readers[id].version
		if k := &s.keys[s.versions[v].key]; k.flags&versioned != 0 || k.kind == event.List {
			continue
		}
		for w := s.versions[v].writes; w != 0; w = s.writes[w].nextOfVer {
			if m := s.writes[w].txn; m != n && s.txns[m].flags&(unknown|unheard) != 0 && slices.Contains(keys, s.Key(v)) {
				return true
			}
		}
	}
	return false
}

// proofs avoids the transactions in path, which n is to prove. It uses only versions for which names is
// true.
func (s *causes) proofs(dst [][]uint64, n uint32, path []uint32, names func(v uint32) bool) (_ [][]uint64, ok bool) {
	if s.txns[n].flags&unknown == 0 {
		return dst, true
	}
	if s.txns[n].state != counted || slices.Contains(path, n) {
		return dst, false
	}
	var direct []uint64
	for id := s.txns[n].writes; id != 0 && len(direct) < maxProof; id = s.writes[id].nextOfTxn {
		if v := s.writes[id].version; names(v) && s.attested(v) {
			direct = append(direct, s.valueKey(v))
		}
	}
	if len(direct) > 0 {
		return append(dst, direct), true
	}
	// The transactions that saw its values have unknown outcomes themselves.
	path = append(path, n)
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		v := s.writes[id].version
		if !names(v) {
			continue
		}
		group := append(dst, []uint64{s.valueKey(v)})
		for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
			if all, ok := s.proofs(group, s.readers[r].txn, path, names); ok {
				return all, true
			}
		}
		if w := s.versions[v].witness; w != 0 {
			if all, ok := s.proofs(group, w, path, names); ok {
				return all, true
			}
		}
	}
	return dst, false
}

// WroteSome is a version that n wrote, 0 if no such version is in memory.
func (s *causes) WroteSome(n uint32) uint32 {
	return s.writes[s.txns[n].writes].version // of the void record for 0
}

// hasOneWriter says whether v has one possible writer, which is in memory.
func (s *causes) hasOneWriter(v uint32) bool {
	x := &s.versions[v]
	return x.flags&ambiguous == 0 && x.possible == 1
}

// attested says whether a transaction of known outcome saw v.
func (s *causes) attested(v uint32) bool {
	x := &s.versions[v]
	if x.flags&seenSurely != 0 || x.witness != 0 && s.txns[x.witness].flags&unknown == 0 {
		return true
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if s.txns[s.readers[r].txn].flags&unknown == 0 {
			return true
		}
	}
	return false
}

// Writers appends to dst the transactions that wrote v and did not abort.
func (s *causes) Writers(dst []uint32, v uint32) []uint32 {
	for id := s.versions[v].writes; id != 0; id = s.writes[id].nextOfVer {
		if n := s.writes[id].txn; s.txns[n].state != aborted {
			dst = append(dst, n)
		}
	}
	return dst
}

// Observers appends to dst transactions that together show that the unknown transaction n took
// effect. One saw a value of n. If its outcome is unknown as well, an observer of it follows.
func (s *causes) Observers(dst []uint32, n uint32) []uint32 {
	if s.txns[n].flags&unknown == 0 {
		return dst
	}
	next := uint32(0) // of unknown outcome itself
	for id := s.txns[n].writes; id != 0; id = s.writes[id].nextOfTxn {
		v := s.writes[id].version
		if !s.hasOneWriter(v) {
			continue
		}
		saw := s.versions[v].witness
		for r := s.versions[v].readers; ; r = s.olderReader(r) {
			if saw != 0 && saw != n && !slices.Contains(dst, saw) {
				if s.txns[saw].flags&unknown == 0 {
					return append(dst, saw)
				}
				next = saw
			}
			if r == 0 {
				break
			}
			saw = s.readers[r].txn
		}
	}
	if next == 0 {
		return dst
	}
	return s.Observers(append(dst, next), next)
}
