package isowatch_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/prose"
)

// mostShown is how many faults of a page a failure lists.
const mostShown = 20

// TestProse holds the documentation to short sentences and plain words.
func TestProse(t *testing.T) {
	pages := []string{"README.md", "helm/isowatch/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, _ := filepath.Glob(pattern)
		pages = append(pages, found...)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		} else if found := prose.Faults(string(text)); len(found) > 0 {
			t.Errorf("%s has %d faults:\n%s", name, len(found), strings.Join(found[:min(len(found), mostShown)], "\n"))
		}
	}
}

// TestProseOfFiles holds to the same what is read in other files: comments of the chart, of
// the examples and of what deploys, the annotations of alerts, and the pages.
func TestProseOfFiles(t *testing.T) {
	seen := map[string]int{} // texts, by the folder at the top
	err := eachFileNamed(isConfiguration, func(name string, text []byte) {
		texts := append(prose.Comments(string(text)), prose.Annotations(string(text))...)
		if path.Ext(name) == ".html" {
			texts = []string{prose.Page(string(text))}
		}
		top, _, _ := strings.Cut(name, "/")
		seen[top] += len(texts)
		for _, text := range texts {
			for _, fault := range prose.Faults(text) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for top, least := range map[string]int{"Dockerfile": 2, "deploy": 50, "helm": 80, "examples": 3, "internal": 1} {
		if seen[top] < least {
			t.Errorf("%s: only %d texts were found, want %d", top, seen[top], least)
		}
	}
}

func isConfiguration(name string) bool {
	switch path.Ext(name) {
	case ".yml", ".yaml", ".html":
		return true
	case ".txt":
		return path.Base(name) == "NOTES.txt"
	}
	return path.Base(name) == "Dockerfile"
}

// TestProseOfTexts holds to the same the texts in the program: errors, log messages, help,
// the help of metrics, and what it says of findings and verdicts.
func TestProseOfTexts(t *testing.T) {
	n := 0
	err := eachFileNamed(isProgram, func(name string, file []byte) {
		texts, err := prose.Literals(name, file)
		if err != nil {
			t.Fatal(err)
		}
		n += len(texts)
		for _, text := range texts {
			for _, fault := range prose.Faults(text.Text) {
				t.Errorf("%s:%d: %s", name, text.Line, fault)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	} else if n < 1000 {
		t.Errorf("only %d texts were found", n)
	}
}

// isProgram says whether users read what the Go file says: tests and what is for tests say
// nothing to them.
func isProgram(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !slices.Contains(testOnly, path.Dir(name))
}

// eachFileNamed calls fn with the files of the repository that are wanted.
func eachFileNamed(wanted func(name string) bool, fn func(name string, text []byte)) error {
	return fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !wanted(name):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		fn(name, text)
		return nil
	})
}
