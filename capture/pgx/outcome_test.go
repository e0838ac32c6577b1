package pgx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/capture"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want capture.Status
	}{
		{nil, capture.Committed},
		{&pgconn.PgError{Code: "40001"}, capture.Aborted}, // serialization_failure
		{&pgconn.PgError{Code: "40P01"}, capture.Aborted}, // deadlock_detected
		{&pgconn.PgError{Code: "23505"}, capture.Aborted}, // unique_violation of a deferred constraint
		{fmt.Errorf("commit: %w", &pgconn.PgError{Code: "40001"}), capture.Aborted},
		{pgx.ErrTxCommitRollback, capture.Aborted},
		{&pgconn.PgError{Code: "40003"}, capture.Unknown}, // statement_completion_unknown
		{&pgconn.PgError{Code: "57P01"}, capture.Unknown}, // admin_shutdown
		{&pgconn.PgError{Code: "08006"}, capture.Unknown}, // connection_failure
		{io.ErrUnexpectedEOF, capture.Unknown},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, capture.Unknown},
		{context.DeadlineExceeded, capture.Unknown},
		{context.Canceled, capture.Unknown},
	} {
		if got := Outcome(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
