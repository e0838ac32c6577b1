package capture

//lint:file-ignore SA1019 a driver may have nothing else

import (
	"context"
	"database/sql/driver"

	"github.com/isowatch/isowatch/capture/internal/statement"
)

// stmt is a prepared statement.
type stmt struct {
	inner driver.Stmt
	conn  *conn
	verb  statement.Verb
	name  string // as statement.Parse gives it
}

// convertingStmt is a statement of a driver that converts arguments column by column.
// Whether one does so cannot be answered at run time by a method.
type convertingStmt struct {
	*stmt
	driver.ColumnConverter
}

var _ interface {
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
} = (*stmt)(nil)

// Close implements [driver.Stmt].
func (s *stmt) Close() error { return s.inner.Close() }

// NumInput implements [driver.Stmt].
func (s *stmt) NumInput() int { return s.inner.NumInput() }

// Exec implements [driver.Stmt]. Package database/sql calls ExecContext.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query implements [driver.Stmt]. Package database/sql calls QueryContext.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return values
}

// ExecContext implements [driver.StmtExecContext].
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	var result driver.Result = driver.RowsAffected(0)
	err := s.conn.run(ctx, s.verb, s.name, func() (err error) {
		result, err = s.exec(ctx, args)
		return err
	})
	return result, err
}

func (s *stmt) exec(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if e, ok := s.inner.(driver.StmtExecContext); ok {
		return e.ExecContext(ctx, args)
	}
	values, err := plain(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.inner.Exec(values)
}

// QueryContext implements [driver.StmtQueryContext].
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.conn.run(ctx, s.verb, s.name, func() (err error) {
		rows, err = s.query(ctx, args)
		return err
	})
	return rows, err
}

func (s *stmt) query(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := s.inner.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, args)
	}
	values, err := plain(ctx, args)
	if err != nil {
		return nil, err
	}
	return s.inner.Query(values)
}

// CheckNamedValue implements [driver.NamedValueChecker]. Where the statement has no checker,
// the connection's is asked, as database/sql does.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.inner.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	if n, ok := s.conn.inner.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
