//go:build integration

package probelive

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// servers are the databases that the cells share; each cell has a schema of its own.
type servers struct{ postgres, mariadb, mysql, files string }

func startServers(t *testing.T) servers {
	t.Helper()
	return servers{testdb.Postgres(t), mysqlURL(testdb.MariaDB(t)), mysqlURL(testdb.MySQL(t)), t.TempDir()}
}

// mysqlURL is the URL of a data source name of package testdb.
func mysqlURL(name string) string {
	return "mysql://" + strings.TrimSuffix(strings.Replace(name, "@tcp(", "@", 1), ")/") + "/"
}

// cell is a product at a setting, under a workload.
type cell struct{ product, isolation, workload string }

func (c cell) String() string {
	return strings.ReplaceAll(c.product+"-"+c.isolation+"-"+c.workload, " ", "-")
}

// flags are those of the probe of the cell; name tells it from other probes of one server.
func (s servers) flags(c cell, name string) []string {
	flags := []string{"--isolation", c.isolation, "--workload", c.workload, "--sessions", "4", "--keys", "8"}
	switch c.product {
	case "postgresql":
		return append(flags, s.postgres, "--schema", schema(name))
	case "mariadb":
		return append(flags, s.mariadb, "--schema", schema(name))
	case "mysql":
		return append(flags, s.mysql, "--schema", schema(name))
	default:
		return append(flags, "sqlite:///"+filepath.Join(s.files, schema(name)+".db"))
	}
}

func schema(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", "/", "_", " ", "_").Replace(name))
}

// What a setting does not promise is found where it is expected, and what it promises holds.
func TestSettings(t *testing.T) {
	program, databases := build(t), startServers(t)
	t.Run("weaker", func(t *testing.T) { testWeaker(t, program, databases) })
	t.Run("kept", func(t *testing.T) { testKept(t, program, databases) })
}

func testWeaker(t *testing.T, program string, databases servers) {
	skew, lost, dirty := []string{"G2-item", "G2"}, []string{"lost-update"}, []string{"G1a", "G1b", "G1c"}
	for _, c := range []struct {
		cell
		expect    string
		anomalies []string // one of them
	}{
		{cell{"postgresql", "repeatable read", "register"}, "serializable", skew},
		{cell{"postgresql", "repeatable read", "mix"}, "postgresql/serializable", skew},
		{cell{"postgresql", "read committed", "register"}, "postgresql/repeatable-read", lost},
		{cell{"postgresql", "read committed", "mix"}, "postgresql/repeatable-read", lost},
		{cell{"mariadb", "repeatable read", "register"}, "snapshot-isolation", lost},
		{cell{"mariadb", "repeatable read", "mix"}, "mariadb/snapshot-isolation", lost},
		{cell{"mariadb", "read uncommitted", "append"}, "read-committed", dirty},
		{cell{"mariadb", "read uncommitted", "mix"}, "mariadb/read-committed", dirty},
		{cell{"mysql", "repeatable read", "mix"}, "snapshot-isolation", lost},
		{cell{"mysql", "read uncommitted", "append"}, "mysql/read-committed", dirty},
	} {
		name := c.String() + "-as-" + strings.ReplaceAll(c.expect, "/", "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, program, append(databases.flags(c.cell, name), "--expect", c.expect, "--stress")...)
			r.await(patience, c.anomalies...)
			r.violates(t, r.stop(t), c.anomalies...)
			t.Log(r.summary())
		})
	}
}

func testKept(t *testing.T, program string, databases servers) {
	var cells []cell
	for _, workload := range []string{"mix", "register", "append", "rows", "bank", "blind", "counter"} {
		for _, product := range []string{"postgresql", "mariadb", "mysql", "sqlite"} {
			cells = append(cells, cell{product, "serializable", workload})
		}
	}
	for _, c := range append(cells,
		cell{"postgresql", "repeatable read", "mix"}, cell{"postgresql", "read committed", "mix"},
		cell{"mysql", "repeatable read", "mix"}, cell{"mysql", "read committed", "mix"}, cell{"mysql", "read uncommitted", "register"},
		cell{"mariadb", "repeatable read", "mix"}, cell{"mariadb", "read committed", "mix"}, cell{"mariadb", "read uncommitted", "register"},
	) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, program, append(databases.flags(c, c.String()), "--duration", "4s", "--rate", "400")...)
			code := r.finish(t)
			r.holds(t, code)
			t.Log(r.summary())
		})
	}
}
