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
	Twice        = ledger.Twice
	OpenRead     = ledger.OpenRead
	Options      = ledger.Options
	Out          = ledger.Out
	Reads        = ledger.Reads
	RecordKind   = ledger.RecordKind
	Ref          = ledger.Ref
	Shown        = ledger.Shown
	Step         = ledger.Step
)

// Labels of edges.
const (
	WW        = ledger.WW
	WR        = ledger.WR
	RW        = ledger.RW
	Process   = ledger.Process
	Realtime  = ledger.Realtime
	Saturated = ledger.Saturated
	Reread    = ledger.Reread
	OtherRow  = ledger.OtherRow
)

// Kinds of anomalies.
const (
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
	NoOrder           = ledger.NoOrder
	Nonlinearizable   = ledger.Nonlinearizable
	Nonrepeatable     = ledger.Nonrepeatable
	OutOfBounds       = ledger.OutOfBounds
	RetiredConflict   = ledger.RetiredConflict
	RetiredRead       = ledger.RetiredRead
	RetiredReader     = ledger.RetiredReader
	SequenceGap       = ledger.SequenceGap
	UnattributedRead  = ledger.UnattributedRead
	WrongTotal        = ledger.WrongTotal
)

// Why a record was refused.
const (
	Repeated      = ledger.Repeated
	Contradicting = ledger.Contradicting
	TooLate       = ledger.TooLate
)

// Why a read is open.
const (
	OpenCounter      = ledger.OpenCounter
	OpenDeleted      = ledger.OpenDeleted
	OpenMeanwhile    = ledger.OpenMeanwhile
	OpenNameless     = ledger.OpenNameless
	OpenNothing      = ledger.OpenNothing
	OpenOne          = ledger.OpenOne
	OpenRepeating    = ledger.OpenRepeating
	OpenRow          = ledger.OpenRow
	OpenSearched     = ledger.OpenSearched
	OpenSeveral      = ledger.OpenSeveral
	OpenUnattributed = ledger.OpenUnattributed
	OpenUnchecked    = ledger.OpenUnchecked
	OpenUnrecorded   = ledger.OpenUnrecorded
)

// MaxShown is [causes.MaxShown].
const MaxShown = causes.MaxShown

// ErrRecord says that a record of the store is not what was written.
var ErrRecord = ledger.ErrRecord
