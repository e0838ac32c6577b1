//go:build integration

package target

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
	mysqldb "github.com/isowatch/isowatch/probe/mysql"
	"github.com/isowatch/isowatch/probe/postgres"
)

// server is a real one, with what its root user may do.
type server struct {
	product string
	url     string
	root    *sql.DB
	// tables lists the names of those in a schema.
	tables string
	limit  []string // make a user "limited" with the password "se cret/1", who may connect only
	grant  []string // let that user use a schema that is there
	level  string   // sets the server's isolation to serializable
}

func (s *server) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.root.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// names are the tables in the schema.
func (s *server) names(t *testing.T, schema string) []string {
	t.Helper()
	rows, err := s.root.QueryContext(t.Context(), strings.ReplaceAll(s.tables, "SCHEMA", schema))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// as is the server's URL for another user.
func (s *server) as(user *url.Userinfo) string {
	u, err := url.Parse(s.url)
	if err != nil {
		panic(err)
	}
	u.User = user
	return u.String()
}

const listTables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'SCHEMA'"

func startPostgres(t *testing.T) *server {
	s := &server{
		product: "postgresql", url: testdb.Postgres(t, "password_encryption=scram-sha-256"), tables: listTables,
		limit: []string{"CREATE ROLE limited LOGIN PASSWORD 'se cret/1'"},
		grant: []string{"CREATE SCHEMA isowatch_probe", "GRANT USAGE, CREATE ON SCHEMA isowatch_probe TO limited"},
		level: "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'",
	}
	s.connect(t, "pgx", s.url)
	return s
}

func startMariaDB(t *testing.T) *server {
	return mysqlServer(t, "mariadb", testdb.MariaDB(t), "SET GLOBAL tx_isolation = 'SERIALIZABLE'")
}

func startMySQL(t *testing.T) *server {
	return mysqlServer(t, "mysql", testdb.MySQL(t), "SET GLOBAL transaction_isolation = 'SERIALIZABLE'")
}

func mysqlServer(t *testing.T, product, name, level string) *server {
	t.Helper()
	c, err := mysql.ParseDSN(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		product: product, url: "mysql://root@" + c.Addr + "/", tables: listTables, level: level,
		limit: []string{"CREATE USER limited IDENTIFIED BY 'se cret/1'"},
		grant: []string{"CREATE DATABASE isowatch_probe", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON isowatch_probe.* TO limited"},
	}
	s.connect(t, "mysql", name)
	return s
}

func (s *server) connect(t *testing.T, driver, name string) {
	t.Helper()
	var err error
	if s.root, err = sql.Open(driver, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.root.Close() })
}

// demandPasswords has PostgreSQL ask the user "limited" for a password.
func (s *server) demandPasswords(t *testing.T) {
	t.Helper()
	var file string
	if err := s.root.QueryRowContext(t.Context(), "SHOW hba_file").Scan(&file); err != nil {
		t.Fatal(err)
	}
	s.exec(t,
		"COPY (VALUES ('host all limited 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) TO '"+file+"'",
		"SELECT pg_reload_conf()")
	time.Sleep(200 * time.Millisecond) // the postmaster reads it soon, and says nowhere that it has
}

// each runs a test on fresh servers.
func each(t *testing.T, test func(t *testing.T, s *server)) {
	t.Run("postgresql", func(t *testing.T) { test(t, startPostgres(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, startMariaDB(t)) })
}

func open(t *testing.T, url, epoch string) *Target {
	t.Helper()
	to, err := Open(t.Context(), url, Options{Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func fill(t *testing.T, to *Target) {
	t.Helper()
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := probe.Fill(t.Context(), to, w, probe.Options{}); err != nil || r.Status != event.Committed {
		t.Fatal(r, err)
	}
}

// A run uses its own tables, keeps others out, drops what an earlier one left, and leaves
// nothing.
func TestEpochs(t *testing.T) {
	test := func(t *testing.T, s *server) {
		s.exec(t, s.level)
		killed := open(t, s.url, "e1")
		fill(t, killed)
		if killed.Expect() != s.product+"/serializable" || killed.Version == "" || killed.Isolation != "serializable" {
			t.Errorf("opened %+v", killed)
		}
		refused(t, s.url, Options{Epoch: "e2"}, "another probe is running on the schema isowatch_probe")
		other, err := Open(t.Context(), s.url, Options{Epoch: "e2", Schema: "other", Isolation: "READ-COMMITTED"})
		if err != nil {
			t.Fatal(err)
		}
		if other.Expect() != s.product+"/read-committed" {
			t.Errorf("opened %+v", other)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		killed.abandon(t)
		next := open(t, s.url, "e3")
		fill(t, next)
		want := []string{"e3_counters", "e3_lists", "e3_registers"}
		if got := s.names(t, "isowatch_probe"); !slices.Equal(got, want) {
			t.Errorf("tables %q, want %q", got, want)
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
		if got := s.names(t, "isowatch_probe"); len(got) > 0 {
			t.Errorf("tables %q remain", got)
		}
	}
	each(t, test)
	t.Run("mysql", func(t *testing.T) { test(t, startMySQL(t)) })
}

// abandon ends as a killed process does.
func (t *Target) abandon(test *testing.T) {
	test.Helper()
	if err := t.Database.(interface{ Abandon() error }).Abandon(); err != nil {
		test.Fatal(err)
	}
}

// Tables that no probe has made are not touched.
func TestForeignTables(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		killed := open(t, s.url, "e1")
		fill(t, killed)
		killed.abandon(t)
		s.exec(t, "CREATE TABLE isowatch_probe.e0_registers (k INT PRIMARY KEY)")
		before := s.names(t, "isowatch_probe")
		refused(t, s.url, Options{Epoch: "e2"}, `holds the table "e0_registers", which no probe has made: name another schema`)
		if got := s.names(t, "isowatch_probe"); !slices.Equal(got, before) {
			t.Errorf("tables %q, before %q", got, before)
		}
		s.exec(t, "DROP TABLE isowatch_probe.e0_registers")
		to := open(t, s.url, "e3")
		fill(t, to)
		s.exec(t, "CREATE TABLE isowatch_probe.orders (k INT PRIMARY KEY)")
		if err := to.Close(); err == nil || !strings.Contains(err.Error(), `the table "orders"`) {
			t.Errorf("closed: %v", err)
		}
	})
}

// What a user may not, and what is no server, is said in one sentence, and leaves nothing.
func TestRefused(t *testing.T) {
	test := func(t *testing.T, s *server) {
		s.exec(t, s.limit...)
		limited := s.as(url.UserPassword("limited", "se cret/1"))
		refused(t, limited, Options{Epoch: "e1"}, "denied")
		if got := s.names(t, "isowatch_probe"); len(got) > 0 {
			t.Errorf("tables %q", got)
		}
		s.exec(t, s.grant...)
		to := open(t, limited, "e2")
		fill(t, to)
		if err := to.Close(); err != nil {
			t.Error(err)
		}
		if s.product != "postgresql" {
			refused(t, s.as(url.UserPassword("limited", "se cret/2")), Options{Epoch: "e3"}, "Access denied for user 'limited'")
			refused(t, s.url+"?tls=true", Options{Epoch: "e3"}, map[string]string{
				"mariadb": "the server offers no TLS; where that is right", "mysql": "the TLS connection fails: ",
			}[s.product])
			s.exec(t, "SET GLOBAL read_only = ON")
			refused(t, s.url, Options{Epoch: "e3"}, "as a replica is: name its primary")
		} else {
			s.demandPasswords(t)
			refused(t, s.as(url.UserPassword("limited", "se cret/2")), Options{Epoch: "e3"}, `password authentication failed for user "limited"`)
			to, err := Open(t.Context(), s.as(url.User("limited")), Options{Epoch: "e3", Password: "se cret/1"})
			if err != nil {
				t.Fatal(err)
			}
			to.Close()
			refused(t, strings.Replace(s.url, "sslmode=disable", "sslmode=require", 1), Options{Epoch: "e3"}, "offers no TLS")
			refused(t, strings.Replace(s.url, "/postgres?", "/nowhere?", 1), Options{Epoch: "e3"}, `database "nowhere" does not exist`)
			s.exec(t, "ALTER DATABASE postgres SET default_transaction_read_only = on")
			refused(t, s.url, Options{Epoch: "e3"}, "as a replica is: name its primary")
		}
		refused(t, s.url, Options{Epoch: "e3", Isolation: "chaos"}, `the isolation "chaos"`)
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		u.Host, u.User = "127.0.0.1:1", url.UserPassword("me", "se cret/1")
		refused(t, u.String(), Options{Epoch: "e3"}, "connection refused")
		u.Host = "no-such-host.invalid"
		refused(t, u.String(), Options{Epoch: "e3"}, "no such host")
		refused(t, s.product+"x://me:se cret@h/", Options{Epoch: "e3"}, "names no database that can be probed")
		refused(t, u.Scheme+"://me:se cret/1@h:port/", Options{Epoch: "e3"}, "the URL cannot be read")
	}
	each(t, test)
	t.Run("mysql", func(t *testing.T) { test(t, startMySQL(t)) })
}

// An endpoint of another database is refused, and nothing is left. The same server twice is
// two nodes.
func TestOtherDatabase(t *testing.T) {
	s := startPostgres(t)
	s.exec(t, "CREATE DATABASE elsewhere")
	w, err := probe.ByName("mix")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ endpoint, want string }{
		{s.url, ""},
		{strings.Replace(s.url, "/postgres?", "/elsewhere?", 1), "does not show the probe's new tables within 10s: it is another database, or "},
	} {
		to, err := Open(t.Context(), s.url, Options{Epoch: "e1", Endpoints: []string{c.endpoint}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = probe.Fill(t.Context(), to, w, probe.Options{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
		if got := s.names(t, "isowatch_probe"); len(got) > 0 {
			t.Errorf("tables %q", got)
		}
	}
}

// The lock is taken again when its connection is lost, and tells when another probe has it.
func TestLostLock(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		to := open(t, s.url, "e1")
		fill(t, to)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if s.product == "postgresql" {
			s.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
		} else {
			var id int64
			if err := s.root.QueryRowContext(ctx, "SELECT id FROM information_schema.processlist WHERE command = 'Sleep' AND id <> CONNECTION_ID() LIMIT 1").Scan(&id); err != nil {
				t.Fatal(err)
			}
			s.exec(t, fmt.Sprintf("KILL CONNECTION %d", id))
		}
		second := open(t, s.url, "e2")
		defer second.Close()
		for {
			session, err := to.Database.Open(ctx)
			if err != nil {
				if !strings.Contains(err.Error(), "another probe has it now") {
					t.Error(err)
				}
				break
			}
			session.Close()
			time.Sleep(50 * time.Millisecond)
		}
		if to.Err() == nil || to.Close() == nil {
			t.Error("closed without a word")
		}
	})
}

// While somebody locks the tables, transactions are given up in time, and nothing gets
// stuck; then they go on. The server ends a statement, too.
func TestLockedTables(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		to, err := Open(t.Context(), s.url, Options{Epoch: "e1", Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		run := record(t, to, probe.Options{Sessions: 4, Keys: 6, Seed: 7, Timeout: 300 * time.Millisecond})
		committed := func(r *event.Record) bool { return r.Status == event.Committed }
		run.await(t, 50, committed)
		conn, err := s.root.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock, unlock := []string{"BEGIN", "LOCK TABLE isowatch_probe.e1_registers"}, "COMMIT"
		if s.product != "postgresql" {
			lock, unlock = []string{"LOCK TABLES isowatch_probe.e1_registers WRITE"}, "UNLOCK TABLES"
		}
		for _, statement := range lock {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		run.await(t, 6, func(r *event.Record) bool { return r.Status == event.Aborted })
		if _, err := conn.ExecContext(t.Context(), unlock); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		run.await(t, 50, committed)
		if got := judge(t, run.end(t), "read-committed"); got["read-committed"] != "ok" {
			t.Errorf("verdicts %v", got)
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
}

// At a server that takes no writes, transactions ask for none: root may write there all the same.
func TestFollowerAsksForNoWrites(t *testing.T) {
	test := func(t *testing.T, s *server) {
		to := open(t, s.url, "e1")
		defer to.Close()
		fill(t, to)
		session, err := to.Database.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for _, set := range []string{"OFF", "ON"} {
			s.exec(t, "SET GLOBAL read_only = "+set)
			follows, err := session.(probe.Follower).ReadOnly(t.Context())
			if err == nil {
				err = session.Begin(t.Context())
			}
			if err != nil || follows != (set == "ON") {
				t.Fatal(follows, err)
			}
			err = session.Do(t.Context(), &probe.Op{RecordOp: event.RecordOp{Kind: event.Write, Key: "other", Value: "1"}})
			if (err != nil) != follows {
				t.Errorf("read_only %s: a write: %v", set, err)
			}
			if err := session.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
		s.exec(t, "SET GLOBAL read_only = OFF")
	}
	t.Run("mariadb", func(t *testing.T) { test(t, startMariaDB(t)) })
	t.Run("mysql", func(t *testing.T) { test(t, startMySQL(t)) })
}

// A session has what bounds it at the server.
func TestServerBounds(t *testing.T) {
	ask := map[string]string{
		"postgresql": "SELECT current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')",
		"mysql":      "SELECT CONCAT(@@max_execution_time, ' ', @@innodb_lock_wait_timeout)",
		"mariadb":    "SELECT CONCAT(@@max_statement_time, ' ', @@innodb_lock_wait_timeout, ' ', @@idle_transaction_timeout)",
	}
	want := map[string]string{"postgresql": "3s 3s", "mariadb": "3.000000 3 3", "mysql": "3000 3"}
	test := func(t *testing.T, s *server) {
		to, err := Open(t.Context(), s.url, Options{Epoch: "e1", Timeout: 3 * time.Second, Sessions: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		var db *probe.SQL
		switch e := to.Database.(type) {
		case *postgres.Epoch:
			db = e.SQL
		case *mysqldb.Epoch:
			db = e.SQL
		}
		conn, err := db.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, statement := range db.Dialect.Session {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		var got string
		if err := conn.QueryRowContext(t.Context(), ask[s.product]).Scan(&got); err != nil || got != want[s.product] {
			t.Errorf("got %q, %v", got, err)
		}
		if n := db.DB.Stats().MaxOpenConnections; n != 2 {
			t.Errorf("%d connections", n)
		}
	}
	each(t, test)
	t.Run("mysql", func(t *testing.T) { test(t, startMySQL(t)) })
}
