package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFilesGone: the data folder of a running service is removed, moved away or emptied. The
// service ends though nothing comes in, with the exit code of what a user can mend, and says what
// to do.
func TestFilesGone(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(data string) error{
		"removed":    os.RemoveAll,
		"moved away": func(data string) error { return os.Rename(data, data+".away") },
		"replaced by an empty folder": func(data string) error {
			return errors.Join(os.Rename(data, data+".away"), os.MkdirAll(filepath.Join(data, "store"), 0o700))
		},
		"replaced by another": func(data string) error {
			code, said := ended(t, "run", "--stdin", "--http", "off", "--data", data+".other")
			if code != exitOK && code != exitUnknown {
				return errors.New(said)
			}
			return errors.Join(os.Rename(data, data+".away"), os.Rename(data+".other", data))
		},
		"store removed": func(data string) error { return os.RemoveAll(filepath.Join(data, "store")) },
		"store emptied": func(data string) error {
			files, err := filepath.Glob(filepath.Join(data, "store", "*"))
			for _, f := range files {
				err = errors.Join(err, os.Remove(f))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			code, said := endedBy(t, func() error { return damage(data) }, "run", "--stdin", "--http", "127.0.0.1:0", "--data", data, "--log-format", "json")
			wantJSON(t, said)
			if code != exitUsage || !strings.Contains(said, "removed or moved away") || !strings.Contains(said, "start again") {
				t.Errorf("exit code %d, want %d and what to do:\n%s", code, exitUsage, said)
			}
			if last := said[strings.LastIndexByte(strings.TrimSuffix(said, "\n"), '\n')+1:]; strings.Count(last, "removed or moved away") != 1 {
				t.Errorf("the last line does not say it once: %s", last)
			}
		})
	}
}

// TestFolderMadeReadOnly: the same for a folder that can no longer be written to.
func TestFolderMadeReadOnly(t *testing.T) {
	t.Parallel()
	if root := t.TempDir(); os.Getuid() == 0 { // whom a mode does not keep from writing
		if out, err := exec.Command("chattr", "+i", root).CombinedOutput(); err != nil {
			t.Skipf("needs a file system on which chattr +i works, as root: %v: %s", err, out)
		}
		if err := exec.Command("chattr", "-i", root).Run(); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	store := filepath.Join(data, "store")
	t.Cleanup(func() {
		exec.Command("chattr", "-i", store).Run()
		os.Chmod(store, 0o700)
	})
	code, said := endedBy(t, func() error {
		if os.Getuid() == 0 {
			return exec.Command("chattr", "+i", store).Run()
		}
		return os.Chmod(store, 0o500)
	}, "run", "--stdin", "--http", "127.0.0.1:0", "--data", data, "--log-format", "json")
	if code != exitUsage || !strings.Contains(said, "can no longer be written to") || !strings.Contains(said, "writable again") {
		t.Errorf("exit code %d, want %d and what to do:\n%s", code, exitUsage, said)
	}
}

// endedBy runs a command line whose input does not end. Once it listens, fault happens.
func endedBy(t *testing.T, fault func() error, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stdin, more := io.Pipe()
	defer more.Close()
	stderr := &heard{until: "expected level", heard: make(chan struct{})}
	go func() {
		io.WriteString(more, aRecord) // it fails if the command has ended
		select {
		case <-ctx.Done():
		case <-stderr.heard:
			if err := fault(); err != nil {
				t.Error(err)
			}
		}
	}()
	code = run(ctx, args, terminal{
		stdin: stdin, stdout: new(bytes.Buffer), stderr: stderr,
		lookupEnv: func(string) (string, bool) { return "", false }, environ: func() []string { return nil },
	})
	if ctx.Err() != nil {
		t.Error("it did not end")
	}
	return code, stderr.String()
}

// heard keeps what is written, and tells when a text was in it.
type heard struct {
	until string
	heard chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	told bool
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(b)
	if !h.told && strings.Contains(h.text.String(), h.until) {
		h.told = true
		close(h.heard)
	}
	return len(b), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}
