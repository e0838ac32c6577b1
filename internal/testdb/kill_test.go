//go:build integration

package testdb

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// A server that is killed loses what it had not written yet, where it is set so, and
// nothing otherwise; it starts anew at the same address.
func TestKill(t *testing.T) {
	postgres := func(settings ...string) func(testing.TB) *Server {
		return func(t testing.TB) *Server { return StartPostgres(t, settings...) }
	}
	mariadb := func(options ...string) func(testing.TB) *Server {
		return func(t testing.TB) *Server { return StartMariaDB(t, options...) }
	}
	for _, c := range []struct {
		name, driver string
		start        func(testing.TB) *Server
		loses        bool
	}{
		{"PostgreSQL, asynchronous", "pgx", postgres("synchronous_commit=off", "wal_writer_delay=10s"), true},
		{"PostgreSQL", "pgx", postgres(), false},
		{"MariaDB, asynchronous", "mysql", mariadb("--innodb-flush-log-at-timeout=60"), true},
		{"MariaDB", "mysql", mariadb("--innodb-flush-log-at-trx-commit=1"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := c.start(t)
			db, err := sql.Open(c.driver, server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if c.driver == "mysql" {
				db.SetMaxOpenConns(1)
				execute(t, db, "CREATE DATABASE d")
				execute(t, db, "USE d")
			}
			execute(t, db, "CREATE TABLE t (n int)")
			if c.driver == "pgx" {
				server.Checkpoint(t)
			}
			const rows = 100
			for range rows {
				execute(t, db, "INSERT INTO t VALUES (1)")
			}
			server.Kill(t)
			server.Restart(t)
			if c.driver == "mysql" {
				execute(t, db, "USE d")
			}
			got := count(t, db)
			if kept := got == rows; kept == c.loses {
				t.Errorf("%d of %d rows are left", got, rows)
			}
		})
	}
}

// execute runs a statement; of a connection that the server's end broke there may be two tries.
func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	if err != nil {
		_, err = db.ExecContext(t.Context(), statement)
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	for tries := 0; ; tries++ {
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n)
		if err == nil {
			return n
		}
		if tries == 3 {
			t.Fatal(err)
		}
	}
}

// A replica answers with what its primary had, and stays as it is while it is paused.
func TestReplica(t *testing.T) {
	primary, replica := PostgresReplicated(t)
	open := func(url string) *sql.DB {
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	at, copied := open(primary.URL), open(replica.URL)
	execute(t, at, "CREATE TABLE t (n int)")
	execute(t, at, "INSERT INTO t VALUES (1)")
	await := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), replayPatience)
		defer cancel()
		n := -1
		for ; n != want; time.Sleep(10 * time.Millisecond) {
			if err := copied.QueryRowContext(ctx, "SELECT count(*) FROM t").Scan(&n); ctx.Err() != nil {
				t.Fatalf("the replica has %d rows, want %d: %v", n, want, err)
			}
		}
	}
	await(1)
	replica.Pause(t)
	execute(t, at, "INSERT INTO t VALUES (2)")
	time.Sleep(200 * time.Millisecond) // it would have come by now
	await(1)
	replica.Resume(t)
	await(2)
	if _, err := copied.ExecContext(t.Context(), "INSERT INTO t VALUES (3)"); err == nil {
		t.Error("the replica was written")
	}
}
