//go:build integration

package probelive

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testdb"
)

// cell is one probe.
type cell struct {
	product, isolation, workload string
	expect                       string
	// anomalies of which one must be found; none: what is expected holds.
	anomalies []string

	url   string
	lasts time.Duration
}

func (c cell) name() string {
	return strings.ReplaceAll(c.product+"-"+c.isolation+"-"+c.workload+"-as-"+strings.ReplaceAll(c.expect, "/", "-"), " ", "-")
}

func (c cell) schema() string { return strings.ReplaceAll(c.name(), "-", "_") }

func TestSettings(t *testing.T) {
	program := build(t)
	urls := map[string]string{"postgresql": testdb.Postgres(t, "max_connections=300")}
	urls["mariadb"] = "mysql://root@" + strings.TrimSuffix(strings.TrimPrefix(testdb.MariaDB(t, "--max-connections=300"), "root@tcp("), ")/")
	files := t.TempDir()
	lost := []string{"lost-update"}
	dirty := []string{"G1a", "G1b", "G1c"}
	for _, c := range []cell{
		{product: "postgresql", isolation: "repeatable read", workload: "mix", expect: "serializable", anomalies: []string{"G2-item"}},
		{product: "postgresql", isolation: "read committed", workload: "mix", expect: "postgresql/repeatable-read", anomalies: lost},
		{product: "mariadb", isolation: "repeatable read", workload: "mix", expect: "snapshot-isolation", anomalies: lost},
		{product: "mariadb", isolation: "read uncommitted", workload: "append", expect: "read-committed", anomalies: dirty},
		{product: "postgresql", isolation: "serializable", workload: "mix", expect: "postgresql/serializable"},
		{product: "postgresql", isolation: "serializable", workload: "append", expect: "postgresql/serializable"},
		{product: "postgresql", isolation: "serializable", workload: "rows", expect: "postgresql/serializable"},
		{product: "postgresql", isolation: "serializable", workload: "blind", expect: "postgresql/serializable"},
		{product: "postgresql", isolation: "serializable", workload: "counters", expect: "postgresql/serializable"},
		{product: "mariadb", isolation: "serializable", workload: "mix", expect: "mariadb/serializable"},
		{product: "mariadb", isolation: "serializable", workload: "append", expect: "mariadb/serializable"},
		{product: "mariadb", isolation: "serializable", workload: "rows", expect: "mariadb/serializable"},
		{product: "sqlite", isolation: "serializable", workload: "mix", expect: "sqlite/serializable"},
		{product: "sqlite", isolation: "serializable", workload: "append", expect: "sqlite/serializable"},
		{product: "sqlite", isolation: "serializable", workload: "rows", expect: "sqlite/serializable"},
		{product: "postgresql", isolation: "repeatable read", workload: "mix", expect: "postgresql/repeatable-read"},
		{product: "postgresql", isolation: "read committed", workload: "mix", expect: "postgresql/read-committed"},
		{product: "mariadb", isolation: "repeatable read", workload: "mix", expect: "mariadb/repeatable-read"},
		{product: "mariadb", isolation: "read committed", workload: "mix", expect: "mariadb/read-committed"},
		{product: "mariadb", isolation: "read uncommitted", workload: "append", expect: "mariadb/read-uncommitted"},
	} {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			c.url = urls[c.product]
			if c.product == "sqlite" {
				c.url = "sqlite:///" + filepath.Join(files, c.name()+".db")
			}
			c.lasts = patience
			want := 1
			if len(c.anomalies) == 0 {
				c.lasts, want = 5*time.Second, 0
			}
			began := time.Now()
			r := c.start(t, program)
			if want == 1 {
				r.await(t, c.anomalies)
				r.end()
			}
			code := r.finish(t)
			t.Logf("exit code %d after %v: %s", code, time.Since(began).Round(time.Millisecond), r.summary())
			if code != want || want == 1 && !r.has(c.anomalies) {
				t.Errorf("exit code %d, want %d with one of %v; found %s\n%s", code, want, c.anomalies, r.summary(), r.stderr.String())
			}
		})
	}
}
