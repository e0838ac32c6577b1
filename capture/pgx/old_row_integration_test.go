//go:build integration

package pgx_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// TestOldRow: in repeatable read, a transaction inserts a row at a key whose former row somebody has
// deleted meanwhile. That row is still in its snapshot. It finds both, and no fault is reported at what
// PostgreSQL promises.
func TestOldRow(t *testing.T) {
	url, monitor := testdb.Postgres(t), testcapture.Monitor(t)
	pool, r, kept := openAt(t, url)
	_, err := pool.Exec(t.Context(), "TRUNCATE stock")
	must(t, err)
	filler := capture.WithSession(t.Context(), r.Session("filler"))
	must(t, ranged.Insert(filler, capturepgx.Rows(pool), 1, 7))

	ctx := capture.WithSession(t.Context(), r.Session("inserter"))
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer tx.Rollback(ctx)
	var id, n int
	_, err = ranged.Get(ctx, capturepgx.Rows(tx), 1, &n)
	must(t, err)

	deleter := capture.WithSession(t.Context(), r.Session("deleter"))
	found, err := ranged.Delete(deleter, capturepgx.Rows(pool), 1)
	must(t, err)
	if !found {
		t.Fatal("there was no row to delete")
	}

	must(t, ranged.Insert(ctx, capturepgx.Rows(tx), 1, 5))
	if _, err = ranged.Get(ctx, capturepgx.Rows(tx), 1, &n); err == nil || !strings.Contains(err.Error(), "A scan (Range) shows both") {
		t.Errorf("of two rows: %v", err)
	}
	var seen []int
	must(t, ranged.Range(ctx, capturepgx.Rows(tx), rows.Span{From: 0, To: 9}, func(row *rows.Row) error {
		err := row.Scan(&id, &n)
		seen = append(seen, n)
		return err
	}))
	if len(seen) != 2 {
		t.Errorf("the scan found %v, want both rows", seen)
	}
	must(t, tx.Commit(ctx))
	pool.Close()

	lines := kept.Lines(t)
	exit, out := testcapture.Check(t, monitor, lines, "--expect", "postgresql/repeatable-read")
	if exit == 1 {
		t.Errorf("a violation:\n%s", out)
	}
	if exit, out = testcapture.Check(t, monitor, lines, "--levels", "snapshot-isolation", "--contract", "isolation=ignore"); exit != 1 || !strings.Contains(out, "own write not read") {
		t.Errorf("exit code %d without the rule of PostgreSQL, want 1 with the read that is not its own write:\n%s", exit, out)
	}
}
