//go:build integration

package testdb

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// Each server answers, knows the settings that it was given, and leaves nothing behind.
func TestServers(t *testing.T) {
	t.Setenv("TMPDIR", own(t)) // other packages start servers at the same time
	before := folders(t)
	for _, c := range []struct {
		driver string
		start  func(t testing.TB) string
		ask    string
		want   string
	}{
		{"pgx", func(t testing.TB) string { return Postgres(t, "max_connections=77") }, "SHOW max_connections", "77"},
		{"mysql", func(t testing.TB) string { return MariaDB(t, "--max-connections=77") }, "SELECT @@max_connections", "77"},
		{"mysql", func(t testing.TB) string { return MySQL(t, "--transaction-isolation=SERIALIZABLE") }, "SELECT @@transaction_isolation", "SERIALIZABLE"},
	} {
		t.Run(c.driver, func(t *testing.T) {
			db, err := sql.Open(c.driver, c.start(t))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var got string
			if err := db.QueryRowContext(t.Context(), c.ask).Scan(&got); err != nil || got != c.want {
				t.Errorf("%s: %q, %v; want %q", c.ask, got, err, c.want)
			}
		})
	}
	if after := folders(t); len(after) != len(before) {
		t.Errorf("folders are left: %q before, %q after", before, after)
	}
}

func folders(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "isowatch-*-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A server that ends at once tells its log.
func TestWrongSetting(t *testing.T) {
	initdb := func(s *server) error { return s.prepare(t.Context(), s.postgres("initdb"), "-D", s.file("data")) }
	s, _, err := startPostgres(t.Context(), initdb, []string{"no_such_setting=1"})
	if s != nil {
		defer s.stop(0)
	}
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("error %v", err)
	}
}

// own is an empty folder that servers can enter which run as another user.
func own(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "testdb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
