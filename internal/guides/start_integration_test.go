//go:build integration

package guides

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// answer holds what a block of commands must end with.
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
	{"## Demo", nil, []answer{
		{0, `found:   (lost update|dirty read|stale read|write skew) of client`},
	}},
	{"## 1. Probe", nil, []answer{
		{1, `VIOLATED  write skew`},
		{0, `strong-session-snapshot-isolation +ok`},
	}},
	{"## 2. Capture", nil, []answer{
		{1, `VIOLATED  lost update \(lost-update\)  shop`},
	}},
	{"## 3. Read a log", []string{"jq"}, []answer{
		{0, `^$`},
		{0, `3 records, 0 invalid`},
		{1, `7f02 and 7f01 both updated stock/42 from 5 \(version 1\); one update was lost\.`},
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

// TestAlert runs the last part of the page, whose commands belong together, on ports that are free: an
// alert of the monitor and one of Prometheus arrive in a real Alertmanager.
func TestAlert(t *testing.T) {
	for _, program := range []string{"prometheus", "prometheus-alertmanager", "amtool", "curl", "jq", "timeout"} {
		_, err := exec.LookPath(program)
		need(t, err)
	}
	page, err := os.ReadFile("../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## 4. Alert")
	section, _, _ = strings.Cut(section, "\n## ")
	script := strings.Join(shellBlocks(section), "")
	for _, port := range []string{":9193", ":9190", ":8181"} {
		if !strings.Contains(script, port) {
			t.Fatalf("the page does not name port %s", port)
		}
		script = strings.ReplaceAll(script, port, freePort(t))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "alert.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	// timeout ends all that the script started, also where an alert never comes.
	out, err := shell(t, dir, "timeout 180 sh -eu alert.sh", nil, "ISOWATCH="+root)
	if err != nil || !strings.Contains(out, "IsolationViolated") || !strings.Contains(out, `"causes": "`) || !strings.Contains(out, "IsowatchAnomaly") {
		for _, name := range []string{"alertmanager.log", "monitor.log", "prometheus.log"} {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			t.Logf("%s: %.2000s", name, text)
		}
		t.Errorf("%v\n%.4000s", err, out)
	}
}

// freePort is :N for a port that nothing listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return ":" + port
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
