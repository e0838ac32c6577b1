package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// TestGroupRefusesStore: a store that takes stale writes is refused at the start, with one line that says what to do.
func TestGroupRefusesStore(t *testing.T) {
	t.Parallel()
	for _, ignored := range []string{"If-Match", "If-None-Match"} {
		backend := s3mem.New()
		if err := backend.CreateBucket("bucket"); err != nil {
			t.Fatal(err)
		}
		whole := gofakes3.New(backend).Server()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			q.Header.Del(ignored)
			whole.ServeHTTP(w, q)
		}))
		t.Cleanup(server.Close)
		cmd := exec.Command("monitor", "run", "--group", "g", "--group-state", "s3://bucket/g", "--nats", "nats://127.0.0.1:1", "--stream", "S", "--http", "off")
		cmd.Dir = t.TempDir()
		cmd.Env = s3Environ(strings.TrimPrefix(server.URL, "http://"))
		out, _ := cmd.CombinedOutput() // its exit code tells
		if code := cmd.ProcessState.ExitCode(); code != 254 || !strings.Contains(string(out), "the store is not fit for a group") || !strings.Contains(string(out), "Name another store with --group-state") {
			t.Errorf("%s is ignored: exit code %d: %s", ignored, code, out)
		}
	}
}

// TestGroupOddMember: a member with other levels, windows or inputs takes no unit, and its metric says so. It takes them once nobody with
// other settings lives.
func TestGroupOddMember(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0"}
	r.start(t, "a")
	a := r.members[0]
	r.await(t, "a with all units", func() bool { return a.logged("watches the unit") == groupSources })
	odd := []struct {
		name  string
		flags []string
	}{{"level", []string{"--levels", "snapshot-isolation"}}, {"window", []string{"--window", "7m"}}, {"input", nil}}
	var addresses []string // these members do not say it before they join
	for _, x := range odd {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		addresses = append(addresses, l.Addr().String())
		r.flags = append([]string{"--http", l.Addr().String()}, x.flags...)
		if x.name == "input" {
			r.input.text = func(addresses []string) string {
				return strings.Replace(natsSettings(addresses), "g.2", "g.3", 1)
			}
		}
		r.start(t, x.name)
	}
	for i, m := range r.members[1:] {
		r.await(t, "a member that says so: "+m.name, func() bool { return m.logged("takes no unit") > 0 })
		r.await(t, "the metric of "+m.name, func() bool { return metric(t, "http://"+addresses[i], "isowatch_group_other_settings") == 1 })
	}
	out, err := r.monitor("group", "--group-state", r.state.url(nil), "--group-lease", groupLease.String())
	for _, x := range odd {
		if said := fmt.Sprintf("member %s  takes no unit", x.name); err != nil || !strings.Contains(string(out), said) {
			t.Errorf("monitor group (%v) does not say %q:\n%s", err, said, out)
		}
	}
	if n := metric(t, a.address(t), "isowatch_group_other_settings"); n != 0 {
		t.Errorf("the metric of a is %v", n)
	}
	a.signal(t, syscall.SIGTERM)
	if err := a.cmd.Wait(); err != nil {
		t.Error(err)
	}
	r.await(t, "one that takes the units", func() bool {
		n := 0
		for _, m := range r.members[1:] {
			if m.logged("watches the unit") > 0 {
				n++
			}
		}
		return n == 1
	})
}

