package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// panicking is an input whose reader has a fault.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a slip of ours") }

// A panic is no verdict: the exit code is 255, and what to do is told.
func TestPanicIsInternal(t *testing.T) {
	for _, command := range []string{"check -", "check --output junit -", "validate -", "convert -", "check - --log-format json"} {
		var out bytes.Buffer
		term := terminal{stdin: panicking{}, stdout: new(bytes.Buffer), stderr: &out, lookupEnv: func(string) (string, bool) { return "", false }}
		code := run(t.Context(), strings.Fields(command), term)
		if said := out.String(); code != exitInternal || !strings.Contains(said, "a slip of ours") || !strings.Contains(said, "Report it") || !strings.Contains(said, "crash_test.go") {
			t.Errorf("%s: exit code %d, want %d:\n%s", command, code, exitInternal, said)
		}
	}
}

// A crash beside the guards ends with SIGABRT, not with the code of a verdict.
func TestCrashIsNoVerdict(t *testing.T) {
	if os.Getenv("CRASH") != "" {
		crashByAbort()
		go func() { panic("a slip of ours") }()
		select {}
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestCrashIsNoVerdict$")
	c.Env = append(os.Environ(), "CRASH=1")
	said, err := c.CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		t.Fatalf("%v:\n%s", err, said)
	}
	if status := failed.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGABRT || status.CoreDump() {
		t.Errorf("%v:\n%s", err, said)
	}
	if !bytes.Contains(said, []byte("panic: a slip of ours")) {
		t.Errorf("%s", said)
	}
}
