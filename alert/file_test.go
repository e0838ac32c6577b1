package alert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	for _, c := range []struct{ name, before, want string }{
		{"new", "", "{\"id\":\"a\"}\n{\"digest\":"},
		{"lines", "x\ny\n", "x\ny\n{\"id\":\"a\"}\n{\"digest\":"},
		{"cut off", "x\n{\"id\":\"b", "x\n{\"id\":\"a\"}\n{\"digest\":"},
		{"cut off at once", "x\n{", "x\n{\"id\":\"a\"}\n{\"digest\":"},
		{"cut off first line", "{\"id\":\"b", "{\"id\":\"a\"}\n{\"digest\":"},
		{"long cut off", "x\n{\"id\"" + strings.Repeat("b", 200_000), "x\n{\"id\":\"a\"}\n{\"digest\":"},
		{"somebody else's", "x\nyes", "x\nyes\n{\"id\":\"a\"}\n{\"digest\":"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.jsonl")
			if c.before != "" {
				if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := NewFile("f", path)
			if err := f.Deliver(t.Context(), []Delivery{{JSON: []byte(`{"id":"a"}`)}}); err != nil {
				t.Fatal(err)
			}
			if err := f.Digest(t.Context(), []Held{{Findings: 3}}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !strings.HasPrefix(string(got), c.want) || !strings.HasSuffix(string(got), "\n") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "f"), "/dev/null"} {
		if err := NewFile("f", path).Deliver(t.Context(), []Delivery{{JSON: []byte("{}")}}); err == nil {
			t.Errorf("%s was written to", path)
		}
	}
}