// TestGroupInputIsRemoved: members that start again without an input leave its unit alone, and its findings stay. Once they have the input
// again, the unit goes on from its state.
func TestGroupInputIsRemoved(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0"}
	records := plantedMessages(t, 3_000, 1_000)
	planted := plantedFindings(t, records)
	r.start(t, "a")
	m := r.members[0]
	r.records = records
	r.publish(t.Context(), t, time.Second)
	r.await(t, "findings of each unit", func() bool { return len(r.texts()) >= planted })
	file := filepath.Join(m.dir, "isowatch.yaml")
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	restart := func(settings []byte, starts int) {
		t.Helper()
		m.signal(t, syscall.SIGTERM)
		if err := m.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, settings, 0o600); err != nil {
			t.Fatal(err)
		}
		m.start(t)
		m.awaitReady(t, starts)
	}
	restart(bytes.Replace(all, []byte(", g.2"), nil, 1), 2)
	time.Sleep(3 * groupLease) // so long an owner may take to begin a unit
	m.awaitReady(t, 2)
	if terms := r.terms(t, groupSources-1); terms["nats:G:g.2"] != 0 {
		t.Errorf("the unit that is none is shown: %v", terms)
	}
	for line := range strings.Lines(m.log.String()) { // a slow member says so of units that it has
		if strings.Contains(line, "unit=nats:G:g.2") && (strings.Contains(line, "cannot be watched") || strings.Contains(line, "does not watch it")) {
			t.Errorf("a unit of settings before is tried: %s", line)
		}
	}
	if n := strings.Count(r.listFindings(t), "\n"); n != planted {
		t.Errorf("%d findings are listed, want %d", n, planted)
	}
	restart(all, 3)
	r.await(t, "unit that is watched again", func() bool { return strings.Count(m.log.String(), `msg="watches the unit" unit=nats:G:g.2`) == 2 })
	if terms := r.terms(t, groupSources); terms["nats:G:g.2"] != 2 {
		t.Errorf("the terms are %v, want 2 for the unit that was left alone", terms)
	}
	if n := r.gaps(""); n != 0 {
		t.Errorf("%d gaps, and no state was lost", n)
	}
}

func (r *groupRun) listFindings(t *testing.T) string {
	t.Helper()
	out, err := r.monitor("findings", "--group-state", r.state.url(r.state.addresses), "--output", "jsonl")
	if err != nil {
		t.Errorf("monitor findings: %v", err)
	}
	return string(out)
}

// TestGroupTellsItsLease: without the lease of a group, monitor group takes that which its members tell. A shorter one would take them for dead.
func TestGroupTellsItsLease(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.lease = 20 * time.Second
	r.start(t, "a")
	r.await(t, "a member that watches all units", func() bool { return r.members[0].logged("watches the unit") == groupSources })
	out, err := r.monitor("group", "--group-state", r.state.url(nil))
	if err != nil || strings.Count(string(out), "  owned  ") != groupSources {
		t.Errorf("monitor group (%v) says:\n%s", err, out)
	}
}

// TestGroupOtherSettingsMeanwhile: a member stands still, and another one begins with another window. When the first goes on, it takes no unit,
// says why, and ends.
func TestGroupOtherSettingsMeanwhile(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.start(t, "a")
	a := r.members[0]
	r.await(t, "a with all units", func() bool { return a.logged("watches the unit") == groupSources })
	a.signal(t, syscall.SIGSTOP)
	r.flags = []string{"--window", "7m"}
	r.start(t, "b")
	b := r.members[1]
	r.await(t, "b with all units", func() bool { return b.logged("watches the unit") == groupSources })
	a.signal(t, syscall.SIGCONT)
	r.await(t, "a that says so", func() bool { return a.logged("members with other settings have begun while this one was away") > 0 })
	if a.cmd.Wait(); a.cmd.ProcessState.ExitCode() != 254 {
		t.Errorf("a ends with %v", a.cmd.ProcessState)
	}
	if n := a.logged("watches the unit"); n != groupSources {
		t.Errorf("a watches %d units with its settings", n-groupSources)
	}
}

// TestGroupBeginsWithTwoSettings: of two members that begin a group at once with different windows, one takes units.
func TestGroupBeginsWithTwoSettings(t *testing.T) {
	t.Parallel()
	for range 3 {
		r := newGroupRun(t, nil, natsGroup, "file")
		r.start(t, "a")
		r.flags = []string{"--window", "7m"}
		r.start(t, "b")
		r.await(t, "an owner of all units, and an odd member", func() bool {
			a, b := r.members[0], r.members[1]
			return a.logged("watches the unit")+b.logged("watches the unit") >= groupSources && a.logged("takes no unit")+b.logged("takes no unit") > 0
		})
		time.Sleep(groupLease)
		for _, m := range r.members {
			if m.logged("takes no unit") > 0 && m.logged("watches the unit") > 0 {
				t.Errorf("%s is odd, and watches units", m.name)
			}
			if m.logged("takes no unit") == 0 && m.logged("watches the unit") != groupSources {
				t.Errorf("%s watches %d units beside the other one", m.name, m.logged("watches the unit"))
			}
		}
	}
}
