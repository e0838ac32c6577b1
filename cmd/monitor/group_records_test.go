package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// recordDamages are what may happen to each file of a kind of record.
var recordDamages = map[string]func(path string) error{
	"overwritten": func(path string) error { return os.WriteFile(path, []byte("garbage{{"), 0o600) },
	"emptied":     func(path string) error { return os.Truncate(path, 0) },
	"removed":     os.Remove,
}

// recordCase is a group with one kind of record damaged in one way.
type recordCase struct {
	kind, how, dir string
	run            *groupRun
}

func (c *recordCase) damage(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(c.dir, c.kind), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = recordDamages[c.how](path)
		}
		if errors.Is(err, fs.ErrNotExist) { // a member has removed an old version
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ask runs a command on the store of the group.
func (c *recordCase) ask(t *testing.T, command string, more ...string) (code int, out, told string) {
	t.Helper()
	cmd := exec.Command("monitor", append([]string{command, "--group", "g", "--group-state", "file://" + c.dir}, more...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestGroupRecordsAreDamaged: each kind of record that a group stores is overwritten, emptied and removed: while nobody lives, and again while a
// member lives. It watches all units each time, no command ends for that, and what cannot be read is named and written again.
func TestGroupRecordsAreDamaged(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	dir := strings.TrimPrefix(r.state.url(nil), "file://")
	for _, member := range []string{"a", "b"} {
		r.start(t, member)
	}
	r.records = plantedMessages(t, 3_000, 500)[:100]
	r.publish(t.Context(), t, 3*time.Second)
	r.settle(t, nil)
	r.await(t, "places", func() bool {
		all, err := os.ReadDir(filepath.Join(dir, "g_place"))
		return err == nil && len(all) >= groupSources
	})
	for _, m := range r.members {
		killMember(t, m)
	}
	for path, text := range map[string]string{ // of what is seldom there
		"g_settings/unused@00000000000000000001":             `["nats:before"]`,
		"g_unreadable/0123456789abcdef@00000000000000000001": `{"unit":"nats:before","tried":["x"],"why":"y"}`,
	} {
		err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range entries {
		if e.Name() != "new" && e.Name() != "g_probe" { // what no member reads
			kinds = append(kinds, e.Name())
		}
	}
	for _, kind := range strings.Fields("first-number g_about g_member g_place g_settings g_source g_state g_unit g_unreadable groups objects") {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the store has no %s: %v", kind, kinds)
		}
	}
	whole := recordCase{dir: dir}
	_, before, _ := whole.ask(t, "findings", "--output", "jsonl")
	var cases []*recordCase
	for i, kind := range kinds {
		for j, how := range []string{"overwritten", "emptied", "removed"} {
			if testrun.LeavesOut(i+j, 9) {
				continue
			}
			c := &recordCase{kind: kind, how: how, dir: t.TempDir()}
			if err := os.CopyFS(c.dir, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			c.damage(t)
			c.askDead(t, strings.Count(before, "\n"))
			c.run = newGroupRun(t, nil, func(*testing.T) groupInput { return r.input }, "")
			c.run.state = &groupState{url: func([]string) string { return "file://" + c.dir }}
			c.run.start(t, "d")
			cases = append(cases, c)
		}
	}
	for _, c := range cases {
		c.run.await(t, "member that watches all units: "+c.kind+" "+c.how, func() bool { return c.run.members[0].logged("watches the unit") >= groupSources })
		c.damage(t)
	}
	time.Sleep(groupLease)
	for _, c := range cases {
		code, told := -1, ""
		for deadline := time.Now().Add(groupPatience); time.Now().Before(deadline); time.Sleep(time.Second) {
			if code, _, told = c.ask(t, "group"); code == 0 && told == "" {
				break
			}
			if code > 2 {
				t.Fatalf("%s %s while a member lives: %d: %s", c.kind, c.how, code, told)
			}
		}
		if code != 0 || told != "" {
			t.Errorf("%s %s while a member lives: monitor group exits with %d: %s", c.kind, c.how, code, told)
		}
	}
}

// askDead: no command ends for what is damaged while nobody lives. What cannot be read is named.
func (c *recordCase) askDead(t *testing.T, findings int) {
	t.Helper()
	code, _, told := c.ask(t, "group", "--group-lease", "1s")
	if named := strings.Contains(told, "cannot be read"); code != 2 || named != (c.how == "overwritten" && strings.HasPrefix(c.kind, "g_") && c.kind != "g_state") {
		t.Errorf("%s %s: monitor group exits with %d: %s", c.kind, c.how, code, told)
	}
	code, out, told := c.ask(t, "findings", "--output", "jsonl")
	state := c.kind == "g_state" || c.kind == "objects"
	if n := strings.Count(out, "\n"); code != 0 && (code != 2 || !state) || n != findings && !state {
		t.Errorf("%s %s: monitor findings gives %d of %d, and exits with %d: %s", c.kind, c.how, n, findings, code, told)
	}
}
