package whole

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// TestSmallIsReadOnce: the machines take the records of a small file from the first reading. What they tell is the same
// as after a second one.
func TestSmallIsReadOnce(t *testing.T) {
	skew := `{"txn":"a","status":"committed","ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"y","value":1}]}
{"txn":"b","status":"committed","ops":[{"op":"r","key":"y","found":false},{"op":"w","key":"x","value":1}]}
`
	for name, text := range map[string]string{
		"small": skew, "several sources": skew + strings.ReplaceAll(strings.ReplaceAll(skew, `"txn":"`, `"source":"s","txn":"`), "false", "false"), "bad record": skew + "{\n",
	} {
		file := filepath.Join(t.TempDir(), "history.jsonl")
		var reports [2]string
		for i, more := range []string{"", strings.Repeat(" ", smallHistory)} { // blanks make it large
			if err := os.WriteFile(file, []byte(text+more), 0o600); err != nil {
				t.Fatal(err)
			}
			watch := config.DefaultWatch(config.WholeContract())
			watch.Levels = []isolation.Level{{Base: isolation.Serializable}}
			var phases []string
			r, err := (&Whole{Watch: watch, Doing: func(phase string) { phases = append(phases, phase) }}).CheckFile(file)
			if err != nil {
				t.Fatal(err)
			}
			reports[i] = string(AppendReport(nil, r, false))
			if again := slices.Contains(phases, ReadingAgain); again != (i == 1) {
				t.Errorf("%s: of %d bytes, read again: %v", name, len(text+more), again)
			}
		}
		if reports[0] != reports[1] || !strings.Contains(reports[0], "write skew") {
			t.Errorf("%s: small\n%s\nlarge\n%s", name, reports[0], reports[1])
		}
	}
}
