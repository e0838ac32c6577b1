package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A report survives a reader that closes standard output: monitor check --report r.html f | head -1. Without --report the command
// ends like any other then.
func TestReportOutlivesItsReader(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("monitor") // TestMain has made it
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	history := filepath.Join(dir, "skew.jsonl")
	const skew = `{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}]}
{"txn":"T2","status":"committed","ops":[{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}]}
`
	if err := os.WriteFile(history, []byte(skew), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"check", exitViolated, []string{"check", history, history}},
		{"check-jsonl", exitViolated, []string{"check", "-o", "jsonl", history}},
		{"replay", exitUnknown, []string{"replay", "--file", history}},
		{"probe", exitViolated, []string{"probe", "sim:read-uncommitted", "--expect", "serializable", "--duration", "1s", "--rate", "200", "--keys", "4"}},
		{"demo", exitOK, []string{"demo", "--duration", "2s", "--http", "off"}},
		{"demo without an end", exitOK, []string{"demo", "--http", "off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(dir, c.name+".html")
			if code := runClosed(t, program, append(c.args, "--report", report)...); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			text, err := os.ReadFile(report)
			if err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
				t.Errorf("the report has %d bytes, %v", len(text), err)
			}
			if strings.HasPrefix(c.name, "check") && !strings.Contains(string(text), "write skew") {
				t.Error("the report has no finding")
			}
		})
	}
	if code := runClosed(t, program, "check", history); code != -1 {
		t.Errorf("without a report the exit code is %d, and not a signal", code)
	}
}

// runClosed runs the program with a standard output that nobody reads. The code is -1 where a signal ended it.
func runClosed(t *testing.T, program string, args ...string) int {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Stdout, c.WaitDelay = writer, time.Second
	var failed *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// A report takes its name when it is whole, and keeps the rights of the one that it replaces. A run that fails leaves that one.
func TestReportIsWrittenWhole(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "r.html"), filepath.Join(dir, "link.html")
	if err := errors.Join(os.WriteFile(file, []byte("before"), 0o600), os.Chmod(file, 0o644), os.Symlink("r.html", link)); err != nil {
		t.Fatal(err)
	}
	if code, said := ended(t, "replay", "--file", filepath.Join(dir, "none*"), "--report", link); code != exitUsage {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
		t.Errorf("a run that failed left %q, %v", text, err)
	}
	ended(t, "check", "--report", link, "-")
	text, err := os.ReadFile(file)
	info, gone := os.Lstat(link)
	now, missing := os.Stat(file)
	if err := errors.Join(err, gone, missing); err != nil || !strings.Contains(string(text), "</html>") || info.Mode()&os.ModeSymlink == 0 || now.Mode().Perm() != 0o644 {
		t.Errorf("%v, %d bytes, %v, %v", err, len(text), info, now)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2 {
		t.Errorf("files %v, %v", all, err)
	}
}
