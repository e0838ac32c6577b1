package registers

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// comesAgain says whether nothing is a value of k that comes again, when k is deleted: if
// all that may have left it is on record.
func (s *Registers) comesAgain(k uint32) bool {
	o, x := &s.Opt, &s.Keys[k]
	return !o.Whole && o.Complete && !o.Existing && !o.Vacant() && !o.Observed && !o.ByVersion && !o.Ordered &&
		x.Kind == event.Register && x.Flags&(ledger.Unsupported|ledger.Uncheckable|ledger.HasBaseline|ledger.Repeats|ledger.Sums) == 0 && x.Flags&(ledger.Versioned|ledger.PlainBefore) != ledger.Versioned|ledger.PlainBefore
}

// AbsentUnknown says whether a read of nothing names no version of k, and none that comes
// again.
func (s *Registers) AbsentUnknown(k uint32) bool {
	x := &s.Keys[k]
	return s.Opt.Vacant() || x.Flags&ledger.Deleted != 0 && !x.Emptied()
}

// ToldDeletion is deletion by a delete that told its version. Reads of nothing may name that version,
// and writes may say that they replaced it. Then the empty reads of k stay undecided. It is false where
// inference on k stops.
func (s *Registers) ToldDeletion(k, n uint32) bool {
	if s.comesAgain(k) && s.Keys[k].Flags&ledger.Emptied == 0 {
		s.Keys[k].Flags |= ledger.PlainBefore
	}
	s.Deletion(k, n)
	if s.Keys[k].Flags&ledger.Emptied == 0 {
		return true
	}
	s.GiveUp(k)
	return false
}

// beginNothing makes nothing a version of k that comes again, which reads of nothing see from now on.
func (s *Registers) beginNothing(k uint32) {
	if s.Keys[k].Flags&ledger.Emptied != 0 {
		return
	}
	s.Keys[k].Flags |= ledger.Emptied
	s.Unorder(k)
	s.Out.Emptied = append(s.Out.Emptied, k)
	s.Versions[s.InternVersion(k, ledger.NothingHash())].Flags |= ledger.Ambiguous | ledger.Nothing
}

// mayHaveBeenDeleted begins with that when a read finds nothing in a key that a retired transaction had
// written: the deleter's record may be on its way. An edge to the retired one could not be placed. In
// real time the edge shows a stale read, and stays. The edge stays, too, until somebody has deleted a
// key.
func (s *Registers) mayHaveBeenDeleted(k uint32) {
	x := &s.Keys[k]
	if !s.Deletes || x.Flags&(ledger.Deleted|ledger.Emptied) != 0 || s.Opt.RealTime || !s.comesAgain(k) {
		return
	}
	left := s.Versions[x.Initial].Flags&ledger.Overwritten != 0
	for id := s.Versions[x.Initial].Over; id != 0 && !left; id = s.Writes[id].NextOver {
		left = s.Txns[s.Writes[id].Txn].Flags&ledger.Retired != 0
	}
	if left {
		s.beginNothing(k)
	}
}

// empty is called when somebody deleted k. The readers of the initial version have then read
// "nothing", a value that comes again. Transactions that had replaced the initial version may
// have replaced any "nothing". O(readers and replacements in memory), once a key.
func (s *Registers) empty(k uint32) {
	s.beginNothing(k)
	initial, v := s.Keys[k].Initial, s.Absent(k)
	x, y := &s.Versions[initial], &s.Versions[v]
	y.Flags |= x.Flags & (ledger.Seen | ledger.SeenSurely)
	x.Flags |= ledger.Ambiguous
	for r := x.Readers; r != 0; {
		older := s.OlderReader(r)
		s.Readers[r].Overwrote = false
		r = older
	}
	s.moveReaders(initial, v)
	if c := &s.Keys[k]; c.Stamp == s.Stamp && int(c.Touch) < len(s.Touches) && s.Touches[c.Touch].Key == k && s.Touches[c.Touch].ReadVer == initial {
		s.Touches[c.Touch].ReadVer = v
	}
	if s.Keys[k].Flags&ledger.FoundNothing != 0 {
		s.Counters.Repeated++
		s.Counters.Emptied++
	}
	for id := x.Over; id != 0; id = s.Writes[id].NextOver {
		s.Writes[id].Blind = true
	}
}

// moveReaders lets those who read u have read v, behind the readers that v has.
func (s *Registers) moveReaders(u, v uint32) {
	x, y := &s.Versions[u], &s.Versions[v]
	if x.Readers == 0 {
		return
	}
	if y.Readers == 0 {
		y.Open = s.OpenBy(v)
	}
	for r := x.Readers; ; r = s.Readers[r].Older {
		s.ReadCounts.Open[s.Readers[r].Why(x.Open)]--
		s.ReadCounts.Open[s.Readers[r].Why(y.Open)]++
		s.Readers[r].Version = v
		if r == x.Oldest {
			break
		}
	}
	if y.Readers == 0 {
		y.Readers = x.Readers
	} else {
		s.Readers[y.Oldest].Older, s.Readers[x.Readers].Newer = x.Readers, y.Oldest
	}
	y.Oldest = x.Oldest
	x.Readers, x.Oldest = 0, 0
}

// WasAbsent says whether v is the initial version of a key in which "nothing" comes again. It
// named the version of empty reads until the key was deleted.
func (s *Registers) WasAbsent(v uint32) bool {
	x := &s.Versions[v]
	return x.Flags&(ledger.InitialVersion|ledger.Ambiguous) == ledger.InitialVersion|ledger.Ambiguous && s.Keys[x.Key].Flags&ledger.Emptied != 0
}

