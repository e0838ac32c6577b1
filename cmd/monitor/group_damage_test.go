package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/testrun"
)

// damageFile writes other bytes over the beginning of a file, as dd does.
func damageFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		for i := range min(len(data), 4096) {
			data[i] ^= 0xa5
		}
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stateParts are the files that a unit's state consists of: its record, and its objects.
func stateParts(t *testing.T, dir, unit string) (all []string) {
	t.Helper()
	s, err := app.OpenGroup(t.Context(), "file://"+dir, "g")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := s.Get(t.Context(), group.StateKey(unit))
	if err != nil {
		t.Fatal(err)
	}
	data, err := group.StateOf(v)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(data), "\n")
	var record struct{ Pieces []struct{ Name string } }
	if err := json.Unmarshal([]byte(head), &record); err != nil {
		t.Fatal(err)
	}
	for _, p := range record.Pieces {
		all = append(all, filepath.Join("objects", "g."+p.Name))
	}
	versions, err := filepath.Glob(filepath.Join(dir, "g_state", strings.TrimPrefix(group.StateKey(unit), "state/")+"@*"))
	if err != nil || len(versions) == 0 || len(all) == 0 {
		t.Fatalf("the state of %s has %d objects, and its record %d files: %v", unit, len(all), len(versions), err)
	}
	newest := slices.Max(versions)
	return append(all, strings.TrimPrefix(newest, dir+"/"))
}

// offsetIn is the offset that a position ends with.
func offsetIn(t *testing.T, text, field string) int64 {
	t.Helper()
	var f map[string]any
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	position, _ := f[field].(string)
	n, err := strconv.ParseInt(position[strings.LastIndexByte(position, '/')+1:], 10, 64)
	if err != nil {
		t.Fatalf("%s of %s: %v", field, text, err)
	}
	return n
}

// TestGroupStateIsDamaged: all members are killed, and one part of a unit's state is overwritten. The unit begins one window before the last cursor, whichever part
// it is. A gap names the range, all that was planted behind it is found, and nothing else is. The other units go on.
func TestGroupStateIsDamaged(t *testing.T) {
	t.Parallel()
	records := pacedMessages(t, 6_000, 50, 10*time.Millisecond)
	for i, kind := range []struct{ input, unit string }{{"kafka partitions", "kafka:g/0"}, {"nats", "nats:G:g.0"}} {
		if testrun.LeavesOut(i, 2) {
			continue
		}
		t.Run(kind.input, func(t *testing.T) {
			t.Parallel()
			r := newGroupRun(t, nil, groupInputs[kind.input], "file")
			dir := strings.TrimPrefix(r.state.url(nil), "file://")
			same := func(*testing.T) groupInput { return r.input }
			alone := newGroupRun(t, nil, same, "")
			r.flags = []string{"--window", "1s", "--max-transaction", "1s", "--lateness", "1s"}
			alone.flags = r.flags
			alone.start(t, "alone")
			for _, member := range []string{"a", "b", "c"} {
				r.start(t, member)
			}
			r.records = records[:400]
			r.publish(t.Context(), t, 5*time.Second)
			r.await(t, "findings of all units", func() bool { return len(r.texts()) > 3*40 })
			r.mu.Lock()
			read := r.last
			r.mu.Unlock()
			time.Sleep(2 * groupLease) // the places are written once in a lease
			for _, m := range r.members {
				killMember(t, m)
			}
			t.Logf("the last finding came %v before the kill", time.Since(read).Round(100*time.Millisecond))
			parts := stateParts(t, dir, kind.unit)
			var damaged []*groupRun
			for i, part := range parts {
				if i < len(parts)-1 && testrun.LeavesOut(i, len(parts)) { // the first object, and the record
					continue
				}
				x := newGroupRun(t, nil, same, "")
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				damageFile(t, filepath.Join(copied, part))
				x.state = &groupState{url: func([]string) string { return "file://" + copied }}
				x.flags = r.flags
				x.start(t, "d")
				damaged = append(damaged, x)
				t.Logf("run %d: %s", len(damaged)-1, part)
			}
			for _, x := range damaged {
				x.await(t, "member that watches all units", func() bool { return x.members[0].logged("watches the unit") == groupSources })
			}
			r.records = records[400:]
			r.publish(t.Context(), t, 3*time.Second)
			alone.settle(t, nil)
			want := alone.texts()
			for i, x := range damaged {
				x.checkBeganAnew(t, i, i < len(damaged)-1, want)
			}
		})
	}
}

// checkBeganAnew compares what the i-th run found with what one monitor found that nobody disturbed. byState: the state says where the unit begins.
func (r *groupRun) checkBeganAnew(t *testing.T, i int, byState bool, want map[string]string) {
	t.Helper()
	lastOf := func(source string) (last int64) {
		for id, text := range want {
			if strings.HasPrefix(id, source+" ") {
				last = max(last, offsetIn(t, text, "first_position"))
			}
		}
		return last
	}
	r.await(t, "gap", func() bool { return r.gaps("") > 0 })
	place := int64(-1)
	missing := func() (all []string) {
		got := r.texts()
		for id, text := range want {
			absence := strings.Contains(text, `"anomaly":"garbage-read"`) // behind a gap nobody knows that no record wrote a value
			if got[id] == "" && !absence && strings.HasPrefix(id, "s0 ") && offsetIn(t, text, "first_position") >= place {
				all = append(all, text)
			}
		}
		return all
	}
	for id, text := range r.texts() {
		if strings.Contains(text, `"anomaly":"gap"`) {
			if place = offsetIn(t, text, "last_position"); !strings.HasPrefix(id, "s0 ") {
				t.Errorf("run %d: the unit of %s has a gap", i, id)
			}
			t.Logf("run %d: %s", i, text)
		}
	}
	least := int64(0) // by the record of places, which is some seconds old
	if byState {
		least = lastOf("s0") / 3
	}
	if place < least {
		t.Errorf("run %d: the unit begins at %d, want %d at the least", i, place, least)
	}
	for deadline := time.Now().Add(groupPatience); len(missing()) > 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
	}
	for _, text := range missing() {
		t.Errorf("run %d begins at %d, and has not found %s", i, place, text)
	}
	got := r.texts()
	for _, id := range slices.Sorted(maps.Keys(got)) {
		uncertain := strings.Contains(got[id], `"certain":false`) && strings.Contains(got[id], `"refutes":[]`)
		if want[id] == "" && !uncertain && !strings.Contains(got[id], `"anomaly":"gap"`) {
			t.Errorf("run %d: a false alarm: %s", i, got[id])
		}
	}
	if n := r.gaps("It was read up to [1-9].*and is read again from "); n != 1 {
		t.Errorf("run %d: %d gaps name the range", i, n)
	}
}
