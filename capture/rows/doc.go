// Package rows reads and writes rows by their primary key, and records what it did. Its calls
// give package capture the data of the transactions that it follows.
//
//	var stock = rows.Table{Name: "stock", Key: "product", Columns: []string{"n"}, Version: rows.XMin}
//
//	var n int
//	found, err := stock.Get(ctx, rows.SQL(tx), "apple", &n)
//	...
//	_, err = stock.Update(ctx, rows.SQL(tx), "apple", n-1)
//
// tx comes from database/sql, or from a library that is built on it. For pgx there is
// capture/pgx.Rows. Each call is one statement. Outside of a transaction it is a transaction of
// its own.
//
// With a driver that is not captured the same statements run, and nothing is recorded.
package rows
