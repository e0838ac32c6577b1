package history

import (
	"os"
	"strings"
	"testing"
)

// Each format is read, by this package or by event, and documented.
func TestForms(t *testing.T) {
	text, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range forms {
		if byEvent := x.name == JSONL || x.name == Proto; byEvent == (x.read != nil || x.pieces != nil || x.session != nil) {
			t.Errorf("%s is read by nobody, or twice", x.name)
		}
		if !strings.Contains(string(text), "`"+string(x.name)+"`") {
			t.Errorf("docs/format.md does not name %s", x.name)
		}
		if x.session != nil && x.names == (nameForm{}) {
			t.Errorf("%s: nothing says how the files of a folder are called", x.name)
		}
	}
}
