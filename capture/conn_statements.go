package capture

//lint:file-ignore SA1019 a driver may have nothing else

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/isowatch/isowatch/capture/internal/statement"
)

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	v, name := statement.Parse(query)
	var result driver.Result = driver.RowsAffected(0)
	err := c.run(ctx, v, name, func() (err error) {
		result, err = c.exec(ctx, query, args)
		return err
	})
	return result, err
}

func (c *conn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if e, ok := c.inner.(driver.ExecerContext); ok {
		return e.ExecContext(ctx, query, args)
	}
	e, ok := c.inner.(driver.Execer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plain(ctx, args)
	if err != nil {
		return nil, err
	}
	return e.Exec(query, values)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	v, name := statement.Parse(query)
	err = c.run(ctx, v, name, func() (err error) {
		rows, err = c.query(ctx, query, args)
		return err
	})
	return rows, err
}

func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := c.inner.(driver.QueryerContext); ok {
		return q.QueryContext(ctx, query, args)
	}
	q, ok := c.inner.(driver.Queryer)
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := plain(ctx, args)
	if err != nil {
		return nil, err
	}
	return q.Query(query, values)
}

// plain are args without names, as drivers take them that know no context.
func plain(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	return values, ctx.Err()
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.inner.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	if !c.runs() {
		return nil // it is asked again for the prepared statement
	}
	return driver.ErrSkip
}

// runs says whether the driver runs a statement without preparing it.
func (c *conn) runs() bool {
	switch c.inner.(type) {
	case driver.ExecerContext, driver.QueryerContext:
		return true
	case driver.Execer, driver.Queryer:
		return true
	}
	return false
}

// Prepare implements [driver.Conn]. Package database/sql calls PrepareContext.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &stmt{inner: inner, conn: c}
	s.verb, s.name = statement.Parse(query)
	if converter, ok := inner.(driver.ColumnConverter); ok {
		return &convertingStmt{s, converter}, nil
	}
	return s, nil
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.inner.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	inner, err := c.inner.Prepare(query)
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), inner.Close())
	}
	return inner, err
}
