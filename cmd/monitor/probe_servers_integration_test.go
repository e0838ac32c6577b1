//go:build integration

package main

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/isowatch/isowatch/internal/testdb"
)

// root runs statements on a server as the user who may do all.
func root(t *testing.T, driver, name string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestServers runs testdata/servers/NAME.txt and counted.txt, scripts as those of TestScripts, on real servers.
// URL is that of a user who may do all, QUICK too, where deadlocks end at once; LIMITED has the user "limited", who may only connect,
// by a password that a file "password" is to hold.
func TestServers(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"postgres": startPostgres, "mariadb": startMariaDB} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			limited, err := url.Parse(server)
			if err != nil {
				t.Fatal(err)
			}
			limited.User = url.User("limited")
			testscript.Run(t, testscript.Params{
				Files: []string{"testdata/servers/" + name + ".txt", "testdata/servers/counted.txt"},
				Setup: func(env *testscript.Env) error {
					for key, value := range map[string]string{"NO_COLOR": "1", "URL": server, "QUICK": quick(server), "LIMITED": limited.String(), "HOST": limited.Host, "PORT": limited.Port()} {
						env.Setenv(key, value)
					}
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "eventually": eventually},
			})
		})
	}
}

// quick has PostgreSQL look for deadlocks at once, and not after a second.
func quick(server string) string {
	if strings.HasPrefix(server, "postgres") {
		return server + "&deadlock_timeout=5ms"
	}
	return server
}

func startPostgres(t *testing.T) string {
	server := testdb.Postgres(t, "password_encryption=scram-sha-256")
	var file string
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SHOW hba_file").Scan(&file); err != nil {
		t.Fatal(err)
	}
	root(t, "pgx", server,
		"CREATE ROLE limited LOGIN PASSWORD 'hidden'",
		"COPY (VALUES ('host all limited 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) TO '"+file+"'",
		"SELECT pg_reload_conf()")
	open := strings.Replace(server, "postgres@", "limited@", 1)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // until it asks for the password
		db, err := sql.Open("pgx", open)
		if err != nil {
			t.Fatal(err)
		}
		err = db.PingContext(t.Context())
		db.Close()
		if err != nil {
			return server
		}
		if time.Now().After(deadline) {
			t.Fatal("the server lets everybody in")
		}
	}
}

func startMariaDB(t *testing.T) string {
	name := testdb.MariaDB(t)
	c, err := mysql.ParseDSN(name)
	if err != nil {
		t.Fatal(err)
	}
	root(t, "mysql", name, "CREATE USER limited IDENTIFIED BY 'hidden'")
	return "mysql://root@" + c.Addr + "/"
}
