package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShedBehindLink: the tables of a folder that is reached through a symbolic link are found among the
// mappings, which name files without links.
func TestShedBehindLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir, err := realDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(maps)) {
		if _, name, found := strings.Cut(strings.TrimSpace(line), " /"); found && isTable("/"+name, dir) {
			n++
		}
	}
	if n == 0 {
		t.Error("no table or value log is found among the mappings")
	}
}
