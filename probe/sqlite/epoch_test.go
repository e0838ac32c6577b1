package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func tableNames(t *testing.T, e *Epoch) []string {
	t.Helper()
	rows, err := e.DB.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
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
	return names
}

func openEpoch(t *testing.T, file, name string) *Epoch {
	t.Helper()
	e, err := OpenEpoch(t.Context(), file, name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A probe that was killed leaves its tables to the next one, which drops them, and no
// table of anybody else.
func TestOldTablesAreDropped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.db")
	killed := openEpoch(t, file, "e1")
	if err := killed.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE registers (k)", "CREATE TABLE isowatch_probe_notes (k)"} {
		if _, err := killed.DB.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenEpoch(t.Context(), file, "e2"); err == nil || !strings.Contains(err.Error(), "another probe is running") {
		t.Errorf("a second probe: %v", err)
	}
	if err := killed.release(); err != nil {
		t.Fatal(err)
	}
	next := openEpoch(t, file, "e2")
	if err := next.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"isowatch_probe_e2_counters", "isowatch_probe_e2_lists", "isowatch_probe_e2_registers", "isowatch_probe_notes", "registers"}
	if got := tableNames(t, next); !slices.Equal(got, want) {
		t.Errorf("tables %q, want %q", got, want)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lockFile(file)); !os.IsNotExist(err) {
		t.Errorf("the lock remains: %v", err)
	}
	last := openEpoch(t, file, "e3")
	defer last.Close()
	if got := tableNames(t, last); !slices.Equal(got, want[3:]) {
		t.Errorf("tables %q behind the end, want %q", got, want[3:])
	}
}

func TestEpochName(t *testing.T) {
	if _, err := OpenEpoch(t.Context(), filepath.Join(t.TempDir(), "x.db"), "e_1; --"); err == nil {
		t.Error("no error")
	}
}

// A table that only looks like a probe's is not dropped.
func TestForeignTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	e := openEpoch(t, file, "e1")
	if _, err := e.DB.ExecContext(t.Context(), "CREATE TABLE isowatch_probe_e0_registers (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := e.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEpoch(t.Context(), file, "e2"); err == nil || !strings.Contains(err.Error(), `"isowatch_probe_e0_registers" has the name of a probe's`) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(lockFile(file)); !os.IsNotExist(err) {
		t.Errorf("the lock remains: %v", err)
	}
}
