//go:build integration

package live

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the drivers of the connections
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/sqlite"
	"github.com/isowatch/isowatch/probe/target"
)

// steppedServers are those of [TestStepped]: a primary with a replica, MariaDB, and a file.
type steppedServers struct {
	primary *testdb.Server
	replica *testdb.Replica
	mariadb string
	file    string
}

// noReplica is a synchronous replica that does not exist. Only who asks for it waits for it.
const noReplica = "nobody"

func startStepped(t *testing.T) steppedServers {
	t.Helper()
	s := steppedServers{mariadb: testdb.MariaDB(t), file: filepath.Join(t.TempDir(), "stepped.db")}
	s.primary, s.replica = testdb.PostgresReplicated(t, "synchronous_commit=local", "synchronous_standby_names="+noReplica, "max_connections=200")
	return s
}

// steppedStreams are the schedules at each setting.
func steppedStreams(t *testing.T, servers steppedServers, p *publisher) (all []*stepped) {
	t.Helper()
	of := map[string][]schedule{
		"postgresql/read-uncommitted":              {readTwice},
		"postgresql/read-committed":                {readTwice, fractured},
		"postgresql/repeatable-read":               {writeSkew},
		"postgresql/read-committed-with-replicas":  {behindPrimary},
		"postgresql/repeatable-read-with-replicas": {behindPrimary, longFork},
		"postgresql/serializable-with-replicas":    {longFork},
		"mariadb/read-uncommitted":                 {dirty},
		"mariadb/read-committed":                   {readTwice, fractured},
		"mariadb/snapshot-isolation":               {writeSkew},
		"sqlite/read-uncommitted":                  {dirty},
	}
	hold := servers.hold(t)
	for _, at := range steppedSettings() {
		s := &stepped{setting: at, publisher: p, schedules: of[at.promise], hold: hold}
		s.file = createFile(t, s.source())
		if len(s.schedules) == 0 {
			t.Fatalf("no schedule at %s", at.promise)
		}
		table := "steps_" + strings.ReplaceAll(s.product+"_"+s.name, "-", "_")
		db := servers.open(t, at.product)
		execute(t, db, "CREATE TABLE "+table+" (k VARCHAR(20) PRIMARY KEY, v BIGINT NOT NULL)")
		for i := range 4 {
			s.people = append(s.people, s.person(t, db, fmt.Sprintf("p%d", i), table))
		}
		if strings.HasSuffix(s.name, "-with-replicas") {
			s.replica = append(s.replica, s.person(t, open(t, "pgx", servers.replica.URL), "replica", table))
			if s.replica[0].level == sql.LevelSerializable {
				s.replica[0].level = sql.LevelRepeatableRead // a hot standby takes no others
			}
		}
		all = append(all, s)
	}
	return all
}

func (s *stepped) person(t *testing.T, db *sql.DB, name, table string) *person {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if s.promise == "mariadb/snapshot-isolation" {
		if _, err := conn.ExecContext(t.Context(), "SET SESSION innodb_snapshot_isolation = ON"); err != nil {
			t.Fatal(err)
		}
	}
	return &person{ctx: t.Context(), of: s, conn: conn, level: s.isolation, table: table, numbered: s.product == "postgresql", name: name}
}

func open(t *testing.T, driver, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// open opens a product's database.
func (s steppedServers) open(t *testing.T, product string) *sql.DB {
	t.Helper()
	switch product {
	case "postgresql":
		return open(t, "pgx", s.primary.URL)
	case "mariadb":
		db := open(t, "mysql", s.mariadb)
		execute(t, db, "CREATE DATABASE IF NOT EXISTS stepped")
		return open(t, "mysql", s.mariadb+"stepped")
	}
	return open(t, "sqlite", sharedCache(s.file))
}

// sharedCache names a file whose connections share a cache and take no locks to read. Without a
// shared cache the pragma does nothing.
func sharedCache(file string) string {
	return "file:" + file + "?cache=shared&_pragma=read_uncommitted(1)&_pragma=busy_timeout(5000)"
}

// hold holds the replica, and the commits that ask for the one that does not exist.
func (s steppedServers) hold(t *testing.T) replicaHold {
	t.Helper()
	db, replica := open(t, "pgx", s.primary.URL), open(t, "pgx", s.replica.URL)
	ctx := context.WithoutCancel(t.Context())
	const waiting = " FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	ask := func(db *sql.DB, query string) (n int) {
		must(0, db.QueryRowContext(ctx, query).Scan(&n))
		return n
	}
	return replicaHold{
		Locker: &sync.Mutex{},
		pause: func() {
			must(replica.ExecContext(ctx, "SELECT pg_wal_replay_pause()"))
			retryUntil(ctx, "the replica does not pause", func() bool {
				return ask(replica, "SELECT (pg_get_wal_replay_pause_state() = 'paused')::int") == 1
			})
		},
		resume:  func() { must(replica.ExecContext(ctx, "SELECT pg_wal_replay_resume()")) },
		waiting: func() bool { return ask(db, "SELECT count(*)"+waiting) > 0 },
		release: func() { ask(db, "SELECT count(pg_cancel_backend(pid))"+waiting) },
	}
}

// healthyStream is a workload of the probe at a setting that [TestLive] does not run.
type healthyStream struct {
	source, promise string
	db              probe.Database
	workload        *probe.Workload
}

// probed opens and fills the tables of the healthy streams.
func probed(t *testing.T, servers steppedServers) (all []healthyStream) {
	t.Helper()
	add := func(name, promise string, open func() (probe.Database, func() error, error)) {
		for _, w := range probe.Workloads() {
			if w.Name() != "mix" {
				continue
			}
			db, end, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { end() })
			h := healthyStream{source: "probed-" + name, promise: promise, db: db, workload: w}
			if _, err := probe.Fill(t.Context(), db, w, probe.Options{Source: h.source, Keys: 10, Sessions: 4}); err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		}
	}
	postgres := func(schema, level string, endpoints ...string) func() (probe.Database, func() error, error) {
		return func() (probe.Database, func() error, error) {
			x, err := target.Open(t.Context(), servers.primary.URL, target.Options{Epoch: "e", Schema: schema, Isolation: level, Endpoints: endpoints})
			if err != nil {
				return nil, nil, err
			}
			return x, x.Close, nil
		}
	}
	add("postgresql-read-uncommitted", "postgresql/read-uncommitted", postgres("ru", "read uncommitted"))
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		name := strings.ReplaceAll(level, " ", "-") + "-with-replicas"
		add("postgresql-"+name, "postgresql/"+name, postgres(strings.ReplaceAll(level, " ", "_"), level, servers.replica.URL))
	}
	add("sqlite-read-uncommitted", "sqlite/read-uncommitted", func() (probe.Database, func() error, error) {
		x := probe.OpenSQL(open(t, "sqlite", sharedCache(servers.file+".probed")), sharedDialect())
		return x, x.Close, nil
	})
	return all
}

// sharedDialect is how the probe uses a file of SQLite whose cache is shared.
func sharedDialect() probe.Dialect {
	return probe.Dialect{
		Upsert:    "INSERT INTO registers (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		Append:    "INSERT INTO lists (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = v || ',' || excluded.v",
		Returning: true,
		Outcome:   sqlite.Outcome,
		Reset: []string{
			"CREATE TABLE registers (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
			"CREATE TABLE lists (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
			"CREATE TABLE counters (k TEXT PRIMARY KEY, n INTEGER NOT NULL, ver INTEGER NOT NULL DEFAULT 1) WITHOUT ROWID",
		},
	}
}
