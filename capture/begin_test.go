package capture_test

import (
	"database/sql"
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/capture"
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
	other := capture.WithBegin(ctx, capture.Begin{Session: r.Session("other"), Isolation: "SERIALIZABLE"})
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
		{ids[2], "", "SERIALIZABLE", "", nil},
		{ids[3], "", "REPEATABLE READ", "", nil},
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
