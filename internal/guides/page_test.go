//go:build integration

package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// block is a piece of code of a page.
type block struct{ language, text string }

// blocks are those of a page of docs, in their order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	parts := strings.Split("\n"+string(text), "\n```")
	for i := 1; i < len(parts); i += 2 {
		language, code, _ := strings.Cut(parts[i], "\n")
		all = append(all, block{language, code + "\n"})
	}
	if len(parts)%2 == 0 || len(all) == 0 {
		t.Fatalf("%s: a block has no end, or there is none", page)
	}
	return all
}

// writeFiles writes the blocks of a language that begin with a comment which names a file.
func writeFiles(t *testing.T, dir string, all []block, language, comment string) {
	t.Helper()
	n := 0
	for _, b := range all {
		first, _, _ := strings.Cut(b.text, "\n")
		name, ok := strings.CutPrefix(first, comment+" ")
		if b.language != language || !ok || strings.ContainsAny(name, " /") {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Fatalf("no block of %s names its file", language)
	}
}

// commands are the blocks of the shell, one behind the other.
func commands(all []block) string {
	var b strings.Builder
	for _, x := range all {
		if x.language == "sh" {
			b.WriteString(x.text)
		}
	}
	return b.String()
}

// monitor builds the program once, and returns the folder that holds it.
var monitor = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "isowatch-guides-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir+"/", "../../cmd/monitor")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, &buildError{err, string(out)}
	}
	return dir, nil
})

type buildError struct {
	err error
	out string
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + e.out }

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := monitor(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// shell runs commands of a page in dir, with monitor and the programs in bins in the path.
func shell(t *testing.T, dir, script string, bins []string, env ...string) (out string, err error) {
	t.Helper()
	program, err := monitor()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	c.Dir = dir
	path := strings.Join(append(append([]string{}, bins...), program, os.Getenv("PATH")), string(os.PathListSeparator))
	c.Env = append(append(os.Environ(), "PATH="+path, "NO_COLOR=1"), env...)
	text, err := c.CombinedOutput()
	return string(text), err
}
