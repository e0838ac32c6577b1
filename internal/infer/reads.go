package infer

import (
	"fmt"
	"math"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Every read of a transaction that counts is counted. Reads of an unknown version are also
// counted by cause. While a read is in memory, it may go from one cause to another, or to none,
// when more is known of its version.

// OpenRead is the reason why nobody knows which version a read saw.
type OpenRead uint8

const (
	Decided          OpenRead = iota
	OpenNothing               // it found nothing, and somebody may have deleted the key
	OpenUnrecorded            // no record wrote the value that it saw, and a transaction without a record may have
	OpenRepeating             // the values of the key's pattern repeat
	OpenSeveral               // several transactions may have written the value that it saw
	OpenSearched              // several may have written the value: the search for an order of the writers decides which
	OpenUnattributed          // no record wrote the value that it saw, and the contract says that one must have
	OpenNameless              // versions of the key are told by their texts, and the read has none
	OpenCounter               // of a counter: which increments it saw is not known
	OpenOne                   // one transaction wrote the value that it saw, and it may have read the value from another one
	OpenMeanwhile             // the same, for this reader alone, which ran at the writer's time: see stood.go
	OpenDeleted               // of a list that somebody deleted
	OpenRow                   // of a column of a row, whose version may be of a write of another column: see columns.go
	OpenUnchecked             // of a key or a kind of operation from which nothing is inferred
	openCauses
)

// Reads are the reads of transactions that count. A key has the first read of a transaction, and later
// ones that differed. A scan counts as a read of each row, and of each key that it does not show. A
// write or delete is a read only if it names the version that it replaced.
type Reads struct {
	Total int64
	Open  [openCauses]int64 // by cause; what is counted as decided is not kept
	Loose int64             // of counters whose increments have no known order, though their versions are known
}

// Reads says how many were taken in, and how many are open.
func (s *ledger) Reads() Reads { return s.reads }

// readOpen counts a read of n that names no version. A transaction of unknown outcome may not count
// again: see forget.
func (s *ledger) readOpen(n uint32, why OpenRead) {
	s.reads.Total++
	s.reads.Open[why]++
	if x := &s.txns[n]; x.flags&unknown != 0 {
		if at := slices.Index(unnamedCauses[:], why); x.unnamed[at] < math.MaxUint8 {
			x.unnamed[at]++
		}
	}
}

// unnamedCauses are the causes of reads that name no version, by their place in txn.unnamed.
var unnamedCauses = [8]OpenRead{
	OpenNothing - 1: OpenNothing, OpenUnrecorded - 1: OpenUnrecorded, OpenRepeating - 1: OpenRepeating,
	OpenSeveral - 1:  OpenUnchecked, // OpenSeveral is of versions, as is OpenSearched
	OpenSearched - 1: OpenRow,
	OpenNameless - 1: OpenNameless, OpenCounter - 1: OpenCounter,
}

// readUnchecked counts a read of k by n, the transaction in work, from which nothing is inferred.
func (s *registers) readUnchecked(n, k uint32) {
	if s.keys[k].flags&unsupported != 0 {
		c := s.touchOf(k)
		if c.flags&hasRead != 0 {
			return
		}
		c.flags |= hasRead
	}
	s.readOpen(n, OpenUnchecked)
}

// uncheckedOp counts o, an operation of n on k from which nothing is inferred, if it is a read.
func (s *kinds) uncheckedOp(b *event.Batch, n, k uint32, o *event.Op) {
	_, prev := versionOf(b, o)
	switch {
	case o.Kind == event.Read && o.Nothing() && s.txns[n].flags&unknown != 0: // what it saw is not known
	case o.Kind == event.Read || o.Kind == event.CAS || len(prev) > 0 && s.keys[k].flags&versioned != 0:
		s.readUnchecked(n, k)
	}
}

// forget takes out the reads of x that name no version.
func (r *Reads) forget(x *txn) {
	for i, n := range x.unnamed {
		r.Total -= int64(n)
		r.Open[unnamedCauses[i]] -= int64(n)
	}
	x.unnamed = [8]uint8{}
}

// why is why a read is open, where its version is open for this cause.
func (x *reader) why(version OpenRead) OpenRead {
	if version == Decided && x.how == perhaps {
		return OpenMeanwhile
	}
	return version
}

// settle lets the readers of v count by what is known of v now. O(readers) if the cause has changed. A
// cause that changed with the key is noticed with the next reader.
func (r *Reads) settle(s *ledger, v uint32) {
	x := &s.versions[v]
	if x.readers == 0 {
		x.open = Decided
		return
	}
	was, now := x.open, s.openBy(v)
	if x.open = now; was == now {
		return
	}
	for id := x.readers; id != 0; id = s.olderReader(id) {
		r.Open[s.readers[id].why(was)]--
		r.Open[s.readers[id].why(now)]++
	}
}

// restore is for the state of a release that did not keep the causes with the versions.
func (r *Reads) restore(s *ledger) {
	for v := range s.versions {
		if x := &s.versions[v]; x.readers != 0 && x.open == Decided {
			x.open = s.openBy(uint32(v))
		}
	}
}

// saw notes how the reader id saw its version.
func (r *Reads) saw(s *ledger, id uint32, how howRead) {
	x := &s.readers[id]
	open := s.versions[x.version].open
	r.Open[x.why(open)]--
	x.how = how
	r.Open[x.why(open)]++
}

// openBy is why reads of v are open.
func (s *ledger) openBy(v uint32) OpenRead {
	x := &s.versions[v]
	const gone = unsupported | deleted
	switch {
	case s.keys[x.key].kind == event.List && s.keys[x.key].flags&gone == gone:
		return OpenDeleted
	case x.flags&(ambiguous|unattributed|unrecorded|ofAnotherColumn) == 0:
		return Decided
	case x.flags&(ambiguous|initialVersion) == ambiguous|initialVersion:
		return OpenNothing
	case x.flags&ambiguous != 0 && s.keys[x.key].flags&repeats != 0:
		return OpenRepeating
	case x.flags&ambiguous != 0 && s.searchable(v):
		return OpenSearched
	case x.flags&ambiguous != 0 && s.keys[x.key].kind == event.Register && x.possible == 1 && !s.values.has(s.valueKey(v)):
		return OpenOne
	case x.flags&ambiguous != 0:
		return OpenSeveral
	case x.flags&unattributed != 0:
		return OpenUnattributed
	case x.flags&ofAnotherColumn != 0:
		return OpenRow
	}
	return OpenUnrecorded
}

// mark sets some flags of v and clears others. It counts the readers of v by the cause that is true
// now.
func (s *ledger) mark(v uint32, gain, lose versionFlags) {
	x := &s.versions[v]
	x.flags = x.flags&^lose | gain
	s.reads.settle(s, v)
}

// checkReads says whether reads in memory are counted by what is known of their versions.
func (s *ledger) checkReads() error {
	var live [openCauses]int64
	for v := range s.versions {
		x := &s.versions[v]
		if x.key == 0 || x.readers == 0 {
			continue
		}
		if now := s.openBy(uint32(v)); (now == Decided) != (x.open == Decided) {
			return fmt.Errorf("reads of %s are counted by cause %d, and it is %d", s.Key(uint32(v)), x.open, now)
		}
		for r := x.readers; r != 0; r = s.olderReader(r) {
			live[s.readers[r].why(x.open)]++
		}
	}
	open := int64(0)
	for why := OpenNothing; why < openCauses; why++ {
		if open += s.reads.Open[why]; s.reads.Open[why] < live[why] {
			return fmt.Errorf("%d reads are counted as open by cause %d, and %d are in memory", s.reads.Open[why], why, live[why])
		}
	}
	if open > s.reads.Total {
		return fmt.Errorf("%d reads of %d are counted as open", open, s.reads.Total)
	}
	return nil
}
