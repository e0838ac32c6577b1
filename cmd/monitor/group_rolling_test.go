package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	rollingRate    = 20_000 // transactions a second, of all units
	rollingLength  = 30 * time.Second
	rollingMessage = 100 // transactions of a message
)

// TestGroupRolling restarts three members one after the other while 20,000 transactions a second come in, with ISOWATCH_GROUPS.
// Every planted anomaly is stored once, nothing else is, and the same goes for what is delivered.
func TestGroupRolling(t *testing.T) {
	if os.Getenv("ISOWATCH_GROUPS") == "" {
		t.Skip("takes a minute: ISOWATCH_GROUPS=1, as in the stage group of .ci/run")
	}
	t.Parallel()
	records := plantedMessages(t, rollingRate*int(rollingLength/time.Second)/groupSources, 5_000)
	history := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := groupSources * len(checkedIDs(t, history))
	r := newGroupRun(t, joined(records, rollingMessage/10), natsGroup, "nats")
	for _, member := range []string{"a", "b", "c"} {
		r.start(t, member)
	}
	done := make(chan time.Duration)
	go func() { done <- r.publishEvery(t, time.Second*rollingMessage*groupSources/rollingRate) }()
	for _, m := range r.members {
		time.Sleep(3 * time.Second)
		m.signal(t, syscall.SIGTERM)
		if err := m.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		m.start(t)
	}
	took := <-done
	t.Logf("%d transactions in %v: %.0f a second", groupSources*len(records)*10, took, float64(groupSources*len(records)*10)/took.Seconds())
	r.await(t, "all findings", func() bool { return len(r.texts()) >= planted })
	r.settle(t, r.texts())
	want := r.texts()
	for id, text := range want {
		var f struct{ Txns []string }
		if err := json.Unmarshal([]byte(text), &f); err != nil || plantedPrefix(f.Txns) == "" {
			t.Errorf("%s is not one of the planted: %s", id, text)
		}
	}
	if len(want) != planted || planted < 30*groupSources {
		t.Errorf("%d findings, want %d", len(want), planted)
	}
	r.checkPosts(t, false)
	r.checkView(t, want, true)
}

// joined joins so many messages at a time to one.
func joined(messages [][]byte, n int) (all [][]byte) {
	for ; len(messages) > 0; messages = messages[min(n, len(messages)):] {
		all = append(all, bytes.Join(messages[:min(n, len(messages))], nil))
	}
	return all
}

// publishEvery sends a message to each unit in each interval. It says how long that took.
func (r *groupRun) publishEvery(t *testing.T, interval time.Duration) time.Duration {
	began := time.Now()
	for n, m := range r.records {
		time.Sleep(time.Until(began.Add(time.Duration(n) * interval)))
		for i := range groupSources {
			if err := r.input.publish(t.Context(), i, placed(m, i)); err != nil {
				t.Error(err)
				return time.Since(began)
			}
		}
	}
	return time.Since(began)
}
