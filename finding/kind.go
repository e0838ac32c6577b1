package finding

import "fmt"

// AnomalyKind names what is wrong without a cycle of dependencies, as Elle does where it
// has a name for it. A and B are the first two transactions of the witness.
type AnomalyKind uint8

const (
	Internal          AnomalyKind = iota + 1 // own write misread
	Nonrepeatable                            // two different external reads of a key; Elle: internal
	Divergence                               // lost update: A and B both overwrote a version after reading it
	G1a                                      // A read a version whose writers (B one of them) all aborted
	G1b                                      // A read an intermediate version of B
	DirtyUpdate                              // A's read shows B's aborted append before a committed one
	IncompatibleOrder                        // A's list read contradicts B's
	DuplicateElements                        // A's list read shows an element twice
	FutureRead                               // A read what it appended later
	GarbageRead                              // A read what nobody wrote
	UnattributedRead                         // as GarbageRead, but the capture does not exclude a writer
	RetiredRead                              // A read a version older than what is kept
	RetiredReader                            // A wrote what a retired transaction had read
	SessionOverlap                           // A and B of one session overlap, or their seq cannot be
	SequenceGap                              // members before A of its session are missing
	Contradictory                            // a record with A's id and other content
	OutOfBounds                              // A read a sum that no increments give; B, if there is one, read another that excludes it
	WrongTotal                               // A and B read different totals of counters among which transactions only move amounts
	CyclicVersions                           // A's read and write contradict the given order; B wrote what A read. With edges: the steps of a cycle
	Nonlinearizable                          // the operations on a key have no order in which each takes effect while it runs
	NoOrder                                  // no order of the transactions explains what they read
	RetiredConflict                          // A, retired too, wrote what a retired transaction had read

	afterLast // no kind: a new one comes before it
)

// kindWords are words for all of them, by number, for tests and logs. Findings have names instead:
// one name may cover several kinds.
var kindWords = [afterLast]string{
	Internal: "internal", Nonrepeatable: "nonrepeatable", Divergence: "divergence", G1a: "g1a", G1b: "g1b",
	DirtyUpdate: "dirty-update", IncompatibleOrder: "incompatible-order", DuplicateElements: "duplicate-elements",
	FutureRead: "future-read", GarbageRead: "garbage-read", UnattributedRead: "unattributed-read",
	RetiredRead: "retired-read", RetiredReader: "retired-reader", SessionOverlap: "session-overlap",
	SequenceGap: "sequence-gap", Contradictory: "contradictory", OutOfBounds: "out-of-bounds",
	WrongTotal: "wrong-total", CyclicVersions: "cyclic-versions", Nonlinearizable: "nonlinearizable",
	NoOrder: "no-order", RetiredConflict: "retired-conflict",
}

// AnomalyKinds are all kinds.
func AnomalyKinds() []AnomalyKind {
	var all []AnomalyKind
	for k := range kindWords[1:] {
		all = append(all, AnomalyKind(k+1))
	}
	return all
}

// String is a word for the kind, "" for none.
func (k AnomalyKind) String() string {
	if int(k) < len(kindWords) {
		return kindWords[k]
	}
	return fmt.Sprintf("%d", k)
}
