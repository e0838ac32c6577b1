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
	r.flags = []string{"--http", "127.0.0.1:0", "--window", "1s", "--max-transaction", "1s"}
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
	if n := metric(t, r.members[0].address(t), "isowatch_group_split_sources"); n != 1 {
		t.Errorf("the metric says that %v sources are in two units", n)
	}
	verdicts := func(source string) (all map[string]int) {
		all = map[string]int{}
		for line := range strings.Lines(get(t, r.members[0].address(t)+"/metrics")) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "isowatch_verdict{") && strings.Contains(name, fmt.Sprintf("source=%q", source)) {
				all[value]++
			}
		}
		return all
	}
	r.await(t, "levels of the source that are unknown", func() bool { all := verdicts("both"); return len(all) == 1 && all["1"] > 0 })
	if all := verdicts("own"); all["0"] == 0 {
		t.Errorf("no level of the other source holds: %v", all)
	}

	// What was read was written by nobody: that rests on absence. A source that is whole shows it.
	for subject, source := range []string{"both", "both", "own"} {
		now := time.Now().UnixNano()
		record := fmt.Sprintf(`{"txn":"reads-%d","source":%q,"status":"committed","start":%d,"end":%[3]d,"ops":[{"op":"r","key":"nobody%[1]d","value":7}]}`, subject, source, now)
		if err := r.input.publish(t.Context(), subject, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	garbage := func() (sources []string) {
		for id, text := range r.texts() {
			if source, _, _ := strings.Cut(id, " "); strings.Contains(text, `"anomaly":"garbage-read"`) {
				sources = append(sources, source)
			}
		}
		return sources
	}
	r.await(t, "a garbage read of the other source", func() bool { return len(garbage()) > 0 })
	r.settle(t, nil)
	if all := garbage(); len(all) != 1 || all[0] != "own" {
		t.Errorf("garbage reads of %v, want one of own: the records that wrote may be in the other unit", all)
	}
}
