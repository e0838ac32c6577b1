package pgx

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/capture"
)

// WithCommitTimestamps asks PostgreSQL for the time of each commit that wrote rows through a table with
// rows.XMin, and records it as commit_ts, in microseconds since the Unix epoch. It is one more round trip before
// Commit returns. The server must have track_commit_timestamp=on: if it has not, it is asked
// once. The monitor uses it under trust-commit-ts=true.
func WithCommitTimestamps() Option { return func(t *Tracer) { t.stamps = true } }

// committedAt gives the microseconds of the commit, NULL for a transaction that did not commit.
const committedAt = "SELECT (extract(epoch FROM pg_xact_commit_timestamp($1::text::xid)) * 1000000)::bigint"

// stamp asks for the time of the commit of txn, which wrote rows. An error leaves the time out.
func (t *Tracer) stamp(ctx context.Context, conn *pgconn.PgConn, txn *capture.Txn) {
	id := txn.Writer()
	if !t.stamps || id == "" || t.unstamped.Load() {
		return
	}
	result := conn.ExecParams(ctx, committedAt, [][]byte{[]byte(id)}, nil, nil, nil).Read()
	var refused *pgconn.PgError
	if errors.As(result.Err, &refused) {
		t.unstamped.Store(true) // timestamps are not kept, or may not be asked for
	}
	if result.Err != nil || len(result.Rows) == 0 {
		return
	}
	if us, err := strconv.ParseInt(string(result.Rows[0][0]), 10, 64); err == nil {
		txn.SetCommitTS(us)
	}
}
