package event

import "github.com/isowatch/isowatch/event/record"

// These are the types of package record. Its Op is a RecordOp here, since an Op of this package
// belongs to a Batch.
type (
	Record    = record.Record
	RecordOp  = record.Op
	RecordRow = record.Row
	Status    = record.Status
	OpKind    = record.OpKind
	DataKind  = record.DataKind
	OpFlags   = record.OpFlags
	TxnFlags  = record.TxnFlags
)

// DefaultSource is the source of records that name none, and the others are limits of a record: see package record.
const (
	DefaultSource = record.DefaultSource
	MaxRecord     = record.MaxRecord
	MaxOps        = record.MaxOps
	MaxDepth      = record.MaxDepth
	MaxLabels     = record.MaxLabels
	MaxLabelText  = record.MaxLabelText
)

// Outcomes of transactions.
const (
	Committed = record.Committed
	Aborted   = record.Aborted
	Unknown   = record.Unknown
)

// Kinds of operations.
const (
	Read   = record.Read
	Write  = record.Write
	Append = record.Append
	Add    = record.Add
	Remove = record.Remove
	Inc    = record.Inc
	CAS    = record.CAS
	Insert = record.Insert
	Delete = record.Delete
	Range  = record.Range
)

// Kinds of data.
const (
	AnyKind  = record.AnyKind
	Register = record.Register
	List     = record.List
	Set      = record.Set
	Counter  = record.Counter
)

// Flags of operations.
const (
	NotFound   = record.NotFound
	IsArray    = record.IsArray
	Success    = record.Success
	HasExtra   = record.HasExtra
	ShortValue = record.ShortValue
	ShortKey   = record.ShortKey
)

// Flags of transactions.
const (
	HasSeq      = record.HasSeq
	HasTimes    = record.HasTimes
	HasStartTS  = record.HasStartTS
	HasCommitTS = record.HasCommitTS
	Stale       = record.Stale
)

// AppendJSON appends r as one line of the documented format, without the line
// end. Decoding it gives the same transaction.
func AppendJSON(dst []byte, r *Record) []byte { return record.AppendJSON(dst, r) }
