package infer

import "fmt"

// Every read of a transaction that counts is counted. Reads of an unknown version are also
// counted by cause. While a read is in memory, it may go from one cause to another, or to none,
// when more is known of its version.

// OpenRead is why it is not known which version a read saw.
type OpenRead uint8

const (
	Decided          OpenRead = iota
	OpenNothing               // it found nothing, and somebody may have deleted what was there
	OpenUnrecorded            // no record wrote what it saw, and one without a record may have
	OpenRepeating             // the values of the key's pattern repeat
	OpenSeveral               // several transactions may have written what it saw
	OpenSearched              // so they may, and whose it is is searched with the order of the writers
	OpenUnattributed          // no record wrote what it saw, and one should have
	OpenNameless              // versions of the key are told by their texts, and it has none
	OpenCounter               // of a counter: which increments it saw is not known
	openCauses
)

// Reads are the reads of transactions that count. A key has the first read of a transaction,
// and later ones that differed. A scan has each row, and each key that it does not show.
type Reads struct {
	Total int64
	Open  [openCauses]int64 // by cause; what is counted as decided is not kept
	Loose int64             // of counters whose increments have no known order, though their versions are known
}

// Reads says how many were taken in, and how many are open.
func (s *State) Reads() Reads { return s.reads }

// readOpen counts a read that names no version.
func (s *State) readOpen(why OpenRead) {
	s.reads.Total++
	s.reads.Open[why]++
}

// openBy is why reads of v are open.
func (s *State) openBy(v uint32) OpenRead {
	x := &s.versions[v]
	switch {
	case x.flags&(ambiguous|unattributed|unrecorded) == 0:
		return Decided
	case x.flags&(ambiguous|initialVersion) == ambiguous|initialVersion:
		return OpenNothing
	case x.flags&ambiguous != 0 && s.keys[x.key].flags&repeats != 0:
		return OpenRepeating
	case x.flags&ambiguous != 0 && s.searchable(v):
		return OpenSearched
	case x.flags&ambiguous != 0:
		return OpenSeveral
	case x.flags&unattributed != 0:
		return OpenUnattributed
	}
	return OpenUnrecorded
}

// mark gives v these flags and takes those, and its readers with it. O(readers), where that
// changes something.
func (s *State) mark(v uint32, gain, lose versionFlags) {
	x := &s.versions[v]
	if x.readers == 0 {
		x.flags = x.flags&^lose | gain
		return
	}
	was := s.openBy(v)
	x.flags = x.flags&^lose | gain
	now := s.openBy(v)
	if was == now {
		return
	}
	for r := x.readers; r != 0; r = s.olderReader(r) {
		s.reads.Open[was]--
		s.reads.Open[now]++
	}
}

// checkReads says whether as many reads are counted as open as are so in memory.
func (s *State) checkReads() error {
	live := int64(0)
	for v := range s.versions {
		if s.versions[v].key == 0 {
			continue
		}
		for r := s.versions[v].readers; r != 0 && s.openBy(uint32(v)) != Decided; r = s.olderReader(r) {
			live++
		}
	}
	open := int64(0)
	for why := OpenNothing; why < openCauses; why++ {
		open += s.reads.Open[why]
	}
	if open < live || open > s.reads.Total {
		return fmt.Errorf("%d reads of %d are counted as open, %d are in memory", open, s.reads.Total, live)
	}
	return nil
}
