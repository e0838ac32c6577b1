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

	"github.com/isowatch/isowatch/internal/config"
)

// TestGroupRate compares a group with one monitor, for make bench-group: how fast they read what a broker holds, with how much CPU,
// and how long an alert takes from the publishing of its anomaly. ISOWATCH_GROUP_RATE is how many transactions a broker holds.
// Without it nothing is measured.
func TestGroupRate(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("ISOWATCH_GROUP_RATE"))
	if err != nil {
		t.Skip("a benchmark: make bench-group")
	}
	t.Run("throughput", func(t *testing.T) { measureThroughput(t, count/groupSources) })
	t.Run("latency", func(t *testing.T) { measureLatency(t) })
}

// soon lets a finding that rests on an absent record leave soon.
var soon = []string{"--max-transaction", "500ms", "--lateness", "500ms"}

// sharedInput gives several runs one broker.
func sharedInput(t *testing.T) groupBroker {
	in := natsGroup(t)
	return func(*testing.T) groupInput { return in }
}

// measureThroughput has a plain monitor, three of them with a subject each, and groups of one and of three take in the same, in turn.
// The three plain ones show what several processes on one machine cost without a group. The last tenth of what the
// broker holds does not count: there the monitors wait for more.
func measureThroughput(t *testing.T, each int) {
	records := joined(pacedMessages(t, each, each/100, 150*time.Microsecond), 10)
	planted := plantedFindings(t, records)
	open := sharedInput(t)
	newGroupRun(t, records, open, "").publish(t.Context(), t, 0)
	forms := []struct{ name, state, members string }{{"one monitor", "", "a"}, {"three monitors", "", "abc"}, {"a group of one, file", "file", "a"}, {"a group of one, nats", "nats", "a"}, {"a group of three, nats", "nats", "abc"}}
	least := map[string]time.Duration{}
	for range 2 {
		for _, form := range forms {
			r := newGroupRun(t, nil, open, form.state)
			r.flags, r.lease = soon, config.DefaultLease
			began := time.Now()
			for i, member := range form.members {
				if form.state == "" && len(form.members) > 1 {
					r.input.text = func(addresses []string) string {
						return strings.Replace(natsSettings(addresses), "g.0, g.1, g.2", fmt.Sprintf("g.%d", i), 1)
					}
				}
				r.start(t, string(member))
			}
			r.await(t, "findings", func() bool { return len(r.texts()) >= planted*9/10 })
			wall, cpu := time.Since(began), time.Duration(0)
			for _, m := range r.members {
				m.signal(t, syscall.SIGKILL)
				m.cmd.Wait() // it was killed
				cpu += m.cmd.ProcessState.UserTime() + m.cmd.ProcessState.SystemTime()
			}
			if least[form.name] == 0 || cpu < least[form.name] {
				least[form.name] = cpu
			}
			n := float64(each*groupSources) * 0.9
			t.Logf("%-24s %8.0f transactions/s, %5.2f us of CPU a transaction", form.name, n/wall.Seconds(), cpu.Seconds()*1e6/n)
		}
	}
	t.Logf("a group of three takes %.2f times the CPU of three monitors", least["a group of three, nats"].Seconds()/least["three monitors"].Seconds())
	for _, form := range forms {
		cpu := least[form.name]
		t.Logf("%-24s %v of CPU at least: %.0f%% of the throughput of one monitor", form.name, cpu.Round(time.Millisecond), 100*least[forms[0].name].Seconds()/cpu.Seconds())
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
	const rate, length = 2_000, 40 // transactions a second, and seconds
	const tail = 5 * time.Second   // what comes in it waits for more, and does not count
	records := pacedMessages(t, rate*length/groupSources, 100, time.Second*groupSources/rate)
	planted := plantedFindings(t, records)
	open := sharedInput(t)
	alone, both := newGroupRun(t, records, open, ""), newGroupRun(t, records, open, "nats")
	alone.flags, both.flags = soon, soon
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
	latest := time.Time{}
	for _, at := range sent {
		if at.After(latest) {
			latest = at
		}
	}
	for key, at := range sent {
		if latest.Sub(at) < tail {
			delete(sent, key)
		}
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
		if began, ok := sent[key]; ok {
			all = append(all, at.Sub(began))
		}
	}
	slices.Sort(all)
	return all
}
