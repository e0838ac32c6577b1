//go:build integration

package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/mysql"
	"github.com/isowatch/isowatch/probe/postgres"
	"github.com/isowatch/isowatch/probe/sqlite"
)

// cell is one stream: a workload on a database at one setting.
type cell struct {
	setting
	workload *probe.Workload
	versions bool // PostgreSQL's xmin is recorded
}

// source is the cell's name in records and files.
func (c cell) source() string {
	name := c.product + "-" + c.name + "-" + c.workload.Name()
	if c.versions {
		name += "-xmin"
	}
	return name
}

// strongerSource is the name under which the same records are published once more, to
// be judged by the stronger promise; "": they are not.
func (c cell) strongerSource() string {
	if c.stronger == "" {
		return ""
	}
	return c.source() + ".as." + strings.ReplaceAll(c.stronger, "/", "-")
}

// mustBeFound says that the stream has anomalies against the stronger promise that
// need neither an absence nor a value that never repeats.
func (c cell) mustBeFound() bool {
	switch {
	case c.stronger == "" || c.name == "read-uncommitted" && c.workload.Name() != "append":
		return false
	case c.versions:
		return c.name == "read-committed" && c.workload.Name() == "shop"
	default:
		return c.workload.Name() == "mix" || c.workload.Name() == "append"
	}
}

// losesUpdates says that each value of the stream is written once, so that two
// transactions which replaced the same one are a lost update, which the setting allows.
func (c cell) losesUpdates() bool {
	return c.workload.Name() == "mix" && (c.name == "read-committed" || c.source() == "mariadb-repeatable-read-mix")
}

// cells are all settings with all workloads, and those of which values repeat once
// more with versions.
func cells() []cell {
	var list []cell
	for _, s := range settings() {
		for _, w := range slices.Concat(probe.Workloads(), probe.Repeating()) {
			list = append(list, cell{s, w, false})
			if s.product == "postgresql" && (w.Name() == "shop" || w.Name() == "tpcb") {
				list = append(list, cell{s, w, true})
			}
		}
	}
	return list
}

// servers are the databases that the cells share; each cell has a schema of its own.
type servers struct {
	postgres, mariadb, files string
}

func startServers(t *testing.T) servers {
	t.Helper()
	return servers{
		// Without seqscan small tables are read by their index, so that serializable
		// transactions conflict by rows and pages and not by tables.
		postgres: testdb.Postgres(t, "max_connections=300", "enable_seqscan=off", "track_commit_timestamp=on"),
		mariadb:  testdb.MariaDB(t, "--max-connections=400"),
		files:    t.TempDir(),
	}
}

// open opens the cell's database.
func (s servers) open(c cell) (*probe.SQL, error) {
	schema := strings.ReplaceAll(c.source(), "-", "_")
	switch c.product {
	case "postgresql":
		return postgres.Open(s.postgres, postgres.Options{Schema: schema, Isolation: c.isolation, Versions: c.versions})
	case "mariadb":
		return mysql.Open(s.mariadb, mysql.Options{Schema: schema, Isolation: c.isolation, Snapshot: c.name == "snapshot-isolation"})
	case "sqlite":
		return sqlite.Open(filepath.Join(s.files, schema+".db"))
	default:
		return nil, fmt.Errorf("product %q", c.product)
	}
}
