package pgx

import (
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
	case pgconn.SafeToRetry(err): // nothing was sent
		return capture.Aborted
	default: // lost connection, time-out
		return capture.Unknown
	}
}

// refusal is what an error of the server says of the transaction.
func refusal(code string) capture.Status {
	if code == "40003" || // statement_completion_unknown
		strings.HasPrefix(code, "08") || // connection exceptions
		strings.HasPrefix(code, "57P") { // the server or the session is being ended
		return capture.Unknown
	}
	return capture.Aborted
}
