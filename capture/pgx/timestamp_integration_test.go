//go:build integration

package pgx_test

import (
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// By database/sql, the record of a transaction that wrote has the time of its commit, as the server
// tells it later, and no other has one. A server that keeps no times disturbs nothing.
func TestSQLTimestamps(t *testing.T) {
	for setting, kept := range map[string]bool{"track_commit_timestamp=on": true, "track_commit_timestamp=off": false} {
		t.Run(setting, func(t *testing.T) { testSQLTimestamps(t, testdb.Postgres(t, setting), kept) })
	}
}

func testSQLTimestamps(t *testing.T, url string, stamped bool) {
	config, err := pgx.ParseConfig(url)
	must(t, err)
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(stdlib.GetConnector(*config), r, capture.WithOutcome(capturepgx.Outcome), capture.WithCommitTimestamps()))
	defer db.Close()
	ctx := t.Context()
	_, err = db.ExecContext(ctx, "CREATE TABLE stock (id bigint PRIMARY KEY, n bigint NOT NULL)")
	must(t, err)
	within := func(do func(tx *sql.Tx) error) {
		t.Helper()
		tx, err := db.BeginTx(ctx, nil)
		must(t, err)
		must(t, do(tx))
		must(t, tx.Commit())
	}
	var want []int64
	for n := range 3 {
		within(func(tx *sql.Tx) error { return stock.Put(ctx, rows.SQL(tx), 1, n) })
		var us int64
		if stamped {
			must(t, db.QueryRowContext(ctx, "SELECT (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint FROM stock").Scan(&us))
		}
		want = append(want, us)
	}
	within(func(tx *sql.Tx) error {
		var n int
		_, err := stock.Get(ctx, rows.SQL(tx), 1, &n)
		return err
	})
	want = append(want, 0)
	lines := kept.Lines(t)
	if len(lines) != len(want) {
		t.Fatalf("%d records, want %d: %s", len(lines), len(want), lines)
	}
	for i, line := range lines {
		var record struct {
			Status   string `json:"status"`
			CommitTS int64  `json:"commit_ts"`
		}
		must(t, json.Unmarshal(line, &record))
		if record.Status != "committed" || record.CommitTS != want[i] {
			t.Errorf("record %d, want commit_ts %d: %s", i, want[i], line)
		}
	}
}
