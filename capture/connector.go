package capture

import (
	"context"
	"database/sql/driver"
	"io"
	"sync/atomic"
)

// ConnectorOption changes what [Connector] does.
type ConnectorOption func(*connector)

// WithOutcome says what is known of a transaction whose COMMIT failed with err: Aborted where
// the database itself refused it, else Unknown. Package capture/pgx has the one of PostgreSQL;
// docs/capture.md has a function for MySQL. Without it every error is Unknown, which is never
// wrong and says less.
func WithOutcome(outcome func(err error) Status) ConnectorOption {
	return func(c *connector) { c.outcome = outcome }
}

// WithLevel is the isolation of transactions that ask for none, in SQL's words: what the
// database is set to. Without it they say none, and are judged by what is expected of the
// source.
func WithLevel(level string) ConnectorOption {
	return func(c *connector) { c.level = level }
}

// Connector records the transactions of the connections that inner makes:
//
//	db := sql.OpenDB(capture.Connector(inner, recorder))
//
// Begin, commit, rollback, outcome, isolation, start and end are seen by themselves; the
// session comes from the context that BeginTx got ([WithSession]). Without one there is no
// session. Name, trace id and labels come from there too ([WithBegin]). Data come from row helpers (capture/rows), or from the transaction that [Of]
// returns. A connection whose COMMIT has an unknown outcome is not used again.
//
// A transaction that is begun and ended by statements ("BEGIN IMMEDIATE") is seen as well.
// Not seen: what implicitly commits (DDL in MySQL), COMMIT AND CHAIN, and what a text of
// several statements does behind its first one.
//
// The connection that (*sql.Conn).Raw gives is capture's; [Unwrap] returns the driver's.
func Connector(inner driver.Connector, r *Recorder, options ...ConnectorOption) driver.Connector {
	c := &connector{inner: inner, recorder: r, outcome: unknown}
	for _, o := range options {
		o(c)
	}
	return c
}

func unknown(error) Status { return Unknown }

type connector struct {
	inner    driver.Connector
	recorder *Recorder
	outcome  func(error) Status
	level    string

	stamps    bool        // see WithCommitTimestamps
	unstamped atomic.Bool // the server does not give them
}

// Connect implements [driver.Connector].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{inner: inner, connector: c}, nil
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// Close implements [io.Closer], as package database/sql asks of a connector that holds
// something.
func (c *connector) Close() error {
	if closer, ok := c.inner.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// Unwrap returns the driver's own connection, of what (*sql.Conn).Raw gives. Any other
// value is returned as it is.
func Unwrap(driverConn any) any {
	if c, ok := driverConn.(*conn); ok {
		return c.inner
	}
	return driverConn
}
