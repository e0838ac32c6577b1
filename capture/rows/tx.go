package rows

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/isowatch/isowatch/capture"
)

// Tx runs statements: SQL makes one of database/sql's, capture/pgx.Rows one of pgx's.
type Tx interface {
	Query(ctx context.Context, statement string, args ...any) (Cursor, error)
	// Exec returns how many rows were written.
	Exec(ctx context.Context, statement string, args ...any) (int64, error)
}

// Cursor is the result of a query.
type Cursor interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}

// Queryer is a transaction of database/sql, or what runs a statement as one: *sql.Tx, *sql.Conn,
// *sql.DB, what sqlx has of these, and GORM's ConnPool (gorm.DB.Statement.ConnPool).
type Queryer interface {
	capture.Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// SQL is q as a Tx.
func SQL(q Queryer) Tx { return sqlTx{q} }

type sqlTx struct{ q Queryer }

func (t sqlTx) Query(ctx context.Context, statement string, args ...any) (Cursor, error) {
	rows, err := t.q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err // a nil *sql.Rows in a Cursor would not be nil
	}
	return rows, nil
}

func (t sqlTx) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := t.q.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// one runs a query whose result is at most one row.
func (x *text) one(ctx context.Context, tx Tx, into ...any) (found bool, err error) {
	cursor, err := tx.Query(ctx, x.String(), x.args...)
	if err != nil {
		return false, err
	}
	if found = cursor.Next(); found {
		err = cursor.Scan(into...)
	}
	for err == nil && cursor.Next() {
		hint := ""
		if x.t.Dialect == PostgreSQL {
			hint = ", or the transaction inserted a row and still sees the one that was there before. REPEATABLE READ does that if another transaction has deleted that row meanwhile. A scan (Range) shows both"
		}
		err = x.t.fault("%s = %v is several rows: it is not a primary key%s", x.t.Key, x.args[0], hint)
	}
	return found, cmp.Or(err, cursor.Err(), cursor.Close())
}

// exec runs a statement that writes at most one row.
func (x *text) exec(ctx context.Context, tx Tx) (affected int64, err error) {
	return tx.Exec(ctx, x.String(), x.args...)
}
