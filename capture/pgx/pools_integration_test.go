//go:build integration

package pgx_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// Through PgBouncer in transaction mode a transaction is one as without it, in each mode in
// which pgx works there.
func TestPgBouncer(t *testing.T) {
	url := testdb.PgBouncer(t, testdb.Postgres(t), "default_pool_size=3")
	monitor := testcapture.Monitor(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		t.Run(mode.String(), func(t *testing.T) {
			pool, r, kept := openAt(t, url, func(c *pgxpool.Config) {
				c.ConnConfig.DefaultQueryExecMode = mode
				c.MaxConns = workers
			})
			_, err := pool.Exec(t.Context(), "TRUNCATE stock")
			must(t, err)
			load(t, pool, r, pgx.Serializable, onRows(&stock, noDeletes))
			pool.Close()
			lines := kept.Lines(t)
			if len(lines) != workers*each {
				t.Errorf("%d records of %d transactions", len(lines), workers*each)
			}
			if exit, out := testcapture.Check(t, monitor, lines, "--levels", "serializable,strong-session-serializable"); exit != 0 {
				t.Errorf("exit code %d:\n%s", exit, out)
			}
		})
	}
}

// By database/sql the same is recorded.
func TestSQL(t *testing.T) {
	config, err := pgx.ParseConfig(testdb.Postgres(t))
	must(t, err)
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(stdlib.GetConnector(*config), r, capture.WithOutcome(capturepgx.Outcome)))
	defer db.Close()
	ctx := capture.WithSession(t.Context(), r.Session("worker"))
	_, err = db.ExecContext(ctx, "CREATE TABLE stock (id bigint PRIMARY KEY, n bigint NOT NULL)")
	must(t, err)

	var sum int64 // the driver itself checks arguments, as of arrays
	must(t, db.QueryRowContext(ctx, "SELECT sum(n) FROM unnest($1::bigint[]) n", []int64{1, 2}).Scan(&sum))
	prepared, err := db.PrepareContext(ctx, "SELECT sum(n) FROM unnest($1::bigint[]) n")
	must(t, err)
	must(t, prepared.QueryRowContext(ctx, []int64{3, 4}).Scan(&sum))
	must(t, prepared.Close())
	if sum != 7 {
		t.Errorf("3 + 4 = %d", sum)
	}

	must(t, stock.Insert(ctx, rows.SQL(db), 1, 5))
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	must(t, err)
	var n int
	_, err = stock.Get(ctx, rows.SQL(tx), 1, &n)
	must(t, err)
	_, err = stock.Update(ctx, rows.SQL(tx), 1, n-1)
	must(t, err)
	must(t, ranged.Range(ctx, rows.SQL(tx), rows.Span{From: 1}, func(r *rows.Row) error {
		var id, n int
		return r.Scan(&id, &n)
	}))
	must(t, tx.Commit())

	tx, err = db.BeginTx(ctx, nil)
	must(t, err)
	must(t, stock.Put(ctx, rows.SQL(tx), 1, 7))
	if _, err := tx.ExecContext(ctx, "SELECT 1/0"); err == nil {
		t.Error("1/0 is something")
	}
	if err := tx.Commit(); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Error(err)
	}

	tx, err = db.BeginTx(ctx, nil)
	must(t, err)
	must(t, stock.Put(ctx, rows.SQL(tx), 1, 8))
	var pid int
	must(t, tx.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid))
	_, err = db.ExecContext(t.Context(), "SELECT pg_terminate_backend($1)", pid)
	must(t, err)
	if err := tx.Commit(); err == nil {
		t.Error("it was committed")
	}
	want := strings.TrimLeft(`
committed s1#1; insert stock/1=5 @1
committed REPEATABLE READ s1#2; r stock/1=5 @1; w stock/1=4 @2 <@1; range stock/0000000000000000001..stock0 stock/0000000000000000001=4@2
aborted s1#3; w stock/1=7 @3 <@2
unknown s1#4; w stock/1=8 @4 <@2
`, "\n")
	if got := kept.Text(t); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestWithBegin: a context names a transaction of pgx, and its id can be asked for.
func TestWithBegin(t *testing.T) {
	config, err := pgx.ParseConfig(testdb.Postgres(t))
	must(t, err)
	r, kept := testcapture.New(t)
	config.Tracer = capturepgx.New(r, capturepgx.WithLevel("READ COMMITTED"))
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	defer conn.Close(t.Context())
	ctx := capture.WithBegin(t.Context(), capture.Begin{Name: "pay", TraceID: "4bf92f"})
	var id string
	must(t, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		id = capturepgx.Of(tx).ID()
		capturepgx.Of(tx).Read("k", 1)
		return nil
	}))
	lines := kept.Lines(t)
	if len(lines) != 1 {
		t.Fatalf("%d records", len(lines))
	}
	var got struct {
		Txn, Name, Isolation string
		TraceID              string `json:"trace_id"`
	}
	must(t, json.Unmarshal(lines[0], &got))
	if got.Txn != id || id == "" || got.Name != "pay" || got.TraceID != "4bf92f" || got.Isolation != "READ COMMITTED" {
		t.Errorf("%s, asked for the id %q", lines[0], id)
	}
}
