package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestGroupSplitSource: a source that comes by two subjects is told, each of its units takes it for incomplete, and other sources
// are as they were.
func TestGroupSplitSource(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.start(t, "a")
	split := func() (lost int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for id, text := range r.text {
			switch {
			case !strings.Contains(text, `"anomaly":"gap"`):
			case !strings.HasPrefix(id, "both "):
				t.Fatalf("%s is told: %s", id, text)
			case strings.Contains(text, " are lost"):
				t.Fatalf("no record is lost: %s", text)
			case strings.Contains(text, "the source is in two units of the group") && strings.Contains(text, "Records of the source both are read in another unit too"):
				lost++
			}
		}
		return lost
	}
	for i, deadline := 0, time.Now().Add(2*groupPatience); split() < 2; i++ {
		if time.Now().After(deadline) {
			t.Fatal("the units of the source do not say that it is in both")
		}
		for subject, source := range []string{"both", "both", "own"} {
			record := fmt.Sprintf(`{"txn":"%d-%d","source":%q,"status":"committed","start":%d,"end":%[4]d,"ops":[{"op":"w","key":"k%[2]d","value":%[1]d}]}`,
				i, subject, source, time.Now().UnixNano())
			if err := r.input.publish(t.Context(), subject, []byte(record)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	out, err := r.monitor("group", "--group", "g", "--group-state", r.state.url(nil), "--group-lease", groupLease.String(), "--output", "jsonl")
	if err != nil {
		t.Fatalf("monitor group: %v", err)
	}
	named := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var u struct {
			Split []string `json:"split_sources"`
		}
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatal(err)
		}
		for _, source := range u.Split {
			if source != "both" {
				t.Errorf("%s is named: %s", source, line)
			}
			named++
		}
	}
	if named != 2 {
		t.Errorf("the source is named for %d units:\n%s", named, out)
	}
}
