package finding

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
	SessionOverlap                           // A and B of one session overlap
	SequenceGap                              // members before A of its session are missing
	Contradictory                            // a record with A's id and other content
	OutOfBounds                              // A read a sum that no increments give; B, if there is one, read another that excludes it
	WrongTotal                               // A and B read different totals of counters among which transactions only move amounts
	CyclicVersions                           // A's read and write contradict the given order; B wrote what A read. With edges: the steps of a circle
	Nonlinearizable                          // the operations on a key have no order in which each takes effect while it runs
	NoOrder                                  // no order of the transactions explains what they read
	RetiredConflict                          // A, retired too, wrote what a retired transaction had read
)
