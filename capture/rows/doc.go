// Package rows reads and writes rows by their primary key, and records what it did. It is
// the source of data for transactions that package capture follows.
//
//	var stock = rows.Table{Name: "stock", Key: "product", Columns: []string{"n"}, Version: rows.XMin}
//
//	var n int
//	found, err := stock.Get(ctx, rows.SQL(tx), "apple", &n)
//	...
//	_, err = stock.Update(ctx, rows.SQL(tx), "apple", n-1)
//
// tx is what database/sql and what is built on it give; for pgx there is capture/pgx.Rows.
// Each call is one statement. Outside of a transaction it is a transaction of its own.
//
// With a driver that is not captured the same statements run, and nothing is recorded.
package rows
