//go:build integration

package pgx_test

import (
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/isowatch/isowatch/capture"
	capturepgx "github.com/isowatch/isowatch/capture/pgx"
	"github.com/isowatch/isowatch/capture/rows"
	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// open makes a server with the tables of these tests, and a pool that is captured.
func open(t *testing.T, configure ...func(*pgxpool.Config)) (*pgxpool.Pool, *capture.Recorder, *testcapture.Kept) {
	t.Helper()
	return openAt(t, testdb.Postgres(t, "max_prepared_transactions=2"), configure...)
}

func openAt(t *testing.T, url string, configure ...func(*pgxpool.Config)) (*pgxpool.Pool, *capture.Recorder, *testcapture.Kept) {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	recorder, kept := testcapture.New(t)
	config.ConnConfig.Tracer = capturepgx.New(recorder)
	for _, c := range configure {
		c(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go pool.Close() }) // it waits for what a failed test holds
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS stock (id bigint PRIMARY KEY, n bigint NOT NULL)",
		"CREATE TABLE IF NOT EXISTS people (name text PRIMARY KEY, age int, mail text)",
		"CREATE TABLE IF NOT EXISTS hits (page text PRIMARY KEY, n bigint NOT NULL)",
		"CREATE TABLE IF NOT EXISTS notes (id bigint PRIMARY KEY, body text, n bigint, version text)",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return pool, recorder, kept
}

var (
	stock  = rows.Table{Name: "stock", Key: "id", Columns: []string{"n"}, Version: rows.XMin}
	ranged = rows.Table{Name: "stock", Key: "id", Columns: []string{"n"}, Version: rows.XMin, Ranges: rows.ByNumber}
	people = rows.Table{Name: "people", Key: "name", Columns: []string{"age", "mail"}, Version: rows.XMin, Ranges: rows.ByBytes}
	hits   = rows.Table{Name: "hits", Key: "page", Columns: []string{"n"}, Counter: true}
	notes  = rows.Table{Name: "notes", Key: "id", Columns: []string{"body"}, Version: "version"}
	// numbered is notes with a number.
	numbered = rows.Table{Name: "notes", Key: "id", Columns: []string{"n"}, Version: "version"}
	plain    = rows.Table{Name: "people", Key: "name", Columns: []string{"age", "mail"}, Version: rows.OnlyValues}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inTx runs f in a transaction of its own.
func inTx(t *testing.T, pool *pgxpool.Pool, f func(tx rows.Tx)) {
	t.Helper()
	must(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		f(capturepgx.Rows(tx))
		return nil
	}))
}

// Each function writes what it says it does.
func TestHelpers(t *testing.T) {
	pool, _, kept := open(t)
	ctx := t.Context()
	for _, f := range []func(tx rows.Tx){
		func(tx rows.Tx) { must(t, stock.Insert(ctx, tx, 1, 5)) },
		func(tx rows.Tx) {
			var n int
			found, err := stock.Get(ctx, tx, 1, &n)
			if err != nil || !found || n != 5 {
				t.Errorf("Get: %d, %v, %v", n, found, err)
			}
			found, err = stock.Update(ctx, tx, int64(1), n-1)
			if err != nil || !found {
				t.Errorf("Update: %v, %v", found, err)
			}
			_, err = stock.Get(ctx, tx, 1, &n)
			must(t, err)
		},
		func(tx rows.Tx) {
			found, err := stock.Update(ctx, tx, 2, 1)
			if err != nil || found {
				t.Errorf("Update of no row: %v, %v", found, err)
			}
		},
		func(tx rows.Tx) { must(t, stock.Put(ctx, tx, 2, 7)) },
		func(tx rows.Tx) { must(t, stock.Put(ctx, tx, 2, 8)) },
		func(tx rows.Tx) {
			found, err := stock.Inc(ctx, tx, 2, -3)
			if err != nil || !found {
				t.Errorf("Inc: %v, %v", found, err)
			}
		},
		func(tx rows.Tx) {
			found, err := stock.Delete(ctx, tx, 2)
			if err != nil || !found {
				t.Errorf("Delete: %v, %v", found, err)
			}
			found, err = stock.Delete(ctx, tx, 2)
			if err != nil || found {
				t.Errorf("Delete of no row: %v, %v", found, err)
			}
		},
		func(tx rows.Tx) {
			must(t, people.Insert(ctx, tx, "ann", 30, nil))
			must(t, people.Put(ctx, tx, "bob", 40, "b@x"))
			must(t, people.Put(ctx, tx, "Zoe", 50, "z@x"))
		},
		func(tx rows.Tx) {
			var names []string
			must(t, people.Range(ctx, tx, rows.Span{From: "a"}, func(r *rows.Row) error {
				var name string
				var age int
				var mail *string
				err := r.Scan(&name, &age, &mail)
				names = append(names, name)
				return err
			}))
			if len(names) != 2 || names[0] != "ann" || names[1] != "bob" {
				t.Errorf("Range by bytes: %q", names)
			}
			enough := errors.New("enough")
			if err := people.Range(ctx, tx, rows.Span{}, func(r *rows.Row) error { return enough }); err != enough {
				t.Errorf("Range ended with %v", err)
			}
			must(t, people.Range(ctx, tx, rows.Span{Desc: true, Limit: 1}, func(r *rows.Row) error { return nil }))
			_, err := people.Update(ctx, tx, "bob", 41, "b@y")
			must(t, err)
			_, err = people.Delete(ctx, tx, "ann")
			must(t, err)
		},
		func(tx rows.Tx) {
			var age int
			var mail string
			_, err := plain.Get(ctx, tx, "bob", &age, &mail)
			must(t, err)
			_, err = plain.Update(ctx, tx, "bob", 42, "b@z")
			must(t, err)
		},
		func(tx rows.Tx) {
			must(t, hits.Insert(ctx, tx, "/", 0))
			_, err := hits.Inc(ctx, tx, "/", 2)
			must(t, err)
			var n int64
			_, err = hits.Get(ctx, tx, "/", &n)
			must(t, err)
		},
		func(tx rows.Tx) {
			must(t, notes.Insert(ctx, tx, 1, "a"))
			_, err := notes.Update(ctx, tx, 1, "b")
			must(t, err)
		},
		func(tx rows.Tx) {
			must(t, notes.Put(ctx, tx, 1, "c"))
			must(t, notes.Put(ctx, tx, 2, "d"))
			var body string
			_, err := notes.GetForUpdate(ctx, tx, 1, &body)
			must(t, err)
		},
	} {
		inTx(t, pool, f)
	}
	must(t, stock.Insert(ctx, capturepgx.Rows(pool), 3, 9)) // a transaction of its own
	if err := stock.Insert(ctx, capturepgx.Rows(pool), 3, 9); err == nil {
		t.Error("a row was inserted twice")
	}
	want, err := os.ReadFile("testdata/helpers.txt")
	must(t, err)
	if got := kept.Text(t); got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
