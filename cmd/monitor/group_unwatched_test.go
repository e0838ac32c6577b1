package main

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/store/file"
)

// TestGroupTellsUnwatched: text says of a unit that its owner does not watch it. JSON has a field for that beside the state. The exit code is 2.
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
	run := func(more ...string) (string, int) {
		cmd := exec.Command("monitor", append([]string{"group", "--group", "g", "--group-state", "file://" + dir, "--group-lease", "1s"}, more...)...)
		out, err := cmd.Output()
		t.Log(string(out), err)
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(); code != 0 || !strings.Contains(out, "owned") {
		t.Errorf("exit code %d: %s", code, out)
	}
	text, err := json.Marshal(map[string]any{"member": "a", "life": m.Name(), "units": map[string]any{"nats:S": map[string]any{"term": 1, "unwatched": true, "unwatched_seconds": 12.5}}})
	if err == nil {
		_, err = s.Create(t.Context(), "about/a", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, code := run(); code != 2 || !strings.Contains(out, "nats:S  unwatched  term 1  a  for 12.5 s\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := run("-o", "jsonl"); code != 2 || !strings.Contains(out, `"owner":"a","term":1,"state":"owned","sources":null,"lag_records":null,"state_age":null,"unwatched_seconds":12.5}`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestGroupFindingsInPart: an object of a state is gone. The findings of the other units, and what can be read of this one, are printed. The
// unit is named, and the exit code is 2.
func TestGroupFindingsInPart(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--window", "1s", "--max-transaction", "1s", "--lateness", "1s"}
	r.start(t, "a")
	r.records = plantedMessages(t, 3_000, 500)[:150]
	r.publish(t.Context(), t, 5*time.Second)
	r.settle(t, nil)
	m := r.members[0]
	m.signal(t, syscall.SIGTERM)
	if err := m.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	list := func() (found map[string]int, stderr string, code int) {
		cmd := exec.Command("monitor", "findings", "--group-state", r.state.url(nil), "--output", "jsonl")
		out, err := cmd.Output()
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			stderr = string(ended.Stderr)
		}
		found = map[string]int{}
		for line := range strings.Lines(string(out)) {
			var f struct{ Source string }
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			found[f.Source]++
		}
		return found, stderr, cmd.ProcessState.ExitCode()
	}
	all, _, code := list()
	if len(all) != groupSources || code != 0 {
		t.Fatalf("findings %v, exit code %d", all, code)
	}
	s, err := app.OpenGroup(t.Context(), r.state.url(nil), "g")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := group.StateKey("nats:G:g.1")
	v, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	data := strings.Replace(string(v.Data), `"base_end"`, `"base":{"name":"x","format":1,"bytes":1,"objects":[{"name":"gone","bytes":1,"sha256":"00"}]},"base_end"`, 1)
	if _, err := s.Update(t.Context(), key, []byte(data), v.Version); err != nil {
		t.Fatal(err)
	}
	got, stderr, code := list()
	if !maps.Equal(got, all) || code != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "findings of the unit nats:G:g.1 are missing") {
		t.Errorf("findings %v, want %v; exit code %d: %s", got, all, code, stderr)
	}
}
