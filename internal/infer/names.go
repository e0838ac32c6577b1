package infer

import (
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/counters"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// The packages below have these types. Users of inference import this package only.
type (
	Anomaly      = ledger.Anomaly
	AnomalyKind  = ledger.AnomalyKind
	Counted      = counters.Counted
	CounterTxn   = counters.CounterTxn
	Counters     = ledger.Counters
	Deletion     = ledger.Deletion
	Edge         = ledger.Edge
	Expected     = ledger.Expected
	ExternalRead = causes.ExternalRead
	Info         = ledger.Info
	Kill         = ledger.Kill
	Label        = ledger.Label
	Left         = ledger.Left
	OpenRead     = ledger.OpenRead
	Options      = ledger.Options
	Out          = ledger.Out
	Reads        = ledger.Reads
	RecordKind   = ledger.RecordKind
	Ref          = ledger.Ref
	Shown        = ledger.Shown
	Step         = ledger.Step
)

// Labels, kinds of anomalies and the like have their names here, too.
const (
	Contradicting     = ledger.Contradicting
	Contradictory     = ledger.Contradictory
	CyclicVersions    = ledger.CyclicVersions
	DirtyUpdate       = ledger.DirtyUpdate
	Divergence        = ledger.Divergence
	DuplicateElements = ledger.DuplicateElements
	FutureRead        = ledger.FutureRead
	G1a               = ledger.G1a
	GarbageRead       = ledger.GarbageRead
	IncompatibleOrder = ledger.IncompatibleOrder
	Internal          = ledger.Internal
	MaxShown          = causes.MaxShown
	NoOrder           = ledger.NoOrder
	Nonlinearizable   = ledger.Nonlinearizable
	Nonrepeatable     = ledger.Nonrepeatable
	OpenCounter       = ledger.OpenCounter
	OpenDeleted       = ledger.OpenDeleted
	OpenMeanwhile     = ledger.OpenMeanwhile
	OpenNameless      = ledger.OpenNameless
	OpenNothing       = ledger.OpenNothing
	OpenOne           = ledger.OpenOne
	OpenRepeating     = ledger.OpenRepeating
	OpenRow           = ledger.OpenRow
	OpenSearched      = ledger.OpenSearched
	OpenSeveral       = ledger.OpenSeveral
	OpenUnattributed  = ledger.OpenUnattributed
	OpenUnchecked     = ledger.OpenUnchecked
	OpenUnrecorded    = ledger.OpenUnrecorded
	OtherRow          = ledger.OtherRow
	OutOfBounds       = ledger.OutOfBounds
	Process           = ledger.Process
	RW                = ledger.RW
	Realtime          = ledger.Realtime
	Repeated          = ledger.Repeated
	Reread            = ledger.Reread
	RetiredConflict   = ledger.RetiredConflict
	RetiredRead       = ledger.RetiredRead
	RetiredReader     = ledger.RetiredReader
	Saturated         = ledger.Saturated
	SequenceGap       = ledger.SequenceGap
	TooLate           = ledger.TooLate
	UnattributedRead  = ledger.UnattributedRead
	WR                = ledger.WR
	WW                = ledger.WW
	WrongTotal        = ledger.WrongTotal
)

// ErrRecord says that a record of the store is not what was written.
var ErrRecord = ledger.ErrRecord
