package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGroupRollingUpdate ends three members one after another and starts each again, as a StatefulSet does: the next one ends when the
// one before it is ready. No unit has more than two owners more.
func TestGroupRollingUpdate(t *testing.T) {
	t.Parallel()
	const units = 10 // it leaves a rest with three members
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0"}
	var subjects []string
	for i := range units {
		subjects = append(subjects, fmt.Sprintf("g.%d", i))
	}
	r.input.text = func(addresses []string) string {
		return fmt.Sprintf("nats: {urls: [%q], stream: G, subjects: [%s]}", "nats://"+addresses[0], strings.Join(subjects, ", "))
	}
	for i, name := range []string{"a", "b", "c"} {
		r.start(t, name)
		r.members[i].awaitReady(t, 1)
	}
	before := r.terms(t, units)
	for _, i := range []int{2, 1, 0} {
		groupDisturbances["ended"](t, r, nil, i)
		r.members[i].awaitReady(t, 2)
	}
	most := 0
	for unit, term := range r.terms(t, units) {
		n := term - before[unit]
		if most = max(most, n); n > 2 {
			t.Errorf("%s moved %d times", unit, n)
		}
	}
	if most == 0 {
		t.Error("nothing moved")
	}
	r.checkMetrics(t, units)
	for _, m := range r.members {
		m.signal(t, syscall.SIGTERM)
		if err := m.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// checkMetrics compares the metrics of the members with what the store of the group shows.
func (r *groupRun) checkMetrics(t *testing.T, units int) {
	t.Helper()
	addresses := map[string]string{}
	owned, gained, handed := 0.0, 0.0, 0.0
	for _, m := range r.members {
		at := m.latestAddress(t)
		addresses[m.name] = at
		n, shown := metric(t, at, `isowatch_group_units{state="owned"}`), metric(t, at, `isowatch_group_moves_total{reason="gained"}`)
		owned, gained, handed = owned+n, gained+shown, handed+metric(t, at, `isowatch_group_moves_total{reason="handed"}`)
		if shown < n {
			t.Errorf("%s has %v units, and %v came to it", m.name, n, shown)
		}
		for _, none := range []string{`isowatch_group_units{state="moving"}`, `isowatch_group_units{state="free"}`, `isowatch_group_moves_total{reason="lost"}`, "isowatch_group_held_findings", "isowatch_group_split_sources", "isowatch_group_unwatched_seconds"} {
			if n := metric(t, at, none); n != 0 {
				t.Errorf("%s of %s is %v", none, m.name, n)
			}
		}
	}
	if owned != float64(units) || handed == 0 {
		t.Errorf("the members have %v units, and handed %v over", owned, handed)
	}
	owners := r.owners(t)
	for unit, term := range r.terms(t, units) {
		if got := metric(t, addresses[owners[unit]], fmt.Sprintf(`isowatch_group_term{unit=%q}`, unit)); got != float64(term) {
			t.Errorf("the term of %s is %v at %s, and %d in the store", unit, got, owners[unit], term)
		}
	}
}

// latestAddress is where the latest process of the member has its pages.
func (m *groupMember) latestAddress(t *testing.T) string {
	t.Helper()
	found := saidAddress.FindAllStringSubmatch(m.log.String(), -1)
	if found == nil {
		t.Fatalf("%s has no pages", m.name)
	}
	return "http://" + found[len(found)-1][1]
}

var saidAddress = regexp.MustCompile(`listening http=(?:http://)?(\S+)`)

// awaitReady waits until the member is ready that has started so many times.
func (m *groupMember) awaitReady(t *testing.T, starts int) {
	t.Helper()
	for deadline := time.Now().Add(2 * groupPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		found := saidAddress.FindAllStringSubmatch(m.log.String(), -1)
		if len(found) < starts {
			continue
		}
		answer, err := http.Get("http://" + found[starts-1][1] + "/-/ready")
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("%s does not become ready", m.name)
}

// terms are those of the units, once each of so many has an owner.
func (r *groupRun) terms(t *testing.T, units int) map[string]int {
	t.Helper()
	out, err := r.monitor("group", "--group-lease", groupLease.String(), "--group", "g", "--group-state", r.state.url(r.state.addresses), "--output", "jsonl")
	if err != nil {
		t.Fatalf("monitor group: %v\n%s", err, out)
	}
	all := map[string]int{}
	for line := range bytes.Lines(out) {
		var u struct {
			Unit string
			Term int
		}
		if err := json.Unmarshal(line, &u); err != nil {
			t.Fatal(err)
		}
		all[u.Unit] = u.Term
	}
	if len(all) != units {
		t.Fatalf("%d units, want %d:\n%s", len(all), units, out)
	}
	return all
}
