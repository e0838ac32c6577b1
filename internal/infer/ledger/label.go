package ledger

import "github.com/isowatch/isowatch/finding"

// Dependencies and anomalies have the names that findings give them.
//
// [Label] is the kind of a dependency, and [AnomalyKind] the kind of an anomaly.
type (
	Label       = finding.Label
	AnomalyKind = finding.AnomalyKind
)

// Labels of edges. Version of a Saturated edge is the one that was read, the other's writer
// is From, and Witness is the reader.
const (
	WW        = finding.WW
	WR        = finding.WR
	RW        = finding.RW
	Process   = finding.Process
	Realtime  = finding.Realtime
	Saturated = finding.Saturated
	Reread    = finding.Reread
	OtherRow  = finding.OtherRow
)

// Kinds of anomalies: A, B and Version are the fields of [Anomaly].
const (
	Internal          = finding.Internal
	Nonrepeatable     = finding.Nonrepeatable
	Divergence        = finding.Divergence // A and B both overwrote Version after reading it
	G1a               = finding.G1a        // A read Version, and all its writers, B among them, aborted
	G1b               = finding.G1b        // A read Version, an intermediate one of B
	DirtyUpdate       = finding.DirtyUpdate
	IncompatibleOrder = finding.IncompatibleOrder
	DuplicateElements = finding.DuplicateElements
	FutureRead        = finding.FutureRead
	GarbageRead       = finding.GarbageRead
	UnattributedRead  = finding.UnattributedRead
	RetiredRead       = finding.RetiredRead     // a version older than what is kept: rule (d)
	RetiredReader     = finding.RetiredReader   // a retired transaction had read what A overwrote: rule (d)
	RetiredConflict   = finding.RetiredConflict // the same, when A has retired too, and only now a read shows that A replaced it
	SessionOverlap    = finding.SessionOverlap
	SequenceGap       = finding.SequenceGap
	Contradictory     = finding.Contradictory
	OutOfBounds       = finding.OutOfBounds // A's operation OpA read it; B is 0 for none
	WrongTotal        = finding.WrongTotal
	CyclicVersions    = finding.CyclicVersions // Version is the version that A wrote
	Nonlinearizable   = finding.Nonlinearizable
	NoOrder           = finding.NoOrder
)
