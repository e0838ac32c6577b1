package pgx

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/capture"
)

// Outcome says what is known of a transaction whose COMMIT was answered with err: see
// [capture.WithOutcome].
func Outcome(err error) capture.Status {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return capture.Committed
	case errors.Is(err, pgx.ErrTxCommitRollback): // the answer to COMMIT was ROLLBACK
		return capture.Aborted
	case errors.As(err, &refused):
		return refusal(refused.Code)
	case unsent(err):
		return capture.Aborted
	default: // lost connection, time-out
		return capture.Unknown
	}
}

// unsent says whether the context had ended before anything was sent. pgconn.SafeToRetry alone
// is not enough: it also holds of "conn closed". pgconn 5.12 answers this when the server goes
// away after COMMIT was sent, since MultiResultReader.NextResult drops the first error.
func unsent(err error) bool {
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended && pgconn.SafeToRetry(err)
}

// refusal is the meaning of a server's error for the transaction.
func refusal(code string) capture.Status {
	if code == "40003" || // statement_completion_unknown
		strings.HasPrefix(code, "08") || // connection exceptions
		strings.HasPrefix(code, "57P") { // the server or the session is being ended
		return capture.Unknown
	}
	return capture.Aborted
}
