package capture_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
)

// TestWithBegin: a context names a transaction, and its id can be asked for while it runs.
func TestWithBegin(t *testing.T) {
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(capture.DSN(&sqlite.Driver{}, filepath.Join(t.TempDir(), "db")), r, capture.WithLevel("READ COMMITTED")))
	defer db.Close()
	ctx := capture.WithSession(t.Context(), r.Session("worker"))
	ctx = capture.WithBegin(ctx, capture.Begin{Name: "pay", TraceID: "4bf92f", Labels: map[string]string{"endpoint": "a"}})
	var ids []string
	for i := range 2 {
		tx, err := db.BeginTx(ctx, nil)
		must(t, err)
		txn := capture.Of(ctx, tx)
		if i == 0 {
			ids = append(ids, txn.ID())
		}
		txn.Read("k", 1)
		must(t, tx.Commit())
		if i == 1 {
			ids = append(ids, txn.ID()) // behind its end
		}
	}
	other := capture.WithBegin(ctx, capture.Begin{Session: r.Session("other"), Isolation: "SERIALIZABLE", Name: "refund", Labels: map[string]string{"zone": "z"}})
	txn := r.BeginWith(other, "", "READ COMMITTED")
	txn.Read("k", 1)
	txn.End(capture.Committed)
	asked := r.BeginWith(other, "REPEATABLE READ", "READ COMMITTED")
	asked.Read("k", 1)
	asked.End(capture.Committed)
	ids = append(ids, txn.ID(), asked.ID())

	type record struct {
		Txn, Name, Isolation string
		TraceID              string `json:"trace_id"`
		Labels               map[string]string
	}
	want := []record{
		{ids[0], "pay", "READ COMMITTED", "4bf92f", map[string]string{"endpoint": "a"}},
		{ids[1], "pay", "READ COMMITTED", "4bf92f", map[string]string{"endpoint": "a"}},
		{ids[2], "refund", "SERIALIZABLE", "4bf92f", map[string]string{"endpoint": "a", "zone": "z"}},
		{ids[3], "refund", "REPEATABLE READ", "4bf92f", map[string]string{"endpoint": "a", "zone": "z"}},
	}
	lines := kept.Lines(t)
	if len(lines) != len(want) {
		t.Fatalf("%d records, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		var got record
		must(t, json.Unmarshal(line, &got))
		if w := want[i]; got.Txn != w.Txn || got.Txn == "" || got.Name != w.Name || got.Isolation != w.Isolation || got.TraceID != w.TraceID || !maps.Equal(got.Labels, w.Labels) {
			t.Errorf("record %d: %+v, want %+v", i, got, w)
		}
	}
	var none *capture.Recorder
	if id := none.BeginWith(ctx, "", "").ID(); id != "" {
		t.Errorf("a nil recorder gives the id %q", id)
	}
}

// TestWithBeginOfOneStatement: a statement outside of a transaction takes from the context what BeginTx takes.
func TestWithBeginOfOneStatement(t *testing.T) {
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(capture.DSN(&sqlite.Driver{}, filepath.Join(t.TempDir(), "db")), r))
	defer db.Close()
	_, err := db.ExecContext(t.Context(), "CREATE TABLE stock (id integer PRIMARY KEY, n integer, version text)")
	must(t, err)
	must(t, stock.Put(capture.WithBegin(t.Context(), capture.Begin{Name: "fill", TraceID: "4bf92f"}), rows.SQL(db), 1, 5))
	lines := kept.Lines(t)
	if len(lines) != 1 || !bytes.Contains(lines[0], []byte(`"name":"fill"`)) || !bytes.Contains(lines[0], []byte(`"trace_id":"4bf92f"`)) {
		t.Errorf("got %q", lines)
	}
}

// TestWithBeginOfTwoDatabases: one context serves two recorders, and each takes the session that it made.
func TestWithBeginOfTwoDatabases(t *testing.T) {
	first, _ := testcapture.New(t)
	second, kept := testcapture.New(t)
	session := second.Session("worker")
	ctx := capture.WithSession(t.Context(), session)
	ctx = capture.WithBegin(ctx, capture.Begin{Session: first.Session("worker"), Name: "pay"})
	second.BeginWith(ctx, "", "").End(capture.Committed)
	if lines := kept.Lines(t); len(lines) != 1 || !bytes.Contains(lines[0], []byte(`"session":"`+session.Name()+`"`)) {
		t.Errorf("got %q, want the session %s", lines, session.Name())
	}
}

// TestWithBeginCopiesLabels: what the caller does to its map later does not show.
func TestWithBeginCopiesLabels(t *testing.T) {
	r, kept := testcapture.New(t)
	labels := map[string]string{"endpoint": "a"}
	ctx := capture.WithBegin(t.Context(), capture.Begin{Labels: labels})
	labels["endpoint"] = "b"
	r.BeginWith(ctx, "", "").End(capture.Committed)
	if lines := kept.Lines(t); len(lines) != 1 || !bytes.Contains(lines[0], []byte(`"labels":{"endpoint":"a"}`)) {
		t.Errorf("got %q", lines)
	}
}

// TestNoTrace: a context without a span has no trace, and a page has no link to one of zeros.
func TestNoTrace(t *testing.T) {
	for id, want := range map[string]bool{
		"00000000000000000000000000000000": false,
		"00000000000000000000000000000001": true,
		"0":                                true,
	} {
		r, kept := testcapture.New(t)
		r.Begin(capture.Begin{TraceID: id}).End(capture.Committed)
		lines := kept.Lines(t)
		if len(lines) != 1 || bytes.Contains(lines[0], []byte("trace_id")) != want {
			t.Errorf("trace id %s: %q, want it in the record: %v", id, lines, want)
		}
	}
}

// TestIDs: each transaction has an id of its own, which stays, and is "" only for nil. Several goroutines may ask.
func TestIDs(t *testing.T) {
	r, kept := testcapture.New(t)
	txn, other := r.Begin(capture.Begin{}), r.Begin(capture.Begin{})
	answers := make(chan string)
	for range 8 {
		go func() { answers <- txn.ID() }()
	}
	id := txn.ID()
	for range 8 {
		if got := <-answers; got != id || id == "" {
			t.Errorf("the id is %q and %q", id, got)
		}
	}
	other.End(capture.Aborted)
	txn.End(capture.Committed)
	if txn.ID() != id || other.ID() == id {
		t.Errorf("%q and %q after the end, want %q and another", txn.ID(), other.ID(), id)
	}
	lines := kept.Lines(t)
	for i, want := range []string{other.ID(), id} {
		if !bytes.Contains(lines[i], []byte(`"txn":"`+want+`"`)) {
			t.Errorf("record %s is not of %s", lines[i], want)
		}
	}
	var none *capture.Txn
	if none.ID() != "" {
		t.Error("nil has an id")
	}
}
