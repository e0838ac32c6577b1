package docs

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Each level has a section of levels.md, and the arrows there are the order of the levels.
func TestLevelsPage(t *testing.T) {
	below := map[string]map[string]bool{}
	text, err := files.ReadFile("levels.md")
	if err != nil {
		t.Fatal(err)
	}
	_, arrows, _ := strings.Cut(string(text), "\n```\n")
	arrows, _, _ = strings.Cut(arrows, "\n```\n")
	for line := range strings.Lines(arrows) {
		chain := strings.Split(strings.TrimSpace(line), " <- ")
		for i, strong := range chain[1:] {
			if below[strong] == nil {
				below[strong] = map[string]bool{}
			}
			below[strong][chain[i]] = true
		}
	}
	var includes func(strong, weak string) bool
	includes = func(strong, weak string) bool {
		if strong == weak || below[strong][weak] {
			return true
		}
		for next := range below[strong] {
			if includes(next, weak) {
				return true
			}
		}
		return false
	}
	for _, a := range isolation.Bases() {
		if _, ok := Named(Levels(), a.String()); !ok {
			t.Errorf("levels.md has no section on %s", a)
		}
		for _, b := range isolation.Bases() {
			if a.Implies(b) != includes(a.String(), b.String()) {
				t.Errorf("the arrows of levels.md say that %s includes %s: %v", a, b, includes(a.String(), b.String()))
			}
		}
	}
}
