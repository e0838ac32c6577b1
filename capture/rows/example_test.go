package rows_test

import (
	"context"
	"database/sql"
	"fmt"

	"modernc.org/sqlite"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/capture/rows"
)

// A transaction that reads a row and writes it back.
func Example() {
	recorder, err := capture.New(printing{}, "shop", capture.WithPlainValues())
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(capture.Connector(capture.DSN(&sqlite.Driver{}, ":memory:"), recorder))
	defer db.Close()
	db.SetMaxOpenConns(1) // a database in memory is that of its connection
	ctx := capture.WithSession(context.Background(), recorder.Session("worker"))
	if err := take(ctx, db); err != nil {
		fmt.Println(err)
	}
	if err := recorder.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: 1 transactions
}

func take(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE stock (product text PRIMARY KEY, n integer, version text); INSERT INTO stock VALUES ('apple', 5, 'a')"); err != nil {
		return err
	}
	stock := rows.Table{Name: "stock", Key: "product", Columns: []string{"n"}, Version: "version", Dialect: rows.SQLite}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if _, err := stock.Get(ctx, rows.SQL(tx), "apple", &n); err != nil {
		return err
	}
	if _, err := stock.Update(ctx, rows.SQL(tx), "apple", n-1); err != nil {
		return err
	}
	return tx.Commit()
}

// printing is a sink that says how much it gets.
type printing struct{}

func (printing) Write(_ context.Context, lines [][]byte) error {
	fmt.Println(len(lines), "transactions")
	return nil
}

func (printing) Close() error { return nil }
