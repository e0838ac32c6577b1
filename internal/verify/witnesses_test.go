package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/verify"
	"github.com/isowatch/isowatch/internal/witnesses"
)

// TestWitnesses: each witness of testdata is accepted, or refused with these words: one at
// least for each rule (TestMutants), and those that the machine made (real.txt).
func TestWitnesses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no witnesses in testdata: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := witnesses.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases {
			w, err := c.Witness.Finding()
			if err != nil {
				t.Fatalf("%s:%d: %v", file, c.Line, err)
			}
			before := c.Witness.Text()
			switch err := verify.Verify(w); {
			case c.Refuses == "" && err != nil:
				t.Errorf("%s:%d: %s is refused: %v", file, c.Line, c.Name, err)
			case c.Refuses != "" && (err == nil || !strings.Contains(err.Error(), c.Refuses)):
				t.Errorf("%s:%d: %s: %v, want an error with %q", file, c.Line, c.Name, err, c.Refuses)
			}
			if c.Witness.Text() != before {
				t.Errorf("%s:%d: the verifier changed %s", file, c.Line, c.Name)
			}
		}
	}
}
