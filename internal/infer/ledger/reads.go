package ledger

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
	Decided          OpenRead = iota // the read is not open
	OpenNothing                      // it found nothing, and somebody may have deleted the key
	OpenUnrecorded                   // no record wrote the value that it saw, and a transaction without a record may have
	OpenRepeating                    // the values of the key's pattern repeat
	OpenSeveral                      // several transactions may have written the value that it saw
	OpenSearched                     // several may have written the value: the search for an order of the writers decides which
	OpenUnattributed                 // no record wrote the value that it saw, and the contract says that one must have
	OpenNameless                     // versions of the key are told by their texts, and the read has none
	OpenCounter                      // of a counter: which increments it saw is not known
	OpenOne                          // one transaction wrote the value that it saw, and it may have read the value from another one
	OpenMeanwhile                    // the same, for this reader alone, which ran at the writer's time: see causes/stood.go
	OpenDeleted                      // of a list that somebody deleted
	OpenRow                          // of a column of a row, whose version may be of a write of another column: see causes/columns.go
	OpenUnchecked                    // of a key or a kind of operation from which nothing is inferred
	OpenCauses                       // how many causes there are
)

// Reads are the reads of transactions that count. A key has the first read of a transaction, and later
// ones that differed. A scan counts as a read of each row, and of each key that it does not show. A
// write or delete is a read only if it names the version that it replaced.
type Reads struct {
	Total int64
	Open  [OpenCauses]int64 // by cause; what is counted as decided is not kept
	Loose int64             // of counters whose increments have no known order, though their versions are known
}

// Reads says how many were taken in, and how many are open.
func (s *Ledger) Reads() Reads { return s.ReadCounts }

// ReadOpen counts a read of n that names no version. A transaction of unknown outcome may not count
// again: see Forget.
func (s *Ledger) ReadOpen(n uint32, why OpenRead) {
	s.ReadCounts.Total++
	s.ReadCounts.Open[why]++
	if x := &s.Txns[n]; x.Flags&Unknown != 0 {
		if at := slices.Index(unnamedCauses[:], why); x.unnamed[at] < math.MaxUint8 {
			x.unnamed[at]++
		}
	}
}

// unnamedCauses are the causes of reads that name no version, by their place in Txn.unnamed.
var unnamedCauses = [8]OpenRead{
	OpenNothing - 1: OpenNothing, OpenUnrecorded - 1: OpenUnrecorded, OpenRepeating - 1: OpenRepeating,
	OpenSeveral - 1:  OpenUnchecked, // OpenSeveral is of versions, as is OpenSearched
	OpenSearched - 1: OpenRow,
	OpenNameless - 1: OpenNameless, OpenCounter - 1: OpenCounter,
}

// Forget takes out the reads of x that name no version.
func (r *Reads) Forget(x *Txn) {
	for i, n := range x.unnamed {
		r.Total -= int64(n)
		r.Open[unnamedCauses[i]] -= int64(n)
	}
	x.unnamed = [8]uint8{}
}

// Why is why a read is open, where its version is open for this cause.
func (x *Reader) Why(version OpenRead) OpenRead {
	if version == Decided && x.How == Perhaps {
		return OpenMeanwhile
	}
	return version
}

// Settle lets the readers of v count by what is known of v now. O(readers) if the cause has changed. A
// cause that changed with the key is noticed with the next reader.
func (r *Reads) Settle(s *Ledger, v uint32) {
	x := &s.Versions[v]
	if x.Readers == 0 {
		x.Open = Decided
		return
	}
	was, now := x.Open, s.OpenBy(v)
	if x.Open = now; was == now {
		return
	}
	for id := x.Readers; id != 0; id = s.OlderReader(id) {
		r.Open[s.Readers[id].Why(was)]--
		r.Open[s.Readers[id].Why(now)]++
	}
}

// Restore is for the state of a release that did not keep the causes with the versions.
func (r *Reads) Restore(s *Ledger) {
	for v := range s.Versions {
		if x := &s.Versions[v]; x.Readers != 0 && x.Open == Decided {
			x.Open = s.OpenBy(uint32(v))
		}
	}
}

// Saw notes how the reader id saw its version.
func (r *Reads) Saw(s *Ledger, id uint32, how howRead) {
	x := &s.Readers[id]
	open := s.Versions[x.Version].Open
	r.Open[x.Why(open)]--
	x.How = how
	r.Open[x.Why(open)]++
}

// OpenBy is why reads of v are open.
func (s *Ledger) OpenBy(v uint32) OpenRead {
	x := &s.Versions[v]
	const gone = Unsupported | Deleted
	switch {
	case s.Keys[x.Key].Kind == event.List && s.Keys[x.Key].Flags&gone == gone:
		return OpenDeleted
	case x.Flags&(Ambiguous|Unattributed|Unrecorded|OfAnotherColumn) == 0:
		return Decided
	case x.Flags&(Ambiguous|InitialVersion) == Ambiguous|InitialVersion:
		return OpenNothing
	case x.Flags&Ambiguous != 0 && s.Keys[x.Key].Flags&Repeats != 0:
		return OpenRepeating
	case x.Flags&Ambiguous != 0 && s.Searchable(v):
		return OpenSearched
	case x.Flags&Ambiguous != 0 && s.Keys[x.Key].Kind == event.Register && x.Possible == 1 && !s.Values.Has(s.KeyOfValue(v)):
		return OpenOne
	case x.Flags&Ambiguous != 0:
		return OpenSeveral
	case x.Flags&Unattributed != 0:
		return OpenUnattributed
	case x.Flags&OfAnotherColumn != 0:
		return OpenRow
	}
	return OpenUnrecorded
}

// Mark sets some flags of v and clears others. It counts the readers of v by the cause that is true
// now.
func (s *Ledger) Mark(v uint32, gain, lose VersionFlags) {
	x := &s.Versions[v]
	x.Flags = x.Flags&^lose | gain
	s.ReadCounts.Settle(s, v)
}

// checkReads says whether reads in memory are counted by what is known of their versions.
func (s *Ledger) checkReads() error {
	var live [OpenCauses]int64
	for v := range s.Versions {
		x := &s.Versions[v]
		if x.Key == 0 || x.Readers == 0 {
			continue
		}
		if now := s.OpenBy(uint32(v)); (now == Decided) != (x.Open == Decided) {
			return fmt.Errorf("reads of %s are counted by cause %d, and it is %d", s.Key(uint32(v)), x.Open, now)
		}
		for r := x.Readers; r != 0; r = s.OlderReader(r) {
			live[s.Readers[r].Why(x.Open)]++
		}
	}
	open := int64(0)
	for why := OpenNothing; why < OpenCauses; why++ {
		if open += s.ReadCounts.Open[why]; s.ReadCounts.Open[why] < live[why] {
			return fmt.Errorf("%d reads are counted as open by cause %d, and %d are in memory", s.ReadCounts.Open[why], why, live[why])
		}
	}
	if open > s.ReadCounts.Total {
		return fmt.Errorf("%d reads of %d are counted as open", open, s.ReadCounts.Total)
	}
	return nil
}
