package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// begin opens a session and begins a transaction that reads a key, so that it has a
// snapshot.
func begin(t *testing.T, db *probe.SQL) probe.Session {
	t.Helper()
	s, err := db.Open(t.Context())
	if err == nil {
		err = s.Begin(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	do(t, s, event.RecordOp{Kind: event.Read, Key: "k"})
	return s
}

func do(t *testing.T, s probe.Session, op event.RecordOp) event.RecordOp {
	t.Helper()
	asked := probe.Op{RecordOp: op}
	if err := s.Do(t.Context(), &asked); err != nil {
		t.Fatal(err)
	}
	return asked.RecordOp
}

// A transaction whose snapshot is old may not write; the session goes on.
func TestOldSnapshot(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "x.db"))
	if err == nil {
		err = db.Reset(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := event.RecordOp{Kind: event.Write, Key: "k", Value: "1"}
	old, other := begin(t, db), begin(t, db)
	do(t, other, write)
	if outcome, err := other.Commit(t.Context()); outcome != event.Committed || err != nil {
		t.Fatal(outcome, err)
	}
	asked := probe.Op{RecordOp: write}
	if err := old.Do(t.Context(), &asked); Outcome(err) != event.Aborted {
		t.Errorf("a write behind an old snapshot: %v", err)
	}
	if err := old.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := old.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := do(t, old, event.RecordOp{Kind: event.Read, Key: "k"}); got.Value != "1" {
		t.Errorf("read %+v", got)
	}
	if err := old.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

// A commit that a deferred constraint refuses is aborted, and undone.
func TestRefusedCommit(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "x.db"))
	if err == nil {
		err = db.Reset(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Dialect.Session = []string{"PRAGMA foreign_keys = ON"}
	for _, statement := range []string{
		"DROP TABLE registers",
		"CREATE TABLE registers (k TEXT PRIMARY KEY, v TEXT REFERENCES counters (k) DEFERRABLE INITIALLY DEFERRED)",
	} {
		if _, err := db.DB.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s := begin(t, db)
	do(t, s, event.RecordOp{Kind: event.Write, Key: "k", Value: "1"})
	if outcome, err := s.Commit(t.Context()); outcome != event.Aborted || err == nil {
		t.Fatalf("%v, %v", outcome, err)
	}
	if err := s.Begin(t.Context()); err != nil {
		t.Fatalf("the refused transaction is open: %v", err)
	}
	if got := do(t, s, event.RecordOp{Kind: event.Read, Key: "k"}); got.Flags&event.NotFound == 0 {
		t.Errorf("a refused write was read: %+v", got)
	}
}

func TestOutcomeOfOtherErrors(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, errors.New("disk I/O error")} {
		if got := Outcome(err); got != event.Unknown {
			t.Errorf("%v: %v", err, got)
		}
	}
}