// FoundKnown is about the version v of nothing that n found. It says whether all transactions that may
// have left it are in memory. Their records have come by now, and none was let go.
func (s *Registers) FoundKnown(v, n uint32, now int64) bool {
	return s.Certain() && !s.Opt.Existing && !s.Values.Forgot && !s.Values.Has(s.KeyOfValue(v)) && s.Txns[n].End+s.Patience() < now
}

// EachUser calls fn with those in memory that wrote k and did not abort, perhaps more than once.
// O(writes in memory).
func (s *Registers) EachUser(k uint32, fn func(n uint32)) {
	for id := range s.Writes {
		w := &s.Writes[id]
		if w.Version == 0 || s.Versions[w.Version].Key != k {
			continue
		}
		if t := &s.Txns[w.Txn]; t.State == ledger.Counted || t.State == ledger.Tentative {
			fn(w.Txn)
		}
	}
}

// EachKeyReader calls fn with those in memory that read what others wrote to k, perhaps more than once.
// O(writes in memory, and readers of k).
func (s *Registers) EachKeyReader(k uint32, fn func(n uint32)) {
	for id := range s.Writes {
		v := s.Writes[id].Version
		if v == 0 || s.Versions[v].Key != k || s.Writes[id].Intermediate || s.Versions[v].Writes != uint32(id) {
			continue
		}
		for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
			fn(s.Readers[r].Txn)
		}
	}
}

// SureReads calls fn with the versions that n read, and their writers. The writer is 0 if it is
// not known to be one transaction in memory. It is 0 if v belongs to neither a register nor an element.
func (s *Registers) SureReads(n uint32, fn func(v, w uint32)) {
	for id := s.Txns[n].Reads; id != 0; id = s.Readers[id].NextOfTxn {
		v, w := s.Readers[id].Version, uint32(0)
		x := &s.Versions[v]
		if s.Keys[x.Key].Kind == event.Register && x.Flags&(ledger.Ambiguous|ledger.InitialVersion|ledger.Unattributed|ledger.Unrecorded|ledger.OverwrittenByWriter) == 0 &&
			x.Writer != 0 &&
			s.Txns[x.Writer].State == ledger.Counted {
			w = x.Writer
		}
		fn(v, w)
	}
}

// LeftInMemory says whether all transactions that left the value v in its key are in memory, so far as
// is known: see FoundKnown.
func (s *Registers) LeftInMemory(v uint32) bool { return !s.Values.Has(s.KeyOfValue(v)) }

// TellsVersions says whether operations tell the versions of v's key.
func (s *Registers) TellsVersions(v uint32) bool { return s.Keys[s.Versions[v].Key].TellsVersions() }

// NothingKey is the ValueKey of what deletes leave in k.
func (s *Registers) NothingKey(k uint32) uint64 {
	return ledger.VersionHash(0, ledger.NothingHash()) ^ s.Keys[k].Hash.Lo
}

// NeverWritten says whether no transaction that is gone has left a value in k. It answers for the time
// while the order of k was known and nobody had deleted k. Values that replaced each other in a circle
// are looked at once. O(its versions in memory).
func (s *Registers) NeverWritten(k uint32, gone func(n uint32) bool) bool {
	next := []uint32{s.Keys[k].Initial}
	var seen map[uint32]bool
	for len(next) > 0 {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		if s.Versions[v].Flags&(ledger.Old|ledger.OverwrittenSince) != 0 {
			return false
		}
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			if gone(s.Writes[id].Txn) {
				return false
			}
			if u := s.Writes[id].Version; u != v && !seen[u] {
				if seen == nil {
					seen = map[uint32]bool{}
				}
				seen[u] = true
				next = append(next, u)
			}
		}
	}
	return true
}

// retireDelete lets go of the record of a delete whose transaction has retired. The frozen order is run
// by values, so the deleter need not be known. The versions that it replaced and the ones left before
// it are dropped, since a later read of them is of an old state.
func (s *Registers) retireDelete(id uint32) {
	v, k := s.Writes[id].Version, s.Versions[s.Writes[id].Version].Key
	s.Values.Add(s.KeyOfValue(v))
	if !s.Writes[id].Intermediate {
		s.leftBefore(k, s.Writes[id].Txn)
	}
	if p := s.Writes[id].Pred; p != 0 {
		s.Versions[p].Flags |= ledger.Overwritten | ledger.OverwrittenSince
		s.WithdrawOverwrite(id)
		s.Supersede(p)
	}
	s.UnlinkFromTxn(id)
	s.DropWrite(id)
	s.KeepVersion(v)
}

// leftBefore drops versions of the emptied key k that were left before n began. n wrote k and
// has retired. A version goes as soon as no live transaction has read it. The order of retiring
// says less, since orders differ. O(versions kept of k).
func (s *Registers) leftBefore(k, n uint32) {
	for u := *s.KeptHead(k); u != 0; {
		x := &s.Versions[u]
		next := x.Sibling
		if w := x.Writer; w != 0 && w != n && x.Over == 0 && s.Txns[w].Flags&ledger.Unknown == 0 && s.Txns[w].End < s.Txns[n].Start {
			x.Flags |= ledger.Overwritten
			s.Supersede(u)
		}
		u = next
	}
}
