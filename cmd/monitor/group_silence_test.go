package main

import (
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
