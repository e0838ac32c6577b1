package capture

import (
	"context"
	"database/sql"
)

// Asked is the answer of a statement about the transaction that it ran in: see [Asking].
type Asked struct {
	// Txn is the transaction. nil: the connection is not captured, or the statement was
	// not sent.
	Txn *Txn
	// Own says that the statement ran outside of a transaction and is one by itself. Then
	// who asked ends it, by End.
	Own     bool
	only    bool // nothing is run
	outcome func(error) Status
}

type askedKey struct{}

// Asking returns a context for one statement. When that has been run, Asked names its
// transaction: the one that is open on the connection, or one of its own where none is.
// It works through whatever is between here and the driver, such as sqlx, GORM and pools.
func Asking(ctx context.Context) (context.Context, *Asked) {
	a := &Asked{}
	return context.WithValue(ctx, askedKey{}, a), a
}

// AskedIn is for drivers and tracers: what the statement with this context is asked for, nil if it
// is not.
func AskedIn(ctx context.Context) *Asked { return askedIn(ctx) }

func askedIn(ctx context.Context) *Asked {
	a, _ := ctx.Value(askedKey{}).(*Asked)
	return a
}

// Answer is for drivers and tracers: it names the transaction. outcome says what is known
// of one of its own after an error; nil: Unknown.
func (a *Asked) Answer(t *Txn, own bool, outcome func(error) Status) { a.answer(t, own, outcome) }

func (a *Asked) answer(t *Txn, own bool, outcome func(error) Status) {
	a.Txn, a.Own, a.outcome = t, own, outcome
}

// discard forgets a transaction of its own that has sent nothing.
func (a *Asked) discard() {
	if a.Own {
		a.Txn.Discard()
	}
	a.Txn, a.Own = nil, false
}

// End ends a transaction of its own, whose statement was answered with err. It does
// nothing to any other one.
func (a *Asked) End(err error) {
	switch {
	case a.Txn == nil || !a.Own:
		return
	case err == nil:
		a.Txn.End(Committed)
	case a.outcome == nil:
		a.Txn.End(Unknown)
	default:
		a.Txn.End(a.outcome(err))
	}
	a.Txn = nil
}

// Execer is a transaction of database/sql: *sql.Tx, *sql.Conn, *sqlx.Tx, and what GORM calls
// a ConnPool.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Of returns the transaction that is open on tx, for operations that no helper knows. It
// returns nil, whose methods do nothing, when tx has ended or its driver is not wrapped by [Connector]. The
// database is not asked anything, but without a wrapped driver it runs "SELECT 1".
func Of(ctx context.Context, tx Execer) *Txn {
	a := &Asked{only: true}
	if _, err := tx.ExecContext(context.WithValue(ctx, askedKey{}, a), "SELECT 1"); err != nil {
		return nil
	}
	return a.Txn
}
