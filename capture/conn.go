package capture

//lint:file-ignore SA1019 a driver may have nothing else

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/isowatch/isowatch/capture/internal/statement"
)

// conn is a connection. It has every optional interface of package database/sql/driver; where
// the driver's own has not, it does what database/sql does then.
type conn struct {
	inner     driver.Conn
	connector *connector
	open      *Txn // nil outside of a transaction
	broken    bool // the outcome of a transaction is unknown
}

var _ interface {
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
} = (*conn)(nil)

// Begin implements [driver.Conn]. Package database/sql calls BeginTx.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	t := c.begin(ctx, levelOf(o.Isolation))
	inner, err := c.innerBegin(ctx, o)
	if err != nil {
		t.Discard()
		return nil, err
	}
	c.open = t
	return &tx{inner, c}, nil
}

// levelOf is an isolation level in SQL's words, "" for the default.
func levelOf(l driver.IsolationLevel) string {
	if l == driver.IsolationLevel(sql.LevelDefault) {
		return ""
	}
	return strings.ToUpper(sql.IsolationLevel(l).String())
}

// innerBegin begins as database/sql does on a connection that may have no BeginTx.
func (c *conn) innerBegin(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.inner.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, o)
	}
	switch {
	case o.Isolation != driver.IsolationLevel(sql.LevelDefault):
		return nil, errors.New("sql: driver does not support non-default isolation level")
	case o.ReadOnly:
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	inner, err := c.inner.Begin()
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), inner.Rollback())
	}
	return inner, err
}

// begin makes a transaction that begins now.
func (c *conn) begin(ctx context.Context, level string) *Txn {
	return c.connector.recorder.BeginWith(ctx, level, c.connector.level)
}

// end ends the open transaction. After an unknown outcome the connection is of no use.
func (c *conn) end(s Status) {
	if c.open == nil {
		return
	}
	c.open.End(s)
	c.open = nil
	c.broken = c.broken || s == Unknown
}

// committed ends the open transaction, whose COMMIT was answered with err.
func (c *conn) committed(err error) {
	if err == nil {
		c.stamp()
		c.end(Committed)
		return
	}
	c.end(c.connector.outcome(err))
}

// tx is an open transaction.
type tx struct {
	inner driver.Tx
	conn  *conn
}

// Commit implements [driver.Tx].
func (t *tx) Commit() error {
	err := t.inner.Commit()
	t.conn.committed(err)
	return err
}

// Rollback implements [driver.Tx]. COMMIT was not sent, so nothing takes effect even
// if this fails.
func (t *tx) Rollback() error {
	err := t.inner.Rollback()
	t.conn.end(Aborted)
	return err
}

// run runs a statement by do, and follows what it does to the transaction.
func (c *conn) run(ctx context.Context, v statement.Verb, name string, do func() error) error {
	a := askedIn(ctx)
	if a != nil && a.only {
		a.Txn = c.open
		return nil
	}
	var begun *Txn
	switch {
	case v == statement.Begin && c.open == nil:
		begun = c.begin(ctx, name)
	case a != nil && c.open != nil:
		a.answer(c.open, false, c.connector.outcome)
	case a != nil:
		a.answer(c.begin(ctx, ""), true, c.connector.outcome)
	}
	err := do()
	skipped := errors.Is(err, driver.ErrSkip)
	if a != nil && (skipped || errors.Is(err, driver.ErrBadConn)) {
		a.discard() // nothing was sent: database/sql tries in another way
	}
	if err != nil {
		begun.Discard()
	} else if begun != nil {
		c.open = begun
	}
	if c.open != nil && !skipped {
		c.follow(v, name, err)
	}
	return err
}

// follow changes the open transaction by a statement that was answered with err.
func (c *conn) follow(v statement.Verb, name string, err error) {
	switch {
	case v == statement.Commit:
		c.committed(err)
	case v == statement.Rollback:
		c.end(Aborted)
	case v == statement.Prepare:
		c.end(Unknown)
	case err != nil:
	case v == statement.Savepoint:
		c.open.Savepoint(name)
	case v == statement.RollbackTo:
		c.open.RollbackTo(name)
	case v == statement.Level:
		c.open.SetIsolation(name)
	}
}

// Close implements [driver.Conn].
func (c *conn) Close() error {
	c.end(Aborted)
	return c.inner.Close()
}

// Ping implements [driver.Pinger].
func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.inner.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession implements [driver.SessionResetter].
func (c *conn) ResetSession(ctx context.Context) error {
	if c.broken {
		return driver.ErrBadConn
	}
	c.end(Aborted) // begun by a statement, and left open
	if r, ok := c.inner.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool {
	if v, ok := c.inner.(driver.Validator); ok && !v.IsValid() {
		return false
	}
	return !c.broken
}
