package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGroupRate compares a group with one monitor, for make bench-group: how fast they read what a broker holds, with how much CPU,
// and how long an alert takes from the publishing of its anomaly. ISOWATCH_GROUP_RATE is how many transactions a broker holds.
// Without it nothing is measured.
func TestGroupRate(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("ISOWATCH_GROUP_RATE"))
	if err != nil {
		t.Skip("run make bench-group")
	}
	t.Run("throughput", func(t *testing.T) { measureThroughput(t, count/groupSources) })
	t.Run("latency", func(t *testing.T) { measureLatency(t) })
}

// sharedInput gives several runs one broker.
func sharedInput(t *testing.T) groupBroker {
	in := natsGroup(t)
	return func(*testing.T) groupInput { return in }
}

// measureThroughput has a plain monitor and groups of one and of three take in the same, in turn.
func measureThroughput(t *testing.T, each int) {
	records := joined(plantedMessages(t, each, each/20), 10)
	planted := plantedFindings(t, records)
	open := sharedInput(t)
	fill := newGroupRun(t, records, open, "")
	fill.publish(t, 0)
	least := map[string]time.Duration{}
	for range 3 {
		for _, form := range []struct{ name, state, members string }{{"one monitor", "", "a"}, {"a group of one, file", "file", "a"}, {"a group of one, nats", "nats", "a"}, {"a group of three, nats", "nats", "abc"}} {
			r := newGroupRun(t, nil, open, form.state)
			for _, member := range form.members {
				r.start(t, string(member))
			}
			began := time.Now()
			r.await(t, "all findings", func() bool { return len(r.texts()) >= planted })
			r.mu.Lock()
			wall, cpu := r.last.Sub(began), time.Duration(0)
			r.mu.Unlock()
			for _, m := range r.members {
				m.signal(t, syscall.SIGKILL)
				m.cmd.Wait() // it was killed
				cpu += m.cmd.ProcessState.UserTime() + m.cmd.ProcessState.SystemTime()
			}
			if least[form.name] == 0 || cpu < least[form.name] {
				least[form.name] = cpu
			}
			n := float64(each * groupSources)
			t.Logf("%-24s %8.0f transactions/s, %5.2f us of CPU a transaction", form.name, n/wall.Seconds(), cpu.Seconds()*1e6/n)
		}
	}
	for name, cpu := range least {
		t.Logf("%-24s least CPU %v: with it, %.0f%% of the throughput of one monitor", name, cpu, 100*least["one monitor"].Seconds()/cpu.Seconds())
	}
}

// plantedFindings is how many findings there must be of all units.
func plantedFindings(t *testing.T, records [][]byte) int {
	history := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return groupSources * len(checkedIDs(t, history))
}

// measureLatency has a plain monitor and a group watch one stream at the same time.
func measureLatency(t *testing.T) {
	const rate, length = 2_000, 60 // transactions a second, and seconds
	records := plantedMessages(t, rate*length/groupSources, 100)
	planted := plantedFindings(t, records)
	open := sharedInput(t)
	alone, both := newGroupRun(t, records, open, ""), newGroupRun(t, records, open, "nats")
	alone.start(t, "alone")
	for _, member := range []string{"a", "b", "c"} {
		both.start(t, member)
	}
	time.Sleep(3 * groupLease)
	sent := map[string]time.Time{} // by source and planted group
	began := time.Now()
	for n, m := range records {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second * 10 * groupSources / rate)))
		for i := range groupSources {
			if err := alone.input.publish(t.Context(), i, placed(m, i)); err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(m) {
				var x struct{ Txn string }
				if err := json.Unmarshal(line, &x); err != nil {
					t.Fatal(err)
				}
				if prefix := plantedPrefix([]string{x.Txn}); prefix != "" {
					sent[fmt.Sprint("s", i, " ", prefix)] = time.Now()
				}
			}
		}
	}
	for _, r := range []*groupRun{alone, both} {
		r.await(t, "all findings", func() bool { return len(r.texts()) >= planted })
	}
	one, three := alone.delays(t, sent), both.delays(t, sent)
	at := func(all []time.Duration, share float64) time.Duration {
		return all[int(float64(len(all)-1)*share)].Round(time.Millisecond)
	}
	t.Logf("from publish to alert, %d transactions/s, %d anomalies: one monitor p50 %v, p99 %v; a group of three p50 %v, p99 %v",
		rate, len(one), at(one, 0.5), at(one, 0.99), at(three, 0.5), at(three, 0.99))
}

// delays are the times from publish to the first post of each anomaly, sorted.
func (r *groupRun) delays(t *testing.T, sent map[string]time.Time) (all []time.Duration) {
	texts := r.texts()
	r.mu.Lock()
	defer r.mu.Unlock()
	first := map[string]time.Time{}
	for id, text := range texts {
		var f struct {
			Source string
			Txns   []string
		}
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		key := f.Source + " " + plantedPrefix(f.Txns)
		if at := r.at[id]; first[key].IsZero() || at.Before(first[key]) {
			first[key] = at
		}
	}
	for key, at := range first {
		if sent[key].IsZero() {
			t.Errorf("%s was not planted", strings.TrimSpace(key))
		}
		all = append(all, at.Sub(sent[key]))
	}
	slices.Sort(all)
	return all
}
