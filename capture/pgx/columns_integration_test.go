//go:build integration

package pgx_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/isowatch/isowatch/capture"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// TestColumnsWithXmin: a client records each column of a row under a key of its own, and xmin with each.
// An update of one column gives the others a new version. A healthy database is no violation all the same.
func TestColumnsWithXmin(t *testing.T) {
	url := testdb.Postgres(t)
	monitor := testcapture.Monitor(t)
	for _, c := range []struct {
		level pgx.TxIsoLevel
		args  string
	}{
		{pgx.ReadCommitted, "--expect read-committed --levels read-committed"},
		{pgx.RepeatableRead, "--expect postgresql/repeatable-read --levels strong-session-snapshot-isolation"},
		{pgx.Serializable, "--expect serializable --levels serializable,strong-session-serializable"},
	} {
		t.Run(string(c.level), func(t *testing.T) {
			lines := columnsWithXmin(t, url, c.level)
			for _, contract := range []string{"", " --contract capture=partial,start=existing,unmonitored-writers=yes,value-identity=observed,deletes=unseen"} {
				exit, out := testcapture.Check(t, monitor, lines, strings.Fields(c.args+contract)...)
				if exit != 0 && exit != 2 || strings.Contains(out, "VIOLATED") {
					t.Errorf("exit code %d%s:\n%s", exit, contract, out)
				}
				if !strings.Contains(out, "column") {
					t.Errorf("nothing is told of columns:\n%s", out)
				}
			}
		})
	}
}

// columnsWithXmin are the records of four clients.
func columnsWithXmin(t *testing.T, url string, level pgx.TxIsoLevel) [][]byte {
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	defer pool.Close()
	for _, statement := range []string{
		"DROP TABLE IF EXISTS items",
		"CREATE TABLE items (id int PRIMARY KEY, price bigint, stock bigint, note bigint)",
	} {
		_, err := pool.Exec(t.Context(), statement)
		must(t, err)
	}
	recorder, kept := testcapture.New(t)
	setup := recorder.Begin(capture.Begin{Session: recorder.Session("setup")})
	tx, err := pool.Begin(t.Context())
	must(t, err)
	columns := []string{"price", "stock", "note"}
	for id := range 3 {
		var version string
		must(t, tx.QueryRow(t.Context(), "INSERT INTO items VALUES ($1, 1, 2, 3) RETURNING xmin::text", id).Scan(&version))
		for i, column := range columns {
			setup.Insert(fmt.Sprintf("items/%d/%s", id, column), i+1, capture.Version(version))
		}
	}
	must(t, tx.Commit(t.Context()))
	setup.End(capture.Committed)
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 5))
			session := recorder.Session(fmt.Sprint("client-", n))
			for range 150 {
				txn := recorder.Begin(capture.Begin{Session: session})
				tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + rng.IntN(5) {
					if err = columnStep(t, tx, txn, rng, columns); err != nil {
						break
					}
				}
				if err == nil {
					err = tx.Commit(t.Context())
				}
				if err != nil {
					_ = tx.Rollback(t.Context())
					txn.End(capture.Aborted)
					continue
				}
				txn.End(capture.Committed)
			}
		})
	}
	clients.Wait()
	return kept.Lines(t)
}

// columnStep reads or updates a column. A value is a plain number that comes again.
func columnStep(t *testing.T, tx pgx.Tx, txn *capture.Txn, rng *rand.Rand, columns []string) error {
	id, column := rng.IntN(3), columns[rng.IntN(len(columns))]
	key := fmt.Sprintf("items/%d/%s", id, column)
	var value int64
	var version string
	if rng.IntN(2) == 0 {
		err := tx.QueryRow(t.Context(), "SELECT "+column+", xmin::text FROM items WHERE id = $1", id).Scan(&value, &version)
		if err == nil {
			txn.Read(key, value, capture.Version(version))
		}
		return err
	}
	err := tx.QueryRow(t.Context(), "UPDATE items SET "+column+" = $2 WHERE id = $1 RETURNING "+column+", xmin::text", id, rng.Int64N(5)).Scan(&value, &version)
	if err == nil {
		txn.Write(key, value, capture.Version(version))
	}
	return err
}
