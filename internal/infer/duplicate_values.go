package infer

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// If several transactions left a value in a register, it does not name its writer: its version is
// ambiguous. Still, a reader of the value read from one of these writers. That is a choice like the
// order of two writers (VeriStrong's duplicate values): package window asks package solve for it. The
// version ends its writers' chains, and writes over it begin chains of their own.

// searchable says whether the writer of the ambiguous version v may be looked for: v is
// of a plain register.
func (s *ledger) searchable(v uint32) bool {
	if s.opt.Observed || s.opt.Ordered {
		return false
	}
	x := &s.versions[v]
	k := &s.keys[x.key]
	if k.flags&versioned != 0 && (x.flags&nothing == 0 || !k.emptied()) { // a transaction that told no version may have left it
		return false
	}
	return k.kind == event.Register && k.flags&(unsupported|hasBaseline) == 0 && x.flags&initialVersion == 0 &&
		(k.flags&(deleted|element) == 0 || k.flags&emptied != 0)
}

// IsDuplicate says whether v is of a register and has several possible writers.
func (s *absences) IsDuplicate(v uint32) bool {
	return s.versions[v].flags&(ambiguous|initialVersion) == ambiguous && s.keys[s.versions[v].key].kind == event.Register
}

// SureRegister reports whether v belongs to a register and has at most one possible writer.
func (s *absences) SureRegister(v uint32) bool {
	x := &s.versions[v]
	return x.flags&ambiguous == 0 && s.keys[x.key].kind == event.Register
}

// searched says whether the writer is searched, since several are possible.
func (s *absences) searched(v uint32) bool { return s.versions[v].possible > 1 && s.searchable(v) }

// countAmbiguous counts a read of v, which several may have written. In a window its reader may have
// retired when no writer was known. Then it was not checked whether the frozen order left v there.
func (s *absences) countAmbiguous(v uint32) {
	if !s.searchable(v) || s.versions[v].flags&lateReaders != 0 {
		if s.Counters.Ambiguous++; s.versions[v].flags&initialVersion != 0 {
			s.Counters.Absent++
		}
		return
	}
	s.Counters.Repeated++
	if s.versions[v].flags&nothing != 0 {
		s.Counters.Emptied++
	}
	s.unorder(s.versions[v].key)
}

// countAbsent counts an empty read of an unknown version.
func (s *absences) countAbsent() {
	s.Counters.Ambiguous++
	s.Counters.Absent++
}

// unorder notes that the order of the versions of k is not known.
func (s *absences) unorder(k uint32) {
	if x := &s.keys[k]; x.flags&(uncheckable|unordered) == 0 {
		x.flags |= unordered
		s.Counters.Unordered++
	}
}

// uproot makes the writes that replaced v blind, since v does not name one version any more.
func (s *registers) uproot(v uint32) {
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
		if s.txns[s.writes[id].txn].flags&retired != 0 && s.keys[s.versions[v].key].flags&emptied == 0 {
			s.retireWrite(id)
		}
	}
}

// DuplicateVersions are the versions of registers that were read and have several
// possible writers, by key, in the order of the hashes of their values.
func (s *absences) DuplicateVersions() map[uint32][]uint32 {
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

// DuplicateReads calls fn with each transaction that read v, if v has several possible writers. maybe
// says that it may have read from a transaction that does not count. One of unknown outcome may have
// taken effect, or a record may be missing. ok is false where the writers are not looked for.
func (s *absences) DuplicateReads(v uint32, fn func(reader uint32, maybe bool)) (ok bool) {
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
		if s.readers[r].saw() {
			fn(s.readers[r].txn, maybe)
		}
	}
	return true
}

// EachDuplicateRead calls fn with the versions that n read and whose writer is not known, since
// several left the value. In a read of a set, one element says nothing of the others.
func (s *absences) EachDuplicateRead(n uint32, fn func(v uint32)) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		if v := s.readers[id].version; s.versions[v].flags&(ambiguous|initialVersion) == ambiguous && !s.OfElement(v) {
			fn(v)
		}
	}
}

// EachOpenRead calls fn with the versions that n read first and whose writer is not known,
// since several may have left the value. writers is how many others are known to have left it.
// sure says that there is no other, as of now. All records of transactions that ended before n
// have come, nothing is forgotten, and no outcome is unknown.
func (s *absences) EachOpenRead(n uint32, now int64, fn func(v uint32, writers int, sure bool)) {
	complete := s.certain() && !s.opt.Existing && !s.values.forgot && s.txns[n].end+s.Patience() < now
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		v := s.readers[id].version
		if s.readers[id].reread || !s.IsDuplicate(v) || !s.searchable(v) {
			continue
		}
		if s.IsNothing(v) {
			fn(v, 0, false) // nobody need have left it
			continue
		}
		writers, sure := 0, complete && !s.values.has(s.valueKey(v))
		for w := s.versions[v].writes; w != 0; w = s.writes[w].nextOfVer {
			x := &s.writes[w]
			switch s.txns[x.txn].state {
			case tentative:
				sure = false
			case counted:
				if x.txn != n && !x.intermediate {
					writers++
				}
			}
		}
		fn(v, writers, sure)
	}
}

// EachReader calls fn with the transactions in memory that read v.
func (s *absences) EachReader(v uint32, fn func(n uint32)) {
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if s.readers[r].saw() {
			fn(s.readers[r].txn)
		}
	}
}

// EachWriter calls fn with the transactions in memory that count and left v.
func (s *absences) EachWriter(v uint32, fn func(n uint32)) {
	for w := s.versions[v].writes; w != 0; w = s.writes[w].nextOfVer {
		if x := &s.writes[w]; !x.intermediate && s.txns[x.txn].state == counted {
			fn(x.txn)
		}
	}
}

// maxAlone bounds the versions that LeftAlone looks at.
const maxAlone = 64

// LeftAlone is for a version v with several possible writers. It says whether the writers that are gone
// left v in its key, if all of them were gone before the key was unordered. Then each of these writers
// replaced the version of the writer before it. A transaction that replaced v would be a root now
// (uproot), or have marked v when it left memory.
func (s *absences) LeftAlone(v uint32, gone func(n uint32) bool) bool {
	x := &s.versions[v]
	initial := s.keys[x.key].initial
	if s.versions[initial].flags&overwrittenSince != 0 || x.flags&old != 0 {
		return false
	}
	left := false
	s.EachWriter(v, func(n uint32) { left = left || gone(n) })
	next, seen := []uint32{initial}, 0
	for left && len(next) > 0 {
		u := next[len(next)-1]
		next = next[:len(next)-1]
		for id := s.versions[u].over; id != 0; id = s.writes[id].nextOver {
			w := &s.writes[id]
			if seen++; seen > maxAlone || w.version != v && gone(w.txn) || s.versions[w.version].flags&old != 0 {
				return false
			}
			if w.version != v {
				next = append(next, w.version)
			}
		}
	}
	return left
}
