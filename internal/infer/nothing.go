package infer

import "github.com/isowatch/isowatch/event"

// With a window, "nothing" is a value of a register that comes again, from the first recorded delete of
// the key on. Each delete leaves it, and it is there in the initial state. The order in which the
// window freezes tells whose "nothing" a read found, as for each value that several left
// (duplicate_values.go). A whole history has a tombstone of its own for each delete, and orders are
// tried there.

// nothingHash is the value of what deletes leave in an emptied key: no text has it.
func nothingHash() event.Hash { return event.Hash{Lo: 0x6e6f7468696e6721, Hi: 0x6e6f207465787421} }

// comesAgain says whether nothing is a value of k that comes again, when k is deleted: if
// all that may have left it is on record.
func (s *registers) comesAgain(k uint32) bool {
	o, x := &s.opt, &s.keys[k]
	return !o.Whole && o.Complete && !o.Existing && !o.vacant() && !o.Observed && !o.ByVersion && !o.Ordered &&
		x.kind == event.Register && x.flags&(unsupported|uncheckable|hasBaseline|repeats|sums) == 0 && x.flags&(versioned|plainBefore) != versioned|plainBefore
}

// absent is the version of k that a read of nothing saw.
func (s *ledger) absent(k uint32) uint32 {
	if !s.keys[k].emptied() {
		return s.keys[k].initial
	}
	return s.lookupVersion(k, nothingHash())
}

// absentUnknown says whether a read of nothing names no version of k, and none that comes
// again.
func (s *registers) absentUnknown(k uint32) bool {
	x := &s.keys[k]
	return s.opt.vacant() || x.flags&deleted != 0 && !x.emptied()
}

// toldDeletion is deletion by a delete that told its version. Reads of nothing may name that version,
// and writes may say that they replaced it. Then the empty reads of k stay undecided. It is false where
// inference on k stops.
func (s *registers) toldDeletion(k, n uint32) bool {
	if s.comesAgain(k) && s.keys[k].flags&emptied == 0 {
		s.keys[k].flags |= plainBefore
	}
	s.deletion(k, n)
	if s.keys[k].flags&emptied == 0 {
		return true
	}
	s.giveUp(k)
	return false
}

// emptied says whether nothing is a value of the key that comes again. If versions are told only since
// later operations, the older versions are not compared.
func (x *key) emptied() bool {
	return x.flags&emptied != 0 && x.flags&(versioned|plainBefore) != versioned|plainBefore
}

// beginNothing makes nothing a version of k that comes again, which reads of nothing see from now on.
func (s *registers) beginNothing(k uint32) {
	if s.keys[k].flags&emptied != 0 {
		return
	}
	s.keys[k].flags |= emptied
	s.unorder(k)
	s.out.Emptied = append(s.out.Emptied, k)
	s.versions[s.internVersion(k, nothingHash())].flags |= ambiguous | nothing
}

// mayHaveBeenDeleted begins with that when a read finds nothing in a key that a retired transaction had
// written: the deleter's record may be on its way. An edge to the retired one could not be placed. In
// real time the edge shows a stale read, and stays. The edge stays, too, until somebody has deleted a
// key.
func (s *registers) mayHaveBeenDeleted(k uint32) {
	x := &s.keys[k]
	if !s.deletes || x.flags&(deleted|emptied) != 0 || s.opt.RealTime || !s.comesAgain(k) {
		return
	}
	left := s.versions[x.initial].flags&overwritten != 0
	for id := s.versions[x.initial].over; id != 0 && !left; id = s.writes[id].nextOver {
		left = s.txns[s.writes[id].txn].flags&retired != 0
	}
	if left {
		s.beginNothing(k)
	}
}

// empty is called when somebody deleted k. The readers of the initial version have then read
// "nothing", a value that comes again. Transactions that had replaced the initial version may
// have replaced any "nothing". O(readers and replacements in memory), once a key.
func (s *registers) empty(k uint32) {
	s.beginNothing(k)
	initial, v := s.keys[k].initial, s.absent(k)
	x, y := &s.versions[initial], &s.versions[v]
	y.flags |= x.flags & (seen | seenSurely)
	x.flags |= ambiguous
	for r := x.readers; r != 0; {
		older := s.olderReader(r)
		s.readers[r].overwrote = false
		r = older
	}
	s.moveReaders(initial, v)
	if c := &s.keys[k]; c.stamp == s.stamp && int(c.touch) < len(s.touches) && s.touches[c.touch].key == k && s.touches[c.touch].readVer == initial {
		s.touches[c.touch].readVer = v
	}
	if s.keys[k].flags&foundNothing != 0 {
		s.Counters.Repeated++
		s.Counters.Emptied++
	}
	for id := x.over; id != 0; id = s.writes[id].nextOver {
		s.writes[id].blind = true
	}
}

// moveReaders lets those who read u have read v, behind the readers that v has.
func (s *registers) moveReaders(u, v uint32) {
	x, y := &s.versions[u], &s.versions[v]
	if x.readers == 0 {
		return
	}
	if y.readers == 0 {
		y.open = s.openBy(v)
	}
	for r := x.readers; ; r = s.readers[r].older {
		s.reads.Open[s.readers[r].why(x.open)]--
		s.reads.Open[s.readers[r].why(y.open)]++
		s.readers[r].version = v
		if r == x.oldest {
			break
		}
	}
	if y.readers == 0 {
		y.readers = x.readers
	} else {
		s.readers[y.oldest].older, s.readers[x.readers].newer = x.readers, y.oldest
	}
	y.oldest = x.oldest
	x.readers, x.oldest = 0, 0
}

