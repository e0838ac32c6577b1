package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isowatch/isowatch/event"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want event.Status
	}{
		{&pgconn.PgError{Code: "40001"}, event.Aborted}, // serialization_failure
		{&pgconn.PgError{Code: "40P01"}, event.Aborted}, // deadlock_detected
		{&pgconn.PgError{Code: "23505"}, event.Aborted}, // unique_violation of a deferred constraint
		{fmt.Errorf("commit: %w", &pgconn.PgError{Code: "40001"}), event.Aborted},
		{pgx.ErrTxCommitRollback, event.Aborted},
		{&pgconn.PgError{Code: "40003"}, event.Unknown}, // statement_completion_unknown
		{&pgconn.PgError{Code: "57P01"}, event.Unknown}, // admin_shutdown
		{&pgconn.PgError{Code: "57P02"}, event.Unknown}, // crash_shutdown
		{&pgconn.PgError{Code: "08006"}, event.Unknown}, // connection_failure
		{io.ErrUnexpectedEOF, event.Unknown},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, event.Unknown},
		{context.DeadlineExceeded, event.Unknown},
		{context.Canceled, event.Unknown},
	} {
		if got := Outcome(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open("postgres://host:port/", Options{}); err == nil {
		t.Error("a port that is no number was taken")
	}
}
