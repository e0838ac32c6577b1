package main

import (
	"os"
	"strings"
	"testing"
)

// mostChanged is how many lines of the shop are of its capture, at most.
const mostChanged = 20

// What capture changes in the shop: lines that are not there before, blank ones and comments
// left out.
func TestChangedLines(t *testing.T) {
	var versions [2][]string
	for i, name := range []string{"before/main.go", "main.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				versions[i] = append(versions[i], line)
			}
		}
	}
	before, after := versions[0], versions[1]
	if changed := len(after) - common(before, after); changed > mostChanged || changed == 0 {
		t.Errorf("%d lines are changed, at most %d may be", changed, mostChanged)
	}
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
