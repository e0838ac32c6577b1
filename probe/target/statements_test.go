package target

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/statements.txt anew")

// All that a probe runs on each kind of database.
func TestStatements(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct{ url, isolation string }{
		{"postgres://me:hidden@db/orders", "repeatable read"}, {"mysql://me:hidden@db/", ""}, {"mariadb://me@db/", "Snapshot-Isolation"},
		{"sqlite:///orders.db", ""}, {"exec:python3 client.py", ""}, {"sim:serializable", ""},
	} {
		statements, err := Statements(c.url, Options{Epoch: "e1", Isolation: c.isolation})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "=== %s %s\n%s\n", Redact(c.url), c.isolation, strings.Join(statements, "\n"))
	}
	const file = "testdata/statements.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the statements differ from %s; go test -rewrite writes it anew:\n%s", file, out.String())
	}
	for _, url := range []string{"", "postgres", "oracle://db/x", "sqlite:///"} {
		if statements, err := Statements(url, Options{Epoch: "e1"}); err == nil {
			t.Errorf("%q: %q", url, statements)
		}
	}
}

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://me:hidden@db:5432/x?sslmode=disable": "postgres://me:xxxxx@db:5432/x?sslmode=disable",
		"postgres://db/x?user=me&password=hidden":        "postgres://db/x?password=xxxxx&user=me",
		"postgres://db/x?sslpassword=hidden":             "postgres://db/x?sslpassword=xxxxx",
		"mysql://me@db/":                                 "mysql://me@db/",
		"mysql://me:hidden/@:@db/":                       "mysql://...",
		"postgres://me:hid den@db/x":                     "postgres://...",
		"me:hidden@db/x":                                 "...",
		"hidden":                                         "...",
		"sqlite:///orders.db":                            "sqlite:///orders.db",
		"exec:client --port 1":                           "exec:client --port 1",
		"sim:serializable":                               "sim:serializable",
	} {
		if got := Redact(url); got != want || strings.Contains(got, "hid") {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
