package probe

import (
	"context"

	"github.com/isowatch/isowatch/event"
)

// Database is the database that a workload runs on.
type Database interface {
	// Reset makes the tables again, empty.
	Reset(ctx context.Context) error
	// Open opens a session. It is safe for concurrent use.
	Open(ctx context.Context) (Session, error)
}

// Session is one connection, for one goroutine. A session whose Begin or Rollback
// failed, and one with an unknown outcome, is closed and used no more.
type Session interface {
	// Begin begins a transaction.
	Begin(ctx context.Context) error
	// Do runs one operation of the transaction and puts the answer into op. After an
	// error the transaction is rolled back.
	Do(ctx context.Context, op *Op) error
	// Commit ends the transaction and says what is known of its outcome. It is Aborted
	// only when the database itself has refused the commit; after a lost connection,
	// a time-out or a cancelled context it is Unknown. err says why it is not Committed.
	Commit(ctx context.Context) (outcome event.Status, err error)
	// Rollback ends the transaction without an effect.
	Rollback(ctx context.Context) error
	// Close ends the connection. The database undoes what is open.
	Close() error
}

// Op is an operation that a session is asked for, and its answer. The answer holds what a read
// or a range found, and versions where the database gives them.
//
// Read finds the kind of object that Data names: a register where it names none.
// Write creates the key when it is not there.
type Op struct {
	event.RecordOp
	// Update has a Write change the row that is there and create none. If there is
	// none, the answer is a Read that found nothing. A Delete answers alike.
	Update bool
	// Versions has an operation on a counter tell its version, and the one that an increment
	// replaced.
	Versions bool
}
