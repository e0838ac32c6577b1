//go:build integration

package guides

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testdb"
)

// need skips the test where a program is missing, or fails where CI=true.
func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skipf("needs a program that .ci/run installs; with CI=true its absence is a failure: %v", err)
	}
}

// python is a folder in which python3 is one that has psycopg.
func python(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(program)
		if err != nil || exec.Command(path, "-c", "import psycopg").Run() != nil {
			continue
		}
		dir := t.TempDir()
		if err := os.Symlink(path, filepath.Join(dir, "python3")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	need(t, errors.New("no python3 with psycopg: apt-get install python3-psycopg"))
	return ""
}

// driver puts the driver that the page names into dir. Maven keeps it between runs.
func driver(t *testing.T, dir string, all []block) {
	t.Helper()
	for _, program := range []string{"javac", "java", "mvn"} {
		_, err := exec.LookPath(program)
		need(t, err)
	}
	dependency := ""
	for _, b := range all {
		if b.language == "xml" {
			dependency = b.text
		}
	}
	pom := `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>isowatch</groupId>
<artifactId>guides</artifactId><version>1</version><packaging>pom</packaging><dependencies>` + dependency + `</dependencies></project>`
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom), 0o600); err != nil {
		t.Fatal(err)
	}
	get := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=.")
	get.Dir = dir
	if out, err := get.CombinedOutput(); err != nil {
		t.Fatalf("mvn cannot get the driver: %v\n%s", err, out)
	}
}

// guide is a page with code that captures.
type guide struct {
	script string // its commands
	dir    string // with its files
	bins   []string
	url    func(postgres string) string // as its driver wants it
}

func pythonGuide(t *testing.T) *guide {
	g := &guide{dir: t.TempDir(), bins: []string{python(t)}, url: func(url string) string { return url }}
	all := blocks(t, "python.md")
	writeFiles(t, g.dir, all, "python", "#")
	g.script = commands(all)
	return g
}

func javaGuide(t *testing.T) *guide {
	g := &guide{dir: t.TempDir(), url: func(url string) string {
		return "jdbc:" + strings.Replace(url, "postgres://postgres@", "postgresql://", 1) + "&user=postgres&prepareThreshold=0" // COMMIT is then seen on the way
	}}
	all := blocks(t, "java.md")
	driver(t, g.dir, all)
	writeFiles(t, g.dir, all, "java", "//")
	g.script = commands(all)
	return g
}

// run runs the page's commands against the database, and returns the history.
func (g *guide) run(t *testing.T, url, isolation string) (history []byte, said string, err error) {
	t.Helper()
	file := filepath.Join(g.dir, "history.jsonl")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(g.script, " SERIALIZABLE", ` "`+isolation+`"`)
	said, err = shell(t, g.dir, script, g.bins, "DATABASE_URL="+g.url(url))
	history, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatalf("%v\n%s", readErr, said)
	}
	return history, said, err
}

// TestCapture runs the commands of the pages: a healthy database, weaker isolation, and
// connections that break during COMMIT.
func TestCapture(t *testing.T) {
	for _, c := range []struct {
		page  string
		guide func(*testing.T) *guide
	}{{"python.md", pythonGuide}, {"java.md", javaGuide}} {
		t.Run(c.page, func(t *testing.T) {
			g := c.guide(t)
			url := testdb.Postgres(t)
			t.Run("healthy", func(t *testing.T) { g.healthy(t, url) })
			t.Run("read committed", func(t *testing.T) { g.readCommitted(t, url) })
			t.Run("broken connections", func(t *testing.T) { g.broken(t, url) })
		})
	}
}

func (g *guide) healthy(t *testing.T, url string) {
	history, said, err := g.run(t, url, "SERIALIZABLE")
	if err != nil || !strings.Contains(said, "201 records, 0 invalid") || !strings.Contains(said, "strong-session-serializable  ok") {
		t.Fatalf("%v\n%s", err, said)
	}
	if bytes.Contains(history, []byte(`"unknown"`)) {
		t.Error("an outcome is unknown, and no connection was lost")
	}
}

// Lost updates of read committed are found, and nothing that read committed forbids.
func (g *guide) readCommitted(t *testing.T, url string) {
	history, said, err := g.run(t, url, "READ COMMITTED")
	if err == nil || !strings.Contains(said, "asked for READ COMMITTED") {
		t.Errorf("the pages' check does not tell that the transactions asked for less: %v\n%s", err, said)
	}
	r := judge(t, history, check.Contract("isolation=ignore"))
	if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Anomaly == "lost-update" }) {
		t.Errorf("no lost update is found: %s", r)
	}
	for _, f := range r.Findings { // a read between two writes of another transaction may see the one and not the other
		if slices.Contains(slices.Concat(f.Refutes, f.AlsoRefutes), "read-committed") {
			t.Errorf("%s is found, and read committed forbids it: %s", f.Anomaly, r)
		}
	}
}

var unknown = regexp.MustCompile(`"status": ?"unknown"`)

// What COMMITs did whose answer was lost is not known: a history that says so is ok, and one
// that says aborted is not.
func (g *guide) broken(t *testing.T, url string) {
	cut, through := newCutter(t, url, 5)
	history, said, err := g.run(t, through, "SERIALIZABLE")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	n := len(unknown.FindAll(history, -1))
	if cut.cuts.Load() < 4 || n < 4 {
		t.Fatalf("%d connections were cut, and %d outcomes are unknown", cut.cuts.Load(), n)
	}
	if r := judge(t, history); r.Verdict() != check.OK {
		t.Error(r)
	}
	if r := judge(t, unknown.ReplaceAll(history, []byte(`"status":"aborted"`))); r.Verdict() != check.Violated {
		t.Error("no transaction of unknown outcome was ever read: the test shows nothing")
	}
}

func judge(t *testing.T, history []byte, options ...check.Option) *check.Result {
	t.Helper()
	r, err := check.Reader(bytes.NewReader(history), append(options, check.Expect("postgresql/serializable"))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
