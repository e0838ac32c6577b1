package capture

import (
	"context"
	"database/sql/driver"
	"time"
)

// stampWait bounds the question for a commit's time: the transaction has committed, and its client waits.
const stampWait = 5 * time.Second

// committedAt gives the microseconds of the commit, NULL for a transaction that did not commit.
const committedAt = "SELECT (extract(epoch FROM pg_xact_commit_timestamp($1::text::xid)) * 1000000)::bigint"

// WithCommitTimestamps asks PostgreSQL for the time of each commit that wrote rows through a table with
// rows.XMin, and records it as commit_ts, in microseconds since the Unix epoch. It is one more round trip before
// Commit returns. The server must have track_commit_timestamp=on. If it has not, it is asked once, where
// [WithOutcome] tells that the server refused. The monitor uses it under trust-commit-ts=true.
func WithCommitTimestamps() ConnectorOption { return func(c *connector) { c.stamps = true } }

// stamp asks for the time of the commit of the open transaction. An error leaves the time out.
func (c *conn) stamp() {
	if !c.connector.stamps || c.connector.unstamped.Load() {
		return
	}
	id := c.open.Writer()
	asks, can := c.inner.(driver.QueryerContext)
	if !can || id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stampWait)
	defer cancel()
	us, err := askNumber(ctx, asks, committedAt, id)
	if err != nil && c.connector.outcome(err) == Aborted {
		c.connector.unstamped.Store(true) // timestamps are not kept, or may not be asked for
	}
	if us, known := us.(int64); known {
		c.open.SetCommitTS(us)
	}
}

// askNumber is the first column of the first row.
func askNumber(ctx context.Context, asks driver.QueryerContext, query, arg string) (driver.Value, error) {
	rows, err := asks.QueryContext(ctx, query, []driver.NamedValue{{Ordinal: 1, Value: arg}})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(found); err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
