package main

import (
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/store/file"
)

// TestGroupTellsUnwatched: a unit whose owner lives and does not watch it has a state of its own, and the exit code is 2.
func TestGroupTellsUnwatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all, err := file.Open(&url.URL{Scheme: "file", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Named(all, "g")
	m := drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: []string{"nats:S"}, Store: s, Heed: func(group.Event) {}})
	defer m.Stop()
	for deadline := time.Now().Add(30 * time.Second); len(m.Units()) == 0 || !m.Units()[0].Mine; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the unit has no owner")
		}
	}
	run := func() (string, int) {
		cmd := exec.Command("monitor", "group", "--group", "g", "--group-state", "file://"+dir, "--group-lease", "1s")
		out, err := cmd.Output()
		t.Log(string(out), err)
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(); code != 0 || !strings.Contains(out, "owned") {
		t.Errorf("exit code %d: %s", code, out)
	}
	text, err := json.Marshal(map[string]any{"member": "a", "life": m.Name(), "units": map[string]any{"nats:S": map[string]any{"term": 1, "unwatched": true}}})
	if err == nil {
		_, err = s.Create(t.Context(), "about/a", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, code := run(); code != 2 || !strings.Contains(out, "nats:S  unwatched  term 1  a") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
