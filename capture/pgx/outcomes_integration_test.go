//go:build integration

package pgx_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testdb"
)

// world holds what a test of outcomes works with.
type world struct {
	t    *testing.T
	pool *pgxpool.Pool
	r    *capture.Recorder
}

func (w world) begin(ctx context.Context, o pgx.TxOptions) pgx.Tx {
	w.t.Helper()
	tx, err := w.pool.BeginTx(ctx, o)
	must(w.t, err)
	return tx
}

// put writes n to row 1 in tx.
func (w world) put(tx capturepgx.Queryer, n int) {
	w.t.Helper()
	must(w.t, stock.Put(w.t.Context(), capturepgx.Rows(tx), 1, n))
}

func (w world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql, args...)
	must(w.t, err)
}

// outcomes list what can become of a transaction. What each is recorded as is in
// testdata/outcomes.txt.
var outcomes = []struct {
	name string
	run  func(w world)
}{
	{"committed, asked for a level, in a session", func(w world) {
		ctx := capture.WithSession(w.t.Context(), w.r.Session("worker"))
		for n := range 2 {
			tx := w.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			w.put(tx, n)
			must(w.t, tx.Commit(ctx))
		}
	}},
	{"rolled back", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		must(w.t, tx.Rollback(w.t.Context()))
	}},
	{"the level is set by a statement", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		_, err := tx.Exec(w.t.Context(), "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
		must(w.t, err)
		w.put(tx, 1)
		must(w.t, tx.Commit(w.t.Context()))
	}},
	{"a failed transaction answers ROLLBACK to COMMIT", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		_, err := tx.Exec(w.t.Context(), "SELECT 1/0")
		if err == nil || !errors.Is(tx.Commit(w.t.Context()), pgx.ErrTxCommitRollback) {
			w.t.Error("it was committed")
		}
	}},
	{"the server ends the session before COMMIT", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		w.exec("SELECT pg_terminate_backend($1)", tx.Conn().PgConn().PID())
		if tx.Commit(w.t.Context()) == nil {
			w.t.Error("it was committed")
		}
		if !tx.Conn().IsClosed() {
			w.t.Error("the connection is used again")
		}
	}},
	{"the answer to COMMIT does not come in time", func(w world) {
		w.exec("CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END'")
		w.exec("CREATE CONSTRAINT TRIGGER late AFTER INSERT ON stock DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()")
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond)
		defer cancel()
		if tx.Commit(ctx) == nil {
			w.t.Error("it was committed")
		}
		if !tx.Conn().IsClosed() {
			w.t.Error("the connection is used again")
		}
		w.exec("DROP TRIGGER late ON stock")
	}},
	{"a retry is a transaction of its own", func(w world) {
		w.put(w.pool, 0)
		attempts := 0
		ctx := capture.WithSession(w.t.Context(), w.r.Session("worker"))
		for refused := true; refused; attempts++ {
			err := pgx.BeginTxFunc(ctx, w.pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
				var n int
				if _, err := stock.Get(ctx, capturepgx.Rows(tx), 1, &n); err != nil {
					return err
				}
				if attempts == 0 {
					w.put(w.pool, 7)
				}
				_, err := stock.Update(ctx, capturepgx.Rows(tx), 1, n+1)
				return err
			})
			var failed *pgconn.PgError
			refused = errors.As(err, &failed) && failed.Code == "40001"
			if !refused {
				must(w.t, err)
			}
		}
		if attempts != 2 {
			w.t.Errorf("%d attempts", attempts)
		}
	}},
	{"what a savepoint takes back is not told", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		inner, err := tx.Begin(w.t.Context())
		must(w.t, err)
		w.put(inner, 2)
		must(w.t, inner.Rollback(w.t.Context()))
		inner, err = tx.Begin(w.t.Context())
		must(w.t, err)
		w.put(inner, 3)
		must(w.t, inner.Commit(w.t.Context()))
		must(w.t, tx.Commit(w.t.Context()))
	}},
	{"a batch that begins and commits", func(w world) {
		w.put(w.pool, 4)
		b := &pgx.Batch{}
		b.Queue("begin isolation level serializable")
		b.Queue("UPDATE stock SET n = 9 WHERE id = 1")
		b.Queue("commit")
		must(w.t, w.pool.SendBatch(w.t.Context(), b).Close())
	}},
	{"a batch in a transaction, whose data are told by hand", func(w world) {
		w.put(w.pool, 4)
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		b := &pgx.Batch{}
		b.Queue("SELECT n, xmin::text FROM stock WHERE id = 1").QueryRow(func(row pgx.Row) error {
			var n int
			var version string
			err := row.Scan(&n, &version)
			capturepgx.Of(tx).Read("stock/1", n, capture.Version(version))
			return err
		})
		must(w.t, tx.SendBatch(w.t.Context(), b).Close())
		must(w.t, tx.Commit(w.t.Context()))
	}},
	{"a transaction that is left open is undone by the pool", func(w world) {
		conn, err := w.pool.Acquire(w.t.Context())
		must(w.t, err)
		tx, err := conn.Begin(w.t.Context())
		must(w.t, err)
		w.put(tx, 1)
		conn.Release()
	}},
	{"two-phase: another connection decides", func(w world) {
		tx := w.begin(w.t.Context(), pgx.TxOptions{})
		w.put(tx, 1)
		_, err := tx.Exec(w.t.Context(), "PREPARE TRANSACTION 'p'")
		must(w.t, err)
		_ = tx.Rollback(w.t.Context()) // of nothing
		w.exec("ROLLBACK PREPARED 'p'")
	}},
	{"a session that does two things at once is none", func(w world) {
		ctx := capture.WithSession(w.t.Context(), w.r.Session("two"))
		a, b := w.begin(ctx, pgx.TxOptions{}), w.begin(ctx, pgx.TxOptions{})
		must(w.t, a.Commit(ctx))
		must(w.t, b.Commit(ctx))
	}},
}

func TestOutcomes(t *testing.T) {
	want, err := os.ReadFile("testdata/outcomes.txt")
	must(t, err)
	url := testdb.Postgres(t, "max_prepared_transactions=2")
	var got strings.Builder
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			pool, r, kept := openAt(t, url)
			_, err := pool.Exec(t.Context(), "DELETE FROM stock")
			must(t, err)
			o.run(world{t, pool, r})
			pool.Close()
			got.WriteString("== " + o.name + "\n" + kept.Text(t))
		})
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// A wrong key of a table of numbers, and other mistakes, run no statement.
func TestMistakes(t *testing.T) {
	pool, _, kept := open(t)
	tx := capturepgx.Rows(pool)
	for _, c := range []struct {
		want string
		err  error
	}{
		{`rows: table stock: the key "x" is not an integer of 64 bits, which ByNumber needs`, ranged.Insert(t.Context(), tx, "x", 1)},
		{`rows: table stock: 2 values are given for the 1 columns n`, stock.Insert(t.Context(), tx, 1, 1, 2)},
		{`rows: table hits: a counter has no Put`, hits.Put(t.Context(), tx, "/", 1)},
		{`rows: table stock: Range needs Ranges: ByNumber or ByBytes`, stock.Range(t.Context(), tx, rows.Span{}, nil)},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	if got := kept.Text(t); got != "" {
		t.Errorf("recorded: %s", got)
	}
}
