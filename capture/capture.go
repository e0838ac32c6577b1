// Package capture records the transactions of a Go service as events that Isowatch reads
// (docs/format.md). An event holds the operations, the database's answers, and the outcome. The
// package needs the standard library only.
//
// A [Recorder] stands for one database. Each transaction is a [Txn]: begin it before the first
// statement is sent, and tell it each operation with its answer. End it with the outcome, as
// far as it is known. The record goes into one bounded queue, and a goroutine hands batches to
// a [Sink]. Nothing here waits for the sink: when the queue is full, whole transactions are
// dropped, counted, and told to the monitor.
//
// Values leave the process as keyed hashes, unless [WithPlainValues] is given: the
// monitor needs to know only which are equal.
//
// All methods may be called on a nil [Recorder] and a nil [Txn], and do nothing
// then, so that a service can leave capture out.
package capture

import (
	"context"

	"github.com/isowatch/isowatch/event/record"
)

// Status is the outcome of a transaction as its client knows it.
type Status = record.Status

const (
	// Committed: the database said that the commit succeeded.
	Committed = record.Committed
	// Aborted: nothing took effect, for certain.
	Aborted = record.Aborted
	// Unknown: anything else; above all an error, a time-out or a cancelled
	// context while the commit was on its way.
	Unknown = record.Unknown
)

// Sink takes batches of encoded records to where the monitor reads them.
type Sink interface {
	// Write delivers lines, each a record without a line end, in this order. It returns nil
	// only when all of them are delivered. After an error the same lines are written again, so
	// a record may arrive twice. The monitor recognises the second one. It keeps nothing of
	// lines after it returned, and gives up when ctx ends. Calls do not overlap.
	Write(ctx context.Context, lines [][]byte) error
	// Close ends the sink, after the last Write.
	Close() error
}

// Rejected is the error of a [Sink] that delivered all lines but some that it will
// never take, because they are too long for it. They are not written again, and
// count as dropped.
type Rejected struct {
	Lines int   // how many
	Err   error // why
}

// Error is the reason.
func (r *Rejected) Error() string { return r.Err.Error() }

// Unwrap is the reason.
func (r *Rejected) Unwrap() error { return r.Err }