// IsNothing says whether v is the version that deletes leave in an emptied key.
func (s *absences) IsNothing(v uint32) bool { return s.versions[v].flags&nothing != 0 }

// OfElement says whether v is of an element of a set.
func (s *absences) OfElement(v uint32) bool { return s.keys[s.versions[v].key].flags&element != 0 }

// WasAbsent says whether v is the initial version of a key in which "nothing" comes again. It
// named the version of empty reads until the key was deleted.
func (s *registers) WasAbsent(v uint32) bool {
	x := &s.versions[v]
	return x.flags&(initialVersion|ambiguous) == initialVersion|ambiguous && s.keys[x.key].flags&emptied != 0
}

// FoundKnown is about the version v of nothing that n found. It says whether all transactions that may
// have left it are in memory. Their records have come by now, and none was let go.
func (s *registers) FoundKnown(v, n uint32, now int64) bool {
	return s.certain() && !s.opt.Existing && !s.values.forgot && !s.values.has(s.valueKey(v)) && s.txns[n].end+s.Patience() < now
}

// EachUser calls fn with those in memory that wrote k and did not abort, perhaps more than once.
// O(writes in memory).
func (s *registers) EachUser(k uint32, fn func(n uint32)) {
	for id := range s.writes {
		w := &s.writes[id]
		if w.version == 0 || s.versions[w.version].key != k {
			continue
		}
		if t := &s.txns[w.txn]; t.state == counted || t.state == tentative {
			fn(w.txn)
		}
	}
}

// EachKeyReader calls fn with those in memory that read what others wrote to k, perhaps more than once.
// O(writes in memory, and readers of k).
func (s *registers) EachKeyReader(k uint32, fn func(n uint32)) {
	for id := range s.writes {
		v := s.writes[id].version
		if v == 0 || s.versions[v].key != k || s.writes[id].intermediate || s.versions[v].writes != uint32(id) {
			continue
		}
		for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
			fn(s.readers[r].txn)
		}
	}
}

// SureReads calls fn with the versions that n read, and their writers. The writer is 0 if it is
// not known to be one transaction in memory. It is 0 if v belongs to neither a register nor an element.
func (s *registers) SureReads(n uint32, fn func(v, w uint32)) {
	for id := s.txns[n].reads; id != 0; id = s.readers[id].nextOfTxn {
		v, w := s.readers[id].version, uint32(0)
		x := &s.versions[v]
		if s.keys[x.key].kind == event.Register && x.flags&(ambiguous|initialVersion|unattributed|unrecorded|overwrittenByWriter) == 0 && x.writer != 0 && s.txns[x.writer].state == counted {
			w = x.writer
		}
		fn(v, w)
	}
}

// LeftInMemory says whether all transactions that left the value v in its key are in memory, so far as
// is known: see FoundKnown.
func (s *registers) LeftInMemory(v uint32) bool { return !s.values.has(s.valueKey(v)) }

// TellsVersions says whether operations tell the versions of v's key.
func (s *registers) TellsVersions(v uint32) bool { return s.keys[s.versions[v].key].tellsVersions() }

// NothingKey is the ValueKey of what deletes leave in k.
func (s *registers) NothingKey(k uint32) uint64 {
	return versionHash(0, nothingHash()) ^ s.keys[k].hash.Lo
}

// NeverWritten says whether no transaction that is gone has left a value in k. It answers for the time
// while the order of k was known and nobody had deleted k. Values that replaced each other in a circle
// are looked at once. O(its versions in memory).
func (s *registers) NeverWritten(k uint32, gone func(n uint32) bool) bool {
	next := []uint32{s.keys[k].initial}
	var seen map[uint32]bool
	for len(next) > 0 {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		if s.versions[v].flags&(old|overwrittenSince) != 0 {
			return false
		}
		for id := s.versions[v].over; id != 0; id = s.writes[id].nextOver {
			if gone(s.writes[id].txn) {
				return false
			}
			if u := s.writes[id].version; u != v && !seen[u] {
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
func (s *registers) retireDelete(id uint32) {
	v, k := s.writes[id].version, s.versions[s.writes[id].version].key
	s.values.add(s.valueKey(v))
	if !s.writes[id].intermediate {
		s.leftBefore(k, s.writes[id].txn)
	}
	if p := s.writes[id].pred; p != 0 {
		s.versions[p].flags |= overwritten | overwrittenSince
		s.withdrawOverwrite(id)
		s.supersede(p)
	}
	s.unlinkFromTxn(id)
	s.dropWrite(id)
	s.keep(v)
}

// leftBefore drops versions of the emptied key k that were left before n began. n wrote k and
// has retired. A version goes as soon as no live transaction has read it. The order of retiring
// says less, since orders differ. O(versions kept of k).
func (s *registers) leftBefore(k, n uint32) {
	for u := *s.keptHead(k); u != 0; {
		x := &s.versions[u]
		next := x.sibling
		if w := x.writer; w != 0 && w != n && x.over == 0 && s.txns[w].flags&unknown == 0 && s.txns[w].end < s.txns[n].start {
			x.flags |= overwritten
			s.supersede(u)
		}
		u = next
	}
}
