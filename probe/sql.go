package probe

import (
	"context"
	"database/sql"
	"errors"

	"github.com/isowatch/isowatch/event"
)

// SQL is a [Database] over database/sql. Registers, lists and counters have a table each. The
// key is its primary key, compared by its bytes.
type SQL struct {
	DB *sql.DB // keeps no idle connections: see [OpenSQL]
	Dialect
}

// Dialect holds the differences between databases.
type Dialect struct {
	// Prefix begins the names of the tables in all statements; default none.
	Prefix string
	// Reset are the statements that make the tables again. They are registers (k, v), lists (k,
	// v) with elements joined by commas, and counters (k, n, ver), where ver is 1 at first.
	Reset []string
	// Upsert and Append take a key and a value. Parameters are written as "?". Without an
	// Upsert a register is updated, and inserted if it is not there.
	Upsert, Append string
	// Numbered parameters are $1, $2 and so on.
	Numbered bool
	// Returning says that the database knows UPDATE ... RETURNING.
	Returning bool
	// Version, unless empty, is an expression that gives a row's version as text. It can
	// be read behind RETURNING.
	Version string
	// Isolation of the transactions.
	Isolation sql.IsolationLevel
	// Session are statements that prepare a connection.
	Session []string
	// ReadOnly, unless empty, is a query whose one value says whether the server takes no
	// writes.
	ReadOnly string
	// Follower is the isolation at a server that takes no writes, where it is another one.
	Follower sql.IsolationLevel
	// Outcome is the outcome, as far as it is known, after a commit failed with err: Aborted or
	// Unknown.
	Outcome func(err error) event.Status
}

// OpenSQL takes db over. A connection that is closed must be gone, with what it had
// begun, so db keeps none.
func OpenSQL(db *sql.DB, d Dialect) *SQL {
	db.SetMaxIdleConns(-1)
	return &SQL{db, d}
}

// Close ends all connections.
func (s *SQL) Close() error { return s.DB.Close() }

// Reset implements [Database].
func (s *SQL) Reset(ctx context.Context) error {
	for _, statement := range s.Dialect.Reset {
		if _, err := s.DB.ExecContext(ctx, s.Dialect.text(statement)); err != nil {
			return err
		}
	}
	return nil
}

// Open implements [Database].
func (s *SQL) Open(ctx context.Context) (Session, error) {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range s.Dialect.Session {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &sqlSession{dialect: &s.Dialect, texts: s.Dialect.texts(), conn: conn}, nil
}

// sqlSession is one connection of a [SQL].
type sqlSession struct {
	dialect *Dialect
	texts   map[string]string
	conn    *sql.Conn
	tx      *sql.Tx
	follows bool // the server takes no writes, as far as is known
}

// Begin implements [Session]. A server that takes no writes is asked for none: its user may
// have the right to write all the same.
func (s *sqlSession) Begin(ctx context.Context) (err error) {
	level := s.dialect.Isolation
	if s.follows && s.dialect.Follower != sql.LevelDefault {
		level = s.dialect.Follower
	}
	s.tx, err = s.conn.BeginTx(ctx, &sql.TxOptions{Isolation: level, ReadOnly: s.follows})
	return err
}

// Commit implements [Session].
func (s *sqlSession) Commit(context.Context) (event.Status, error) {
	if err := s.tx.Commit(); err != nil {
		return s.dialect.Outcome(err), err
	}
	return event.Committed, nil
}

// Rollback implements [Session].
func (s *sqlSession) Rollback(context.Context) error { return s.tx.Rollback() }

// ReadOnly implements [Follower].
func (s *sqlSession) ReadOnly(ctx context.Context) (is bool, err error) {
	if s.dialect.ReadOnly == "" {
		return false, nil
	}
	err = s.conn.QueryRowContext(ctx, s.dialect.ReadOnly).Scan(&s.follows)
	return s.follows, err
}

// Close implements [Session]. A connection waits for its transaction, so that one which
// is open must be ended before.
func (s *sqlSession) Close() error {
	if s.tx != nil {
		_ = s.tx.Rollback() // the end of the connection does the same
	}
	return s.conn.Close()
}
