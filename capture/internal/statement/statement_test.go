package statement

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestParse: each line of testdata/statements.txt is a statement, "=>", and what it is.
func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := [...]string{"other", "begin", "commit", "rollback", "prepare", "savepoint", "rollback-to", "release", "level"}
	for line := range strings.Lines(string(text)) {
		sql, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		v, name := Parse(strings.ReplaceAll(sql, `\n`, "\n"))
		if got := strings.TrimSpace(fmt.Sprint(names[v], " ", name)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// What no transaction begins or ends with costs no allocation.
func TestParseAllocates(t *testing.T) {
	for _, sql := range []string{"select n from stock where id = $1", "UPDATE stock SET n = $1"} {
		if n := testing.AllocsPerRun(100, func() { Parse(sql) }); n > 1 {
			t.Errorf("%s: %v allocations", sql, n)
		}
	}
}
