package main

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestGroupHearsNothing: a member that does not hear its store keeps its lease, since its renewals arrive. It says that it delivers
// nothing, and when that is over.
func TestGroupHearsNothing(t *testing.T) {
	t.Parallel()
	r := newGroupRun(t, nil, natsGroup, "nats")
	r.flags = []string{"--http", "127.0.0.1:0"}
	r.start(t, "a")
	m := r.members[0]
	says := func(what string) {
		t.Helper()
		for deadline := time.Now().Add(groupPatience); !strings.Contains(m.log.String(), what); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the log does not say: %s", what)
			}
		}
	}
	says("watches the unit")
	m.toState.cut(false, true)
	says("the group's store does not answer")
	if text := get(t, m.address(t)+"/metrics"); !strings.Contains(text, "isowatch_group_lease_up 0\n") {
		t.Error("the metric does not say so")
	}
	m.toState.cut(false, false)
	says("this member has its lease again")
	r.await(t, "the metric", func() bool { return strings.Contains(get(t, m.address(t)+"/metrics"), "isowatch_group_lease_up 1\n") })
}

// TestGroupHoldsFindings: while the state cannot be written, watching goes on, and no finding leaves. A metric counts those that wait. They leave
// when the store is back, each once.
func TestGroupHoldsFindings(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, 3_000, 500)
	planted := plantedFindings(t, records)
	r := newGroupRun(t, records, natsGroup, "nats")
	r.flags = []string{"--http", "127.0.0.1:0"}
	r.start(t, "a")
	m := r.members[0]
	r.await(t, "a member that watches all units", func() bool { return m.logged("watches the unit") >= groupSources })
	m.toState.cut(true, true)
	r.publish(t.Context(), t, time.Second)
	held := func() float64 { return metric(t, m.address(t), "isowatch_group_held_findings") }
	r.await(t, "findings that wait", func() bool { return held() >= float64(planted) })
	if n := len(r.texts()); n > 0 {
		t.Errorf("%d findings have left, and the state does not have them", n)
	}
	m.toState.cut(false, false)
	r.await(t, "all findings", func() bool { return len(r.texts()) >= planted && held() == 0 })
	r.checkPosts(t, false)
}

// metric is the sum of a member's series that begin with this text; -1: there is none.
func metric(t *testing.T, address, series string) float64 {
	t.Helper()
	sum, found := 0.0, false
	for line := range strings.Lines(get(t, address+"/metrics")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, series) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum, found = sum+n, true
	}
	if !found {
		return -1
	}
	return sum
}
