package live

import (
	"database/sql"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// setting is a product at one of its settings, by the names of --expect.
type setting struct {
	product, name string
	isolation     sql.IsolationLevel
	promise       string // what --expect is told
	// stronger is a promise that it does not keep; "": there is none.
	stronger string
}

// settings are those at which [TestLive] runs every workload.
func settings() []setting {
	return []setting{
		{"postgresql", "read-committed", sql.LevelReadCommitted, "postgresql/read-committed", "postgresql/serializable"},
		{"postgresql", "repeatable-read", sql.LevelRepeatableRead, "postgresql/repeatable-read", "postgresql/serializable"},
		{"postgresql", "serializable", sql.LevelSerializable, "postgresql/serializable", ""},
		{"mariadb", "read-uncommitted", sql.LevelReadUncommitted, "mariadb/read-uncommitted", "mariadb/read-committed"},
		{"mariadb", "read-committed", sql.LevelReadCommitted, "mariadb/read-committed", "mariadb/snapshot-isolation"},
		{"mariadb", "repeatable-read", sql.LevelRepeatableRead, "mariadb/repeatable-read", "mariadb/snapshot-isolation"},
		{"mariadb", "snapshot-isolation", sql.LevelRepeatableRead, "mariadb/snapshot-isolation", "mariadb/serializable"},
		{"mariadb", "serializable", sql.LevelSerializable, "mariadb/serializable", ""},
		{"sqlite", "serializable", sql.LevelDefault, "sqlite/serializable", ""},
	}
}

// documented are the settings that no live test runs, and why. What they stand for is in
// docs/proofs.md, section 12.
func documented() map[string]string {
	const (
		slow = "MySQL comes from Maven Central and is slow to start: make databases runs the probe's workloads at this setting"
		none = "no server is to be had from the registries in reach: its own documentation, and Jepsen's analyses"
	)
	all := map[string]string{}
	for product, why := range map[string]string{
		"mysql": slow, "cockroachdb": none, "yugabytedb": none, "tidb": none, "mongodb": none, "spanner": none, "cassandra": none, "etcd": none,
	} {
		for _, s := range isolation.Settings(product) {
			all[s.String()] = why
		}
	}
	return all
}

// TestEverySetting: each setting that --expect knows is run live, by [TestLive] or [TestStepped], or
// is named with the reason why not.
func TestEverySetting(t *testing.T) {
	live := map[string]bool{}
	for _, s := range settings() {
		live[s.promise] = true
	}
	for _, s := range steppedSettings() {
		live[s.promise] = true
	}
	why := documented()
	for _, s := range isolation.Settings("") {
		switch name := s.String(); {
		case live[name] && why[name] != "":
			t.Errorf("%s is run live, and said to be documented only", name)
		case !live[name] && why[name] == "":
			t.Errorf("no live test runs %s, and no reason is given", name)
		}
		delete(live, s.String())
	}
	for name := range live {
		t.Errorf("a live test expects %s, which is no setting", name)
	}
}

// steppedSettings are those at which [TestStepped] takes its steps.
func steppedSettings() []setting {
	return []setting{
		{"postgresql", "read-uncommitted", sql.LevelReadUncommitted, "postgresql/read-uncommitted", "postgresql/repeatable-read"},
		{"postgresql", "read-committed", sql.LevelReadCommitted, "postgresql/read-committed", "postgresql/repeatable-read"},
		{"postgresql", "repeatable-read", sql.LevelRepeatableRead, "postgresql/repeatable-read", "postgresql/serializable"},
		{"postgresql", "read-committed-with-replicas", sql.LevelReadCommitted, "postgresql/read-committed-with-replicas", "postgresql/repeatable-read"},
		{"postgresql", "repeatable-read-with-replicas", sql.LevelRepeatableRead, "postgresql/repeatable-read-with-replicas", "postgresql/repeatable-read"},
		{"postgresql", "serializable-with-replicas", sql.LevelSerializable, "postgresql/serializable-with-replicas", "postgresql/serializable"},
		{"mariadb", "read-uncommitted", sql.LevelReadUncommitted, "mariadb/read-uncommitted", "mariadb/read-committed"},
		{"mariadb", "read-committed", sql.LevelReadCommitted, "mariadb/read-committed", "mariadb/snapshot-isolation"},
		{"mariadb", "snapshot-isolation", sql.LevelRepeatableRead, "mariadb/snapshot-isolation", "mariadb/serializable"},
		{"sqlite", "read-uncommitted", sql.LevelDefault, "sqlite/read-uncommitted", "sqlite/serializable"},
	}
}
