package isowatch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goPath is a Go file with its folder, as documents name it. A star stands for any part of a name.
var goPath = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)*/[a-z0-9_*]+\\.go)`")

// TestPathsInDocuments: each Go file that a document names is there.
func TestPathsInDocuments(t *testing.T) {
	named, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range append(named, "CONTRIBUTING.md", "README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at, line := range strings.Split(string(text), "\n") {
			for _, m := range goPath.FindAllStringSubmatch(line, -1) {
				n++
				if found, err := filepath.Glob(m[1]); err != nil || len(found) == 0 {
					t.Errorf("%s:%d: %s is not there", name, at+1, m[1])
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d files are named", n)
	}
}
