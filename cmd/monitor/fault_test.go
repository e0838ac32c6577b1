package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestFaultsStopTheLastSource: with exit code 255, what to do, and files that replay reads. A new
// start over the folder goes on behind the records.
func TestFaultsStopTheLastSource(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	watch := func(hook func(string, *event.Batch, []int32)) (int, string) {
		var stderr lockedBuffer
		code := run(t.Context(), []string{"run", "--stdin", "--http", "off", "--data", data, "--log-format", "json"}, terminal{
			stdin: strings.NewReader(strings.Repeat(aRecord, 4)), stdout: new(bytes.Buffer), stderr: &stderr, hook: hook,
			lookupEnv: func(string) (string, bool) { return "", false }, environ: func() []string { return nil },
		})
		wantJSON(t, stderr.String())
		return code, stderr.String()
	}
	code, said := watch(func(_ string, _ *event.Batch, txns []int32) {
		if len(txns) > 0 {
			panic("a slip of ours\nmonitor: all is well")
		}
	})
	if code != exitInternal || !strings.Contains(said, "every source is stopped") || !strings.Contains(said, "Report it") {
		t.Errorf("exit code %d, want %d:\n%s", code, exitInternal, said)
	}
	files, _ := filepath.Glob(filepath.Join(data, "faults", "*.fault"))
	if len(files) != 3 {
		t.Fatalf("%q", files)
	}
	code, said = ended(t, "replay", "--fault", files[0])
	if code != exitOK {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	if code, said = ended(t, "replay", "--fault", "fault_test.go"); code != exitUsage || !strings.Contains(said, "not a file of a fault") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	if code, said = ended(t, "findings", "--dead-letters", "--data", data); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, said)
	}
}
