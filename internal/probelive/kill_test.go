//go:build integration

package probelive

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testdb"
)

const (
	// mostKills bounds how often a server is killed that may lose commits: what it loses may
	// be of keys that nobody reads before they are written anew.
	mostKills = 5
	// afterRestart is how long it is waited then for what shows the loss.
	afterRestart = 8 * time.Second
)

// A server that is killed, and loses what it had told to be committed, is found out; one
// that does not lose it is not. The probe goes on when the server does.
func TestKills(t *testing.T) {
	program := build(t)
	for _, c := range []struct {
		name  string
		start func() (s *testdb.Server, url string)
		loses bool
	}{
		{"postgresql-asynchronous", func() (*testdb.Server, string) {
			s := testdb.StartPostgres(t, "synchronous_commit=off", "wal_writer_delay=10s")
			return s, s.URL
		}, true},
		{"postgresql", func() (*testdb.Server, string) {
			s := testdb.StartPostgres(t)
			return s, s.URL
		}, false},
		{"mariadb-asynchronous", func() (*testdb.Server, string) {
			s := testdb.StartMariaDB(t, "--innodb-flush-log-at-timeout=10")
			return s, mysqlURL(s.URL)
		}, true},
		{"mariadb", func() (*testdb.Server, string) {
			s := testdb.StartMariaDB(t, "--innodb-flush-log-at-trx-commit=1")
			return s, mysqlURL(s.URL)
		}, false},
	} {
		server, url := c.start()
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, program, url, "--isolation", "serializable", "--rate", "300", "--sessions", "4", "--keys", "8")
			r.awaitCommits(t, 100)
			if c.name == "postgresql-asynchronous" {
				server.Checkpoint(t)
			}
			kills := mostKills
			if !c.loses {
				kills = 2
			}
			for n := range kills {
				r.awaitCommits(t, 100)
				server.Kill(t)
				server.Restart(t)
				r.awaitCommits(t, 100)
				if c.loses && r.await(afterRestart) {
					t.Logf("found after %d kills", n+1)
					break
				}
			}
			code := r.stop(t)
			t.Logf("%s\n%s", r.summary(), r.stderr.String())
			if c.loses {
				r.violates(t, code)
				return
			}
			r.holds(t, code)
		})
	}
}
