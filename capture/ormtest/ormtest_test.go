//go:build integration

package ormtest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

var stock = rows.Table{Name: "stock", Key: "id", Columns: []string{"n"}, Version: rows.XMin}

// open makes a server with a table, and a captured pool with a session in the context.
func open(t *testing.T) (context.Context, *sql.DB, *testcapture.Kept) {
	t.Helper()
	config, err := pgx.ParseConfig(testdb.Postgres(t))
	must(t, err)
	r, kept := testcapture.New(t)
	db := sql.OpenDB(capture.Connector(stdlib.GetConnector(*config), r, capture.WithOutcome(capturepgx.Outcome)))
	t.Cleanup(func() { db.Close() })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE stock (id bigint PRIMARY KEY, n bigint NOT NULL)")
	must(t, err)
	ctx := capture.WithSession(t.Context(), r.Session("worker"))
	must(t, stock.Insert(ctx, rows.SQL(db), 1, 5))
	return ctx, db, kept
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, kept *testcapture.Kept, want string) {
	t.Helper()
	if got := kept.Text(t); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got:\n%s\nwant:%s", got, want)
	}
}

// A transaction of sqlx is one of database/sql. What is read by its own functions is told by hand.
func TestSqlx(t *testing.T) {
	ctx, db, kept := open(t)
	tx, err := sqlx.NewDb(db, "pgx").BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	must(t, err)
	var row struct {
		ID      int
		N       int
		Version string
	}
	must(t, tx.GetContext(ctx, &row, "SELECT id, n, xmin::text AS version FROM stock WHERE id = $1", 1))
	capture.Of(ctx, tx).Read("stock/1", row.N, capture.Version(row.Version))
	_, err = stock.Update(ctx, rows.SQL(tx), 1, row.N-1)
	must(t, err)
	must(t, tx.Commit())
	compare(t, kept, `
committed s1#1; insert stock/1=5 @1
committed SERIALIZABLE s1#2; r stock/1=5 @1; w stock/1=4 @2 <@1
`)
}

// GORM's transactions, nested ones (savepoints) and prepared statements are seen. What its own
// Save and Find read and write is not: the row goes through a table, or is told by hand.
func TestGORM(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		ctx, db, kept := open(t)
		g, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{PrepareStmt: prepare, Logger: logger.Discard})
		must(t, err)
		attempts := 0
		update := func() error {
			return g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				attempts++
				var n int
				if _, err := stock.Get(ctx, rows.SQL(tx.Statement.ConnPool), 1, &n); err != nil {
					return err
				}
				if attempts == 1 { // somebody else comes between
					if _, err := db.ExecContext(context.Background(), "UPDATE stock SET n = n WHERE id = 1"); err != nil {
						return err
					}
				}
				if err := tx.Transaction(func(inner *gorm.DB) error {
					must(t, stock.Put(ctx, rows.SQL(inner.Statement.ConnPool), 2, 1))
					return errors.New("not that")
				}); err == nil {
					t.Error("no error")
				}
				_, err := stock.Update(ctx, rows.SQL(tx.Statement.ConnPool), 1, n-1)
				return err
			}, &sql.TxOptions{Isolation: sql.LevelSerializable})
		}
		err = update()
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "40001" {
			t.Errorf("the first attempt: %v", err)
		}
		must(t, update())
		compare(t, kept, `
committed s1#1; insert stock/1=5 @1
aborted SERIALIZABLE s1#2; r stock/1=5 @1
committed SERIALIZABLE s1#3; r stock/1=5 @2; w stock/1=4 @3 <@2
`)
	}
}
