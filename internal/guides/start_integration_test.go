//go:build integration

package guides

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// answer is what a block of commands must end with.
type answer struct {
	code int
	says string // regular expression
}

// ways are the sections of docs/start.md, with the answer of each of their blocks.
var ways = []struct {
	section string
	needs   []string // programs
	answers []answer
}{
	{"## 1. Probe", nil, []answer{
		{1, `VIOLATED  (write skew|anti-dependency cycle)`},
		{0, `strong-session-snapshot-isolation +ok`},
	}},
	{"## 2. Capture", nil, []answer{
		{1, `VIOLATED  lost update \(lost-update\)  shop`},
	}},
	{"## 3. Read a log", []string{"jq"}, []answer{
		{0, `^$`},
		{0, `3 records, 0 invalid`},
		{1, `7f02 and 7f01 both updated stock/42 from 1; one update was lost\.`},
		{1, `strong-session-snapshot-isolation +VIOLATED`},
	}},
}

// TestStart runs the commands of the page, section by section, each in a folder of its own.
func TestStart(t *testing.T) {
	page, err := os.ReadFile("../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		t.Run(strings.TrimPrefix(way.section, "## "), func(t *testing.T) {
			for _, program := range way.needs {
				_, err := exec.LookPath(program)
				need(t, err)
			}
			_, section, found := strings.Cut(string(page), "\n"+way.section)
			section, _, _ = strings.Cut(section, "\n## ")
			scripts := shellBlocks(section)
			if !found || len(scripts) != len(way.answers) {
				t.Fatalf("%d blocks of commands, and %d answers", len(scripts), len(way.answers))
			}
			url, dir := testdb.Postgres(t), t.TempDir()
			if strings.Contains(section, "\n```go\n") {
				writeFiles(t, dir, blocks(t, "start.md"), "go", "//")
				writeModule(t, dir)
			}
			for i, script := range scripts {
				out, err := shell(t, dir, script, nil, "DATABASE_URL="+url)
				code := 0
				var ended *exec.ExitError
				if errors.As(err, &ended) {
					code = ended.ExitCode()
				} else if err != nil {
					t.Fatal(err)
				}
				if want := way.answers[i]; code != want.code || !regexp.MustCompile(want.says).MatchString(out) {
					t.Errorf("%s\nexit code %d, want %d and %q\n%.4000s", script, code, want.code, want.says, out)
				}
			}
		})
	}
}

// writeModule makes dir a module that uses this one as it is here, and needs no network.
func writeModule(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			const ours = "github.com/isowatch/isowatch"
			text = []byte(strings.Replace(string(text), "module "+ours, "module shop", 1) +
				"\nrequire " + ours + " v0.0.0\n\nreplace " + ours + " => " + root + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shellBlocks are the blocks of commands in text.
func shellBlocks(text string) []string {
	var all []string
	parts := strings.Split(text, "\n```")
	for i := 1; i < len(parts); i += 2 {
		if language, code, _ := strings.Cut(parts[i], "\n"); language == "sh" {
			all = append(all, code+"\n")
		}
	}
	return all
}
