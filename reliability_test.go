package isowatch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shownBy  = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)(?:/([^`]+))?`")
	topTests = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// TestReliability holds docs/reliability.md to the tests that it names: each row has
// one, the functions are there, and what is named of their cases stands in the tests
// or their data.
func TestReliability(t *testing.T) {
	page, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for number, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| failure |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 5 {
			t.Errorf("line %d has %d cells", number+1, len(cells))
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if lost, doubled := cells[2], cells[3]; lost != "0" && lost != "told" || doubled != "0" {
			t.Errorf("line %d: %s lost, %s doubled", number+1, lost, doubled)
		}
		tests := shownBy.FindAllStringSubmatch(cells[4], -1)
		if len(tests) == 0 || strings.Count(cells[4], "`") != 2*len(tests) {
			t.Errorf("line %d: %s is no list of tests", number+1, cells[4])
		}
		if (cells[2] == "told") != strings.Contains(cells[1], "gap") {
			t.Errorf("line %d: what is told is a gap, and a gap is told: %s", number+1, line)
		}
		for _, test := range tests {
			if why := missing(t, test[1], test[2], test[3]); why != "" {
				t.Errorf("line %d: %s", number+1, why)
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows", rows)
	}
	for _, test := range shownBy.FindAllStringSubmatch(string(page), -1) { // those of the text too
		if why := missing(t, test[1], test[2], test[3]); why != "" {
			t.Error(why)
		}
	}
}

// missing says why a package has no such test, or nothing of that name in it.
func missing(t *testing.T, dir, name, part string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return dir + " has no tests"
	}
	found, named := false, part == ""
	for _, file := range append(files, dataOf(dir)...) {
		if found && named {
			break
		}
		if part != "" && filepath.Base(file) == part {
			named = true
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".go") {
			for _, m := range topTests.FindAllSubmatch(text, -1) {
				found = found || string(m[1]) == name
			}
			named = named || strings.Contains(string(text), `"`+part+`"`)
		} else {
			named = named || strings.Contains(string(text), "scenario "+part+"\n")
		}
	}
	switch {
	case !found:
		return dir + " has no " + name
	case !named:
		return dir + "." + name + " has nothing named " + part
	}
	return ""
}

func dataOf(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "testdata", "*.txt")) // the pattern is one
	return files
}
