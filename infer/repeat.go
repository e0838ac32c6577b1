package infer

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// A value of a register that several transactions left there names none of them: its
// version is ambiguous. Who read it read from one of them, though, and that is a choice
// like the order of two writers (VeriStrong's duplicate values): package window asks
// package solve for it. The version ends its writers' chains, and what was written over
// it begins chains of its own.

// searchable says whether the writer of the ambiguous version v may be looked for: the
// history stays in memory as a whole, and v is of a plain register.
func (s *State) searchable(v uint32) bool {
	if !s.opt.Whole || s.opt.ByVersion || s.opt.Ordered {
		return false
	}
	x := &s.versions[v]
	k := &s.keys[x.key]
	return k.kind == event.Register && k.flags&(unsupported|deleted|element|hasBaseline) == 0 && x.flags&initialVersion == 0
}

// SureRegister says whether v is of a register and has no several possible writers.
func (s *State) SureRegister(v uint32) bool {
	x := &s.versions[v]
	return x.flags&ambiguous == 0 && s.keys[x.key].kind == event.Register
}

// searched says whether it is looked for: there are several.
func (s *State) searched(v uint32) bool { return s.versions[v].possible > 1 && s.searchable(v) }

// countAmbiguous counts that v, which several may have written, was read.
func (s *State) countAmbiguous(v uint32) {
	if !s.searchable(v) {
		s.Counters.Ambiguous++
		return
	}
	s.Counters.Repeated++
	if x := &s.keys[s.versions[v].key]; x.flags&(uncheckable|unordered) == 0 {
		x.flags |= unordered
		s.Counters.Unordered++
	}
}

// uproot makes blind writes of those that replaced v, of which it is not known any more
// whose version they replaced.
func (s *State) uproot(v uint32) {
	if !s.searchable(v) {
		return
	}
	initial := s.keys[s.versions[v].key].initial
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		s.readers[r].overwrote = false
	}
	for id := s.versions[v].over; id != 0; id = s.versions[v].over {
		s.withdrawOverwrite(id)
		s.overwrite(id, initial, true)
	}
}

// RepeatedVersions are the versions of registers that were read and have several
// possible writers, by key, in the order of the hashes of their values.
func (s *State) RepeatedVersions() map[uint32][]uint32 {
	if s.Counters.Repeated == 0 {
		return nil
	}
	by := map[uint32][]uint32{}
	for v := range s.versions {
		if x := &s.versions[v]; x.key != 0 && x.flags&(ambiguous|initialVersion) == ambiguous && x.readers != 0 && s.keys[x.key].kind == event.Register {
			by[x.key] = append(by[x.key], uint32(v))
		}
	}
	for _, vs := range by { // each by itself
		slices.SortFunc(vs, func(a, b uint32) int { return cmp.Compare(s.valueKey(a), s.valueKey(b)) })
	}
	return by
}

// RepeatedReads calls fn with each transaction that read v, if v has several possible
// writers. maybe says that it can be another one than those that count: one is of unknown
// outcome and may have taken effect, or a record may be missing. ok is false where the writers are
// not looked for.
func (s *State) RepeatedReads(v uint32, fn func(reader uint32, maybe bool)) (ok bool) {
	x := &s.versions[v]
	if x.flags&ambiguous == 0 {
		return true
	}
	if !s.searched(v) {
		return false
	}
	maybe := !s.certain() || s.opt.Existing
	for id := x.writes; id != 0; id = s.writes[id].nextOfVer {
		maybe = maybe || s.txns[s.writes[id].txn].state == tentative
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		if !s.readers[r].reread {
			fn(s.readers[r].txn, maybe)
		}
	}
	return true
}

// EachRepeatedRead calls fn with the versions that n read and of which the writer is not
// known, since several left the value.
func (s *State) EachRepeatedRead(n uint32, fn func(v uint32)) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if v := s.readers[id].version; s.versions[v].flags&(ambiguous|initialVersion) == ambiguous {
			fn(v)
		}
	}
}
