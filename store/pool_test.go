package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/ristretto/v2/z"
)

// TestPool: what Badger has allocated to write tables is given back, also in a folder whose process was killed.
func TestPool(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	s := open(t, dir, Options{MemTable: 1 << 20})
	fill := func(s *Store) {
		t.Helper()
		for i := range 20 {
			var entries []Entry
			for j := range 100 {
				entries = append(entries, Entry{Space: 'x', Key: []byte{byte(i), byte(j)}, Value: make([]byte, 1000)})
			}
			if err := s.Commit(entries); err != nil {
				t.Fatal(err)
			}
		}
		if s.pool == nil {
			t.Error("Badger still uses its pool")
		}
		waitFor(t, "nothing is allocated for tables", func() bool { return !strings.Contains(z.Allocators(), "Builder") })
	}
	fill(s)
	waitFor(t, "only the log of the last table is left", func() bool { // nothing changes in the folder then
		logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
		return err == nil && len(logs) == 1
	})
	copySparse(t, killed, dir)
	fill(open(t, killed, Options{MemTable: 1 << 20}))
}
