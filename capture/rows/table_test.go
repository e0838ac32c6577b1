package rows

import (
	"strings"
	"testing"
)

// A table says how versions are told, so that nobody leaves it to values by mistake.
func TestVersionIsNamed(t *testing.T) {
	for _, c := range []struct {
		table Table
		want  string // "": it is taken
	}{
		{Table{Name: "t", Key: "k", Columns: []string{"a"}}, "rows: table t: it needs a Version"},
		{Table{Name: "t", Key: "k", Columns: []string{"a"}, Version: OnlyValues}, ""},
		{Table{Name: "t", Key: "k", Columns: []string{"a"}, Version: XMin}, ""},
		{Table{Name: "t", Key: "k", Columns: []string{"a"}, Version: XMin, Dialect: SQLite}, "xmin is PostgreSQL's"},
		{Table{Name: "t", Key: "k", Columns: []string{"a"}, Version: "v", Dialect: MySQL}, ""},
		{Table{Name: "t", Key: "k", Columns: []string{"n"}, Counter: true}, ""},
	} {
		err := c.table.check(-1)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.table, err, c.want)
		}
	}
	only := Table{Name: "t", Key: "k", Columns: []string{"a"}, Version: OnlyValues, Dialect: MySQL}
	if err := only.written(1, "Put"); err == nil || !strings.Contains(err.Error(), "needs a Version") {
		t.Errorf("MySQL without a version: %v", err)
	}
}
