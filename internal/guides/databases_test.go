package guides

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// here are the products that have a section in docs/databases.md.
var here = []string{"postgresql", "mysql", "mariadb", "sqlite", "cockroachdb", "yugabytedb", "tidb", "mongodb", "etcd"}

// The page names settings that --expect takes, and of each product all of them.
func TestExpectedNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+)/([a-z-]+)`").FindAllStringSubmatch(string(page), -1) {
		name := m[1] + "/" + m[2]
		if _, _, err := isolation.ParseExpected(name); err != nil {
			t.Error(err)
		}
		named[name] = true
	}
	for _, product := range here {
		_, _, err := isolation.ParseExpected(product + "/no-such-setting")
		if err == nil {
			t.Fatal("a setting that is none is taken")
		}
		for _, name := range regexp.MustCompile(product+"/[a-z-]+").FindAllString(err.Error(), -1) {
			if !named[name] && name != product+"/no-such-setting" && name != "postgresql/read-uncommitted" { // which is read committed
				t.Errorf("the page does not name %s", name)
			}
		}
	}
}

// The table of what the probe found has a row for every setting that can be run here.
func TestTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), beginTable)
	table, _, ended := strings.Cut(rest, endTable)
	if !found || !ended {
		t.Fatal("the page has no place for the table")
	}
	for _, setting := range []string{
		"postgresql/read-committed", "postgresql/repeatable-read", "postgresql/serializable", "mariadb/read-uncommitted", "mariadb/read-committed",
		"mysql/read-uncommitted", "mysql/read-committed", "mysql/repeatable-read", "mysql/serializable",
		"mariadb/repeatable-read", "mariadb/snapshot-isolation", "mariadb/serializable", "sqlite/serializable",
	} {
		if !strings.Contains(table, "| `"+setting+"` |") {
			t.Errorf("the table has no row for %s: make databases", setting)
		}
	}
}

const (
	beginTable = "<!-- databases: begin -->\n"
	endTable   = "<!-- databases: end -->"
)
