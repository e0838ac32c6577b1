package isowatch_test

import (
	"go/ast"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// promised are the packages that others may build on. Each has an example that runs.
var promised = []string{"capture", "check", "event", "finding", "history", "probe"}

// parts are the packages of the monitor that stand beside them, as users know them by name.
var parts = []string{"alert", "docs", "incremental", "ingest", "store", "window"}

// TestPublic: what is promised has an example, and each part of the monitor says that it promises nothing.
// All other packages are under internal/.
func TestPublic(t *testing.T) {
	packages, examples, disclaimed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	err := eachFile(func(dir, name string, _ int, f *ast.File) {
		packages[dir] = true
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && strings.HasSuffix(name, "_test.go") && strings.HasPrefix(fn.Name.Name, "Example") {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
				}
				examples[dir] = examples[dir] || strings.Contains(string(text), "// Output:")
			}
		}
		if slices.Contains(parts, dir) && f.Name.Name == path.Base(dir) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
			}
			head, _, _ := strings.Cut(string(text), "\npackage ")
			disclaimed[dir] = disclaimed[dir] || strings.Contains(head, "It promises nothing to importers")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range packages {
		switch top, _, _ := strings.Cut(dir, "/"); {
		case slices.Contains([]string{".", "cmd", "deploy", "examples", "internal"}, top):
		case !slices.Contains(promised, top) && !slices.Contains(parts, top):
			t.Errorf("%s is neither promised nor a part that users know by name: it belongs into internal/", dir)
		}
	}
	for _, dir := range promised {
		if !examples[dir] {
			t.Errorf("%s has no example with its output", dir)
		}
	}
	for _, dir := range parts {
		if !disclaimed[dir] {
			t.Errorf("the documentation of %s does not say that it promises nothing to importers", dir)
		}
	}
}
