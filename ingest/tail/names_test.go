package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestIsRotated(t *testing.T) {
	for _, c := range []struct {
		base, name string
		want       bool
	}{
		{"app.log", "app.log.1", true},
		{"app.log", "app.log.12.gz", true},
		{"app.log", "app.log-20261120", true},
		{"app.log", "app.log-20261120-1763600000.gz", true},
		{"app.log", "app.log.2026-11-20T10:00:00.5Z", true},
		{"app.log", "app.log.old", true},
		{"app.log", "app.log.gz", true},
		{"app.log", "app.log.1.zst", true},
		{"app.log", "app-2026-11-20T10-00-00.000.log", true},
		{"app.log", "app-2026-11-20T10-00-00.000.log.gz", true},
		{"app.log", "app.1.log", true},
		{"app", "app.1", true},
		{"app.log", "app.logs", false},
		{"app.log", "app.log.idx", false},
		{"app.log", "app.log.1.tmp", false},
		{"app.log", "app-access.log", false},
		{"app.log", "app2.log", false},
		{"app.log", "other.log", false},
		{"app", "app-x", false},
	} {
		if got := isRotated(c.base, c.name); got != c.want {
			t.Errorf("isRotated(%q, %q) = %v", c.base, c.name, got)
		}
	}
}

func TestFind(t *testing.T) {
	f := newFolder(t)
	for _, n := range []string{"a.log", "a.log.1", "a.log.1.gz", "b.log", "c.log.1", "c.log.1.2"} {
		f.add(n, "")
	}
	if err := os.Symlink(f.path("b.log"), f.path("link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ globs, known, want string }{
		{"a.log", "", "heads [a.log] older map[] without []"},
		{"*.log", "", "heads [a.log b.log] older map[] without []"},
		{"*.log*", "", "heads [a.log b.log c.log.1] older map[a.log:[a.log.1 a.log.1.gz] c.log.1:[c.log.1.2]] without []"},
		{"c.*", "c.log", "heads [] older map[c.log:[c.log.1 c.log.1.2]] without []"},
		{"c.*", "c.log.1", "heads [c.log.1] older map[c.log.1:[c.log.1.2]] without []"},
		{"b.log *.log x*", "", "heads [b.log a.log] older map[] without [x*]"},
		{"link *.log", "", "heads [link a.log] older map[] without []"},
		{"link *.log", "b.log", "heads [a.log b.log] older map[] without []"},
		{"*.log !b.*", "", "heads [a.log] older map[] without []"},
	} {
		var globs, except []string
		for _, g := range strings.Fields(c.globs) {
			if left, ok := strings.CutPrefix(g, "!"); ok {
				except = append(except, f.path(left))
			} else {
				globs = append(globs, f.path(g))
			}
		}
		known := map[string]bool{}
		for _, k := range strings.Fields(c.known) {
			known[f.path(k)] = true
		}
		m, err := find(globs, except, known)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(fmt.Sprintf("heads %v older %v without %v", m.heads, m.older, m.without), f.dir+string(filepath.Separator), "")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.globs, got, c.want)
		}
	}
}

func TestIdentityText(t *testing.T) {
	id := identity{inode: inode{dev: 0xfd01, ino: 131}, n: 1000, hash: 0x00ab}
	if got := id.String(); got != "fd01.131.1000.00000000000000ab" {
		t.Errorf("text %q", got)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{id.String(), true},
		{"fd01.131.1000.ab", false},
		{"fd01.131.-1.00000000000000ab", false},
		{"fd01.131.1001.00000000000000ab", false},
		{"fd01.131.1000.00000000000000ab.", false},
		{"2026-11-20T10:00:00Z", false},
		{"", false},
	} {
		got, err := parseIdentity(c.text)
		if (err == nil) != c.ok || c.ok && got != id {
			t.Errorf("%q: %+v, error %v", c.text, got, err)
		}
	}
}

func TestSortByAge(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"by time", "a.3@1 a.1@3 a.2@2", "a.3 a.2 a.1"},
		{"ties, numbers grow with age", "a.1@5 a.2@5 a.10@5 a.11@1", "a.11 a.10 a.2 a.1"},
		{"ties, numbers fall with age", "a.10@5 a.9@5 a.8@1", "a.8 a.9 a.10"},
		{"ties alone: as logrotate numbers", "a.10@5 a.9@5", "a.10 a.9"},
		{"dates", "a-20261120-02@5 a-20261120-01@5 a-20261119@1", "a-20261119 a-20261120-01 a-20261120-02"},
	} {
		var files []sibling
		for _, s := range strings.Fields(c.in) {
			path, at, _ := strings.Cut(s, "@")
			files = append(files, sibling{path: path, written: time.Unix(int64(at[0]-'0'), 0)})
		}
		sortByAge(files)
		var got []string
		for _, f := range files {
			got = append(got, f.path)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}
