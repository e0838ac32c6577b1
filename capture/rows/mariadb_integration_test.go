//go:build integration

package rows_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

var stock = rows.Table{Name: "stock", Key: "id", Columns: []string{"n"}, Version: "version", Dialect: rows.MySQL}

// outcome returns what docs/capture.md says of MySQL.
func outcome(err error) capture.Status {
	var refused *mysql.MySQLError
	switch {
	case !errors.As(err, &refused):
		return capture.Unknown
	case refused.Number == 1317, refused.Number == 1053: // interrupted, server shutdown
		return capture.Unknown
	default:
		return capture.Aborted
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openMariaDB(t *testing.T, name string) (*sql.DB, *capture.Recorder, *testcapture.Kept) {
	t.Helper()
	config, err := mysql.ParseDSN(name)
	must(t, err)
	config.DBName = "test"
	connector, err := mysql.NewConnector(config)
	must(t, err)
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(connector, r, capture.WithOutcome(outcome)))
	t.Cleanup(func() { db.Close() })
	_, err = db.ExecContext(t.Context(), "CREATE OR REPLACE TABLE stock (id bigint PRIMARY KEY, n bigint NOT NULL, version varchar(26)) ENGINE=InnoDB")
	must(t, err)
	return db, r, kept
}

// MariaDB with a version column: each function writes what it says it does, at serializable nothing is
// found, and at repeatable read the updates that InnoDB loses are.
func TestMariaDB(t *testing.T) {
	name := testdb.MariaDB(t)
	config, err := mysql.ParseDSN(name)
	must(t, err)
	connector, err := mysql.NewConnector(config)
	must(t, err)
	setup := sql.OpenDB(connector)
	_, err = setup.ExecContext(t.Context(), "CREATE DATABASE IF NOT EXISTS test")
	must(t, err)
	must(t, setup.Close())
	monitor := testcapture.Monitor(t)

	t.Run("functions", func(t *testing.T) {
		db, _, kept := openMariaDB(t, name)
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		must(t, err)
		q := rows.SQL(tx)
		must(t, stock.Insert(t.Context(), q, 1, 5))
		must(t, stock.Put(t.Context(), q, 1, 6))
		must(t, stock.Put(t.Context(), q, 2, 7))
		found, err := stock.Update(t.Context(), q, 3, 7)
		if found || err != nil {
			t.Error(found, err)
		}
		_, err = stock.Inc(t.Context(), q, 2, 1)
		must(t, err)
		var n int
		_, err = stock.GetForUpdate(t.Context(), q, 2, &n)
		if n != 8 || err != nil {
			t.Error(n, err)
		}
		_, err = stock.Delete(t.Context(), q, 1)
		must(t, err)
		must(t, tx.Commit())
		want := `committed SERIALIZABLE; insert stock/1=5 @1; w stock/1=6 @2; insert stock/2=7 @3; r stock/3 nothing; w stock/2=@4 @4; r stock/2=8 @4; delete stock/1
`
		if got := kept.Text(t); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
	for _, c := range []struct {
		level sql.IsolationLevel
		args  string
		exit  int
		want  string
	}{
		{sql.LevelSerializable, "--levels serializable", 0, ""},
		{sql.LevelRepeatableRead, "--contract isolation=ignore --levels snapshot-isolation", 1, "lost-update"},
	} {
		t.Run(c.level.String(), func(t *testing.T) {
			db, r, kept := openMariaDB(t, name)
			for id := range 3 {
				must(t, stock.Insert(t.Context(), rows.SQL(db), id, 0))
			}
			var wait sync.WaitGroup
			for n := range 4 {
				wait.Go(func() { takeStock(t, db, capture.WithSession(t.Context(), r.Session("worker")), c.level, uint64(n)) })
			}
			wait.Wait()
			exit, out := testcapture.Check(t, monitor, kept.Lines(t), strings.Fields(c.args)...)
			if exit != c.exit || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", exit, c.exit, c.want, out)
			}
		})
	}
}

// takeStock reads one row and writes it or another one, again and again.
func takeStock(t *testing.T, db *sql.DB, ctx context.Context, level sql.IsolationLevel, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 100 {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Error(err)
			return
		}
		q := rows.SQL(tx)
		var n int
		id := rng.IntN(3)
		_, err = stock.Get(ctx, q, id, &n)
		if err == nil {
			_, err = stock.Update(ctx, q, id, n+1)
		}
		if err == nil {
			err = tx.Commit()
		} else {
			err = errors.Join(err, tx.Rollback())
		}
		var refused *mysql.MySQLError
		if err != nil && !(errors.As(err, &refused) && (refused.Number == 1213 || refused.Number == 1205)) {
			t.Error(err)
			return
		}
	}
}
