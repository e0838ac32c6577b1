package mysql

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/event"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want event.Status
	}{
		{&mysql.MySQLError{Number: 1213}, event.Aborted},                           // ER_LOCK_DEADLOCK
		{&mysql.MySQLError{Number: 1020}, event.Aborted},                           // ER_CHECKREAD
		{fmt.Errorf("commit: %w", &mysql.MySQLError{Number: 1180}), event.Aborted}, // ER_ERROR_DURING_COMMIT
		{&mysql.MySQLError{Number: 1317}, event.Unknown},                           // ER_QUERY_INTERRUPTED
		{&mysql.MySQLError{Number: 1053}, event.Unknown},                           // ER_SERVER_SHUTDOWN
		{mysql.ErrInvalidConn, event.Unknown},
		{io.ErrUnexpectedEOF, event.Unknown},
		{context.DeadlineExceeded, event.Unknown},
		{context.Canceled, event.Unknown},
	} {
		if got := Outcome(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open("root@nowhere", Options{}); err == nil {
		t.Error("a name without a slash was taken")
	}
}
