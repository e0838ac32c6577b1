//go:build integration

package main

import (
	"database/sql"
	"maps"
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
// by a password that a file "password" is to hold. OTHER and OTHER_REPLICA are servers of other
// databases; the second takes no writes.
func TestServers(t *testing.T) {
	for name, start := range map[string]func(*testing.T) servers{"postgres": startPostgres, "mariadb": startMariaDB} {
		t.Run(name, func(t *testing.T) {
			running := start(t)
			limited, err := url.Parse(running.url)
			if err != nil {
				t.Fatal(err)
			}
			limited.User = url.User("limited")
			runScript(t, "testdata/servers/"+name+".txt", map[string]string{
				"URL": running.url, "LIMITED": limited.String(), "HOST": limited.Host, "PORT": limited.Port(),
				"OTHER": running.other, "OTHER_REPLICA": running.replica,
			})
			runScript(t, "testdata/servers/counted.txt", map[string]string{"QUICK": quick(running.url)})
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

// TestTLS runs a script on servers whose certificates nobody knows. POSTGRES and MARIADB are
// URLs without their options, LOCALHOST the first one by another name, and POSTGRES_CERTIFICATE and MARIADB_CERTIFICATE the files.
func TestTLS(t *testing.T) {
	postgres, known := testdb.PostgresTLS(t)
	mariadb, alsoKnown := testdb.MariaDBTLS(t)
	url, _, _ := strings.Cut(postgres.URL, "?")
	runScript(t, "testdata/servers/tls.txt", map[string]string{
		"POSTGRES": url, "LOCALHOST": strings.Replace(url, "127.0.0.1", "localhost", 1), "POSTGRES_CERTIFICATE": known, "MARIADB": mysqlURL(t, mariadb.URL), "MARIADB_CERTIFICATE": alsoKnown,
	})
}

// TestRestart runs a script on servers that its command "restart" kills and starts again.
func TestRestart(t *testing.T) {
	postgres, mariadb := testdb.StartPostgres(t), testdb.StartMariaDB(t, "--innodb-flush-log-at-trx-commit=1") // which loses no commits
	restart := func(ts *testscript.TestScript, _ bool, args []string) {
		server := map[string]*testdb.Server{"postgres": postgres, "mariadb": mariadb}[args[0]]
		server.Kill(t)
		server.Restart(t)
	}
	runScript(t, "testdata/servers/restart.txt", map[string]string{"POSTGRES": postgres.URL, "MARIADB": mysqlURL(t, mariadb.URL)}, command{"restart", restart})
}

// command is one that a script has beside the others.
type command struct {
	name string
	run  func(*testscript.TestScript, bool, []string)
}

func runScript(t *testing.T, file string, variables map[string]string, more ...command) {
	t.Helper()
	commands := maps.Clone(commands)
	for _, c := range more {
		commands[c.name] = c.run
	}
	testscript.Run(t, testscript.Params{
		Files: []string{file},
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			for key, value := range variables {
				env.Setenv(key, value)
			}
			return nil
		},
		Cmds: commands,
	})
}

// servers are URLs of users who may do all.
type servers struct{ url, other, replica string }

func startPostgres(t *testing.T) servers {
	primary, replica := testdb.PostgresReplicated(t)
	return servers{startGuarded(t), primary.URL, replica.URL}
}

// startGuarded starts a PostgreSQL that asks the user "limited" for a password.
func startGuarded(t *testing.T) string {
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

func startMariaDB(t *testing.T) servers {
	name := testdb.MariaDB(t)
	root(t, "mysql", name, "CREATE USER limited IDENTIFIED BY 'hidden'")
	return servers{mysqlURL(t, name), mysqlURL(t, testdb.MariaDB(t)), mysqlURL(t, testdb.MariaDB(t, "--read-only"))}
}

// mysqlURL is the URL of a data source name of package testdb.
func mysqlURL(t *testing.T, name string) string {
	t.Helper()
	c, err := mysql.ParseDSN(name)
	if err != nil {
		t.Fatal(err)
	}
	return "mysql://root@" + c.Addr + "/"
}
