//go:build integration

package postgres

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
)

// begin opens a session and writes k in a transaction, which makes its process known.
func begin(t *testing.T, db *probe.SQL) (s probe.Session, pid int) {
	t.Helper()
	s, err := db.Open(t.Context())
	if err == nil {
		err = s.Begin(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	do(t, s, event.RecordOp{Kind: event.Write, Key: "k", Value: "1"})
	if err := db.DB.QueryRowContext(t.Context(),
		"SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' ORDER BY xact_start DESC LIMIT 1").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return s, pid
}

func do(t *testing.T, s probe.Session, op event.RecordOp) event.RecordOp {
	t.Helper()
	asked := probe.Op{RecordOp: op}
	if err := s.Do(t.Context(), &asked); err != nil {
		t.Fatal(err)
	}
	return asked.RecordOp
}

// What a real server does to a commit, and what is known of it then.
func TestOutcomes(t *testing.T) {
	url := testdb.Postgres(t)
	open := func(t *testing.T, level sql.IsolationLevel) *probe.SQL {
		db, err := Open(url, Options{Isolation: level})
		if err == nil {
			err = db.Reset(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	committed := func(t *testing.T, s probe.Session, want event.Status) {
		t.Helper()
		if outcome, err := s.Commit(t.Context()); outcome != want || (err == nil) != (want == event.Committed) {
			t.Errorf("%v, %v; want %v", outcome, err, want)
		}
	}
	t.Run("the server ends the session", func(t *testing.T) {
		db := open(t, sql.LevelDefault)
		s, pid := begin(t, db)
		if _, err := db.DB.ExecContext(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
			t.Fatal(err)
		}
		committed(t, s, event.Unknown)
	})
	t.Run("the answer does not come in time", func(t *testing.T) {
		db := open(t, sql.LevelDefault)
		for _, statement := range []string{
			"CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'",
			"CREATE CONSTRAINT TRIGGER late AFTER INSERT ON registers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()",
		} {
			if _, err := db.DB.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		s, err := db.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := s.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		do(t, s, event.RecordOp{Kind: event.Write, Key: "k", Value: "1"})
		committed(t, s, event.Unknown)
	})
	t.Run("a failed transaction answers ROLLBACK to COMMIT", func(t *testing.T) {
		s, _ := begin(t, open(t, sql.LevelDefault))
		if err := s.Do(t.Context(), &probe.Op{RecordOp: event.RecordOp{Kind: event.Insert, Key: "k", Value: "2"}}); err == nil {
			t.Fatal("the key was inserted twice")
		}
		committed(t, s, event.Aborted)
	})
	t.Run("write skew", func(t *testing.T) {
		db := open(t, sql.LevelSerializable)
		a, _ := begin(t, db)
		b, err := db.Open(t.Context())
		if err == nil {
			err = b.Begin(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		do(t, b, event.RecordOp{Kind: event.Read, Key: "k"})
		do(t, b, event.RecordOp{Kind: event.Write, Key: "l", Value: "1"})
		do(t, a, event.RecordOp{Kind: event.Read, Key: "l"})
		committed(t, b, event.Committed)
		committed(t, a, event.Aborted)
	})
}

// A version is the same for the writer and for who reads it, and another one for the
// same value again.
func TestVersions(t *testing.T) {
	db, err := Open(testdb.Postgres(t), Options{Versions: true})
	if err == nil {
		err = db.Reset(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := map[string]bool{}
	for _, op := range []probe.Op{
		{RecordOp: event.RecordOp{Kind: event.Insert, Key: "k", Value: "1"}},
		{RecordOp: event.RecordOp{Kind: event.Write, Key: "k", Value: "1"}},
		{RecordOp: event.RecordOp{Kind: event.Write, Key: "k", Value: "1"}, Update: true},
		{RecordOp: event.RecordOp{Kind: event.Append, Key: "k", Value: "1"}},
		{RecordOp: event.RecordOp{Kind: event.Insert, Data: event.Counter, Key: "k", Value: "0"}},
		{RecordOp: event.RecordOp{Kind: event.Inc, Key: "k", Value: "1"}},
	} {
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Do(t.Context(), &op); err != nil {
			t.Fatal(err)
		}
		data := op.Data
		switch op.Kind {
		case event.Append:
			data = event.List
		case event.Inc:
			data = event.Counter
		}
		read := do(t, s, event.RecordOp{Kind: event.Read, Data: data, Key: "k"})
		if op.Version == "" || read.Version != op.Version || seen[op.Version] {
			t.Errorf("%v made version %q, which is read as %q; before: %v", op.Kind, op.Version, read.Version, seen)
		}
		seen[op.Version] = true
		if outcome, err := s.Commit(t.Context()); outcome != event.Committed {
			t.Fatal(outcome, err)
		}
	}
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := probe.Op{RecordOp: event.RecordOp{Kind: event.Write, Key: "other", Value: "1"}, Update: true}
	if err := s.Do(t.Context(), &gone); err != nil || gone.Kind != event.Read || gone.Flags&event.NotFound == 0 {
		t.Errorf("an update of no row: %+v, %v", gone, err)
	}
}
