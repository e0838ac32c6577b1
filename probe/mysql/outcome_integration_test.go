//go:build integration

package mysql

import (
	"database/sql"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
)

// What a real server does to a commit, and what is known of it then.
func TestOutcomes(t *testing.T) {
	db, err := Open(testdb.MariaDB(t), Options{Isolation: sql.LevelRepeatableRead, Snapshot: true})
	if err == nil {
		err = db.Reset(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begin := func() probe.Session {
		s, err := db.Open(t.Context())
		if err == nil {
			err = s.Begin(t.Context())
		}
		if err == nil {
			err = s.Do(t.Context(), &probe.Op{RecordOp: event.RecordOp{Kind: event.Read, Key: "k"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	write := func(s probe.Session, value string) error {
		return s.Do(t.Context(), &probe.Op{RecordOp: event.RecordOp{Kind: event.Write, Key: "k", Value: value}})
	}

	killed := begin()
	if err := write(killed, "1"); err != nil {
		t.Fatal(err)
	}
	var id int
	if err := db.DB.QueryRowContext(t.Context(), "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_modified > 0").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if _, err := db.DB.ExecContext(t.Context(), "KILL CONNECTION ?", id); err != nil {
		t.Fatal(err)
	}
	if outcome, err := killed.Commit(t.Context()); outcome != event.Unknown || err == nil {
		t.Errorf("the commit of a session that was ended: %v, %v", outcome, err)
	}

	first := begin()
	if err := write(first, "2"); err != nil {
		t.Fatal(err)
	}
	if outcome, err := first.Commit(t.Context()); outcome != event.Committed || err != nil {
		t.Fatal(outcome, err)
	}
	a, b := begin(), begin()
	if err := write(a, "3"); err != nil {
		t.Fatal(err)
	}
	if outcome, err := a.Commit(t.Context()); outcome != event.Committed || err != nil {
		t.Fatal(outcome, err)
	}
	if err := write(b, "4"); Outcome(err) != event.Aborted {
		t.Errorf("snapshot isolation lets the second of two writers go on: %v", err)
	}
}
