package causes

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// IsDuplicate says whether v is of a register and has several possible writers.
func (s *Absences) IsDuplicate(v uint32) bool {
	return s.Versions[v].Flags&(ledger.Ambiguous|ledger.InitialVersion) == ledger.Ambiguous && s.Keys[s.Versions[v].Key].Kind == event.Register
}

// SureRegister reports whether v belongs to a register and has at most one possible writer.
func (s *Absences) SureRegister(v uint32) bool {
	x := &s.Versions[v]
	return x.Flags&ledger.Ambiguous == 0 && s.Keys[x.Key].Kind == event.Register
}

// Searched says whether the writer is searched, since several are possible.
func (s *Absences) Searched(v uint32) bool { return s.Versions[v].Possible > 1 && s.Searchable(v) }

// Unsearched says whether v has several possible writers, and the contract lets nobody search them.
// Each read of it is counted as ambiguous, and no order decides it.
func (s *Absences) Unsearched(v uint32) bool {
	return (s.Opt.Observed || s.Opt.Ordered) && s.Versions[v].Flags&ledger.Ambiguous != 0
}

// CountAmbiguous counts a read of v, which several may have written. In a window its reader may have
// retired when no writer was known. Then it was not checked whether the frozen order left v there.
func (s *Absences) CountAmbiguous(v uint32) {
	if !s.Searchable(v) || s.Versions[v].Flags&ledger.LateReaders != 0 {
		if s.Counters.Ambiguous++; s.Versions[v].Flags&ledger.InitialVersion != 0 {
			s.Counters.Absent++
		}
		return
	}
	s.Counters.Repeated++
	if s.Versions[v].Flags&ledger.Nothing != 0 {
		s.Counters.Emptied++
	}
	s.Unorder(s.Versions[v].Key)
}

// CountAbsent counts an empty read of an unknown version.
func (s *Absences) CountAbsent() {
	s.Counters.Ambiguous++
	s.Counters.Absent++
}

// Unorder notes that the order of the versions of k is not known.
func (s *Absences) Unorder(k uint32) {
	if x := &s.Keys[k]; x.Flags&(ledger.Uncheckable|ledger.Unordered) == 0 {
		x.Flags |= ledger.Unordered
		s.Counters.Unordered++
	}
}

// DuplicateVersions are the versions of registers that were read and have several
// possible writers, by key, in the order of the hashes of their values.
func (s *Absences) DuplicateVersions() map[uint32][]uint32 {
	if s.Counters.Repeated == 0 {
		return nil
	}
	by := map[uint32][]uint32{}
	for v := range s.Versions {
		if x := &s.Versions[v]; x.Key != 0 && x.Flags&(ledger.Ambiguous|ledger.InitialVersion) == ledger.Ambiguous && x.Readers != 0 && s.Keys[x.Key].Kind == event.Register {
			by[x.Key] = append(by[x.Key], uint32(v))
		}
	}
	for _, vs := range by { // each by itself
		slices.SortFunc(vs, func(a, b uint32) int { return cmp.Compare(s.KeyOfValue(a), s.KeyOfValue(b)) })
	}
	return by
}

// DuplicateReads calls fn with each transaction that read v, if v has several possible writers. maybe
// says that it may have read from a transaction that does not count. One of unknown outcome may have
// taken effect, or a record may be missing. ok is false where the writers are not looked for.
func (s *Absences) DuplicateReads(v uint32, fn func(reader uint32, maybe bool)) (ok bool) {
	x := &s.Versions[v]
	if x.Flags&ledger.Ambiguous == 0 {
		return true
	}
	if !s.Searched(v) {
		return false
	}
	maybe := !s.Certain() || s.Opt.Existing
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		maybe = maybe || s.Txns[s.Writes[id].Txn].State == ledger.Tentative
	}
	for r := x.Readers; r != 0; r = s.OlderReader(r) {
		if s.Readers[r].Saw() {
			fn(s.Readers[r].Txn, maybe)
		}
	}
	return true
}

// EachDuplicateRead calls fn with the versions that n read and whose writer is not known, since
// several left the value. In a read of a set, one element says nothing of the others.
func (s *Absences) EachDuplicateRead(n uint32, fn func(v uint32)) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		if v := s.Readers[id].Version; s.Versions[v].Flags&(ledger.Ambiguous|ledger.InitialVersion) == ledger.Ambiguous && !s.OfElement(v) {
			fn(v)
		}
	}
}

// EachOpenRead calls fn with the versions that n read first and whose writer is not known,
// since several may have left the value. writers is how many others are known to have left it.
// sure says that there is no other, as of now. All records of transactions that ended before n
// have come, nothing is forgotten, and no outcome is unknown.
func (s *Absences) EachOpenRead(n uint32, now int64, fn func(v uint32, writers int, sure bool)) {
	complete := s.Certain() && !s.Opt.Existing && !s.Values.Forgot && s.Txns[n].End+s.Patience() < now
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		v := s.Readers[id].Version
		if s.Readers[id].Reread || !s.IsDuplicate(v) || !s.Searchable(v) {
			continue
		}
		if s.IsNothing(v) {
			fn(v, 0, false) // nobody need have left it
			continue
		}
		writers, sure := 0, complete && !s.Values.Has(s.KeyOfValue(v))
		for w := s.Versions[v].Writes; w != 0; w = s.Writes[w].NextOfVer {
			x := &s.Writes[w]
			switch s.Txns[x.Txn].State {
			case ledger.Tentative:
				sure = false
			case ledger.Counted:
				if x.Txn != n && !x.Intermediate {
					writers++
				}
			}
		}
		fn(v, writers, sure)
	}
}

// EachReader calls fn with the transactions in memory that read v.
func (s *Absences) EachReader(v uint32, fn func(n uint32)) {
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		if s.Readers[r].Saw() {
			fn(s.Readers[r].Txn)
		}
	}
}

// EachWriter calls fn with the transactions in memory that count and left v.
func (s *Absences) EachWriter(v uint32, fn func(n uint32)) {
	for w := s.Versions[v].Writes; w != 0; w = s.Writes[w].NextOfVer {
		if x := &s.Writes[w]; !x.Intermediate && s.Txns[x.Txn].State == ledger.Counted {
			fn(x.Txn)
		}
	}
}

// maxAlone bounds the versions that LeftAlone looks at.
const maxAlone = 64

// LeftAlone is for a version v with several possible writers. It says whether the writers that are gone
// left v in its key, if all of them were gone before the key was unordered. Then each of these writers
// replaced the version of the writer before it. A transaction that replaced v would be a root now
// (uproot in package registers), or have marked v when it left memory.
func (s *Absences) LeftAlone(v uint32, gone func(n uint32) bool) bool {
	x := &s.Versions[v]
	initial := s.Keys[x.Key].Initial
	if s.Versions[initial].Flags&ledger.OverwrittenSince != 0 || x.Flags&ledger.Old != 0 {
		return false
	}
	left := false
	s.EachWriter(v, func(n uint32) { left = left || gone(n) })
	next, seen := []uint32{initial}, 0
	for left && len(next) > 0 {
		u := next[len(next)-1]
		next = next[:len(next)-1]
		for id := s.Versions[u].Over; id != 0; id = s.Writes[id].NextOver {
			w := &s.Writes[id]
			if seen++; seen > maxAlone || w.Version != v && gone(w.Txn) || s.Versions[w.Version].Flags&ledger.Old != 0 {
				return false
			}
			if w.Version != v {
				next = append(next, w.Version)
			}
		}
	}
	return left
}
