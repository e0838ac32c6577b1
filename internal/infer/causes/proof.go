package causes

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// An unknown transaction counts because somebody saw a value that only it can have written.
// Conclusions from its operations rest on that: a second possible writer of the value takes
// them back (promoteNow and demoteNow in package infer). Once it has retired it cannot leave the orders any more.
// Findings about it must then be known to rest on those values.

// maxProof is how many values are noted of one transaction. One of them would be enough.
const maxProof = 16

// Proofs appends to dst the evidence that the unknown transaction n took effect: ValueKeys in groups.
// In each group, at least one value must keep naming its writer. ok is false when nothing in memory
// shows it.
func (s *Causes) Proofs(dst [][]uint64, n uint32) (_ [][]uint64, ok bool) {
	return s.proofs(dst, n, nil, s.hasOneWriter)
}

// TookEffect says whether the unknown transaction n surely took effect, whatever comes. Others saw a
// version of it that no retry can have written. That is so if operations tell the version, or the
// contract declares values to be unique. A retry writes elements of sets and lists again, whatever is
// declared. If all says that all records have come, no retry has. But a writer without a record may
// have added an element of a set.
func (s *Causes) TookEffect(n uint32, all bool) bool {
	_, ok := s.proofs(nil, n, nil, func(v uint32) bool {
		k := &s.Keys[s.Versions[v].Key]
		switch {
		case !s.hasOneWriter(v):
			return false
		case k.Flags&ledger.Element != 0:
			return all && !s.Opt.UnmonitoredWriters
		case k.Kind == event.List:
			return all
		}
		return all || k.Flags&(ledger.Versioned|ledger.PlainBefore) == ledger.Versioned || !s.Opt.Plain()
	})
	return ok
}

// MayBeRewritten says whether n read a plain value of one of the keys that a transaction of
// unknown outcome wrote. Its client may not have heard an outcome that is known by now. A retry may have
// written the value again.
func (s *Causes) MayBeRewritten(n uint32, keys []string) bool {
	for id := s.Txns[n].Reads; id != 0 && s.Opt.Plain(); id = s.Readers[id].NextOfTxn {
		v := s.Readers[id].Version
		if k := &s.Keys[s.Versions[v].Key]; k.Flags&ledger.Versioned != 0 || k.Kind == event.List {
			continue
		}
		for w := s.Versions[v].Writes; w != 0; w = s.Writes[w].NextOfVer {
			if m := s.Writes[w].Txn; m != n && s.Txns[m].Flags&(ledger.Unknown|ledger.Unheard) != 0 && slices.Contains(keys, s.Key(v)) {
				return true
			}
		}
	}
	return false
}

// proofs avoids the transactions in path, which n is to prove. It uses only versions for which names is
// true.
func (s *Causes) proofs(dst [][]uint64, n uint32, path []uint32, names func(v uint32) bool) (_ [][]uint64, ok bool) {
	if s.Txns[n].Flags&ledger.Unknown == 0 {
		return dst, true
	}
	if s.Txns[n].State != ledger.Counted || slices.Contains(path, n) {
		return dst, false
	}
	var direct []uint64
	for id := s.Txns[n].Writes; id != 0 && len(direct) < maxProof; id = s.Writes[id].NextOfTxn {
		if v := s.Writes[id].Version; names(v) && s.attested(v) {
			direct = append(direct, s.KeyOfValue(v))
		}
	}
	if len(direct) > 0 {
		return append(dst, direct), true
	}
	// The transactions that saw its values have unknown outcomes themselves.
	path = append(path, n)
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		v := s.Writes[id].Version
		if !names(v) {
			continue
		}
		group := append(dst, []uint64{s.KeyOfValue(v)})
		for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
			if all, ok := s.proofs(group, s.Readers[r].Txn, path, names); ok {
				return all, true
			}
		}
		if w := s.Versions[v].Witness; w != 0 {
			if all, ok := s.proofs(group, w, path, names); ok {
				return all, true
			}
		}
	}
	return dst, false
}

// WroteSome is a version that n wrote, 0 if no such version is in memory.
func (s *Causes) WroteSome(n uint32) uint32 {
	return s.Writes[s.Txns[n].Writes].Version // of the void record for 0
}

// hasOneWriter says whether v has one possible writer, which is in memory.
func (s *Causes) hasOneWriter(v uint32) bool {
	x := &s.Versions[v]
	return x.Flags&ledger.Ambiguous == 0 && x.Possible == 1
}

// attested says whether a transaction of known outcome saw v.
func (s *Causes) attested(v uint32) bool {
	x := &s.Versions[v]
	if x.Flags&ledger.SeenSurely != 0 || x.Witness != 0 && s.Txns[x.Witness].Flags&ledger.Unknown == 0 {
		return true
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if s.Txns[s.Readers[r].Txn].Flags&ledger.Unknown == 0 {
			return true
		}
	}
	return false
}

// Writers appends to dst the transactions that wrote v and did not abort.
func (s *Causes) Writers(dst []uint32, v uint32) []uint32 {
	for id := s.Versions[v].Writes; id != 0; id = s.Writes[id].NextOfVer {
		if n := s.Writes[id].Txn; s.Txns[n].State != ledger.Aborted {
			dst = append(dst, n)
		}
	}
	return dst
}

// Observers appends to dst transactions that together show that the unknown transaction n took
// effect. One saw a value of n. If its outcome is unknown as well, an observer of it follows.
func (s *Causes) Observers(dst []uint32, n uint32) []uint32 {
	if s.Txns[n].Flags&ledger.Unknown == 0 {
		return dst
	}
	next := uint32(0) // of unknown outcome itself
	for id := s.Txns[n].Writes; id != 0; id = s.Writes[id].NextOfTxn {
		v := s.Writes[id].Version
		if !s.hasOneWriter(v) {
			continue
		}
		saw := s.Versions[v].Witness
		for r := s.Versions[v].Readers; ; r = s.OlderReader(r) {
			if saw != 0 && saw != n && !slices.Contains(dst, saw) {
				if s.Txns[saw].Flags&ledger.Unknown == 0 {
					return append(dst, saw)
				}
				next = saw
			}
			if r == 0 {
				break
			}
			saw = s.Readers[r].Txn
		}
	}
	if next == 0 {
		return dst
	}
	return s.Observers(append(dst, next), next)
}
