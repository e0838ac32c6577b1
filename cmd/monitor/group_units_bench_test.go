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

// TestGroupUnits measures what an idle unit costs a member, for make bench-group: memory and processor time of members with one
// unit and with ISOWATCH_GROUP_UNITS more. Without it nothing is measured.
func TestGroupUnits(t *testing.T) {
	units, err := strconv.Atoi(os.Getenv("ISOWATCH_GROUP_UNITS"))
	if err != nil {
		t.Skip("a benchmark: make bench-group")
	}
	one, all := watchUnits(t, 1), watchUnits(t, 1+units)
	const calm, length = 75 * time.Second, 60 * time.Second // what nobody waits for is written after a minute
	time.Sleep(calm)
	before, allBefore := one.processorTime(t), all.processorTime(t)
	time.Sleep(length)
	used, allUsed := one.processorTime(t)-before, all.processorTime(t)-allBefore
	n := float64(units)
	t.Logf("an idle unit of %d costs %.2f MB, %.3f%% of a core, %.1f threads of Go code and %.1f file descriptors; a member with one unit %.1f MB and %.2f%%", units,
		float64(all.anonymous(t)-one.anonymous(t))/n/1e6, 100*(allUsed-used).Seconds()/length.Seconds()/n, float64(all.routines(t)-one.routines(t))/n, float64(all.files(t)-one.files(t))/n,
		float64(one.anonymous(t))/1e6, 100*used.Seconds()/length.Seconds())
}

// TestGroupTen runs ten members over 1,000 sources at a low rate, and kills one, for make bench-group: what each member takes, what
// moves, and how long units are without an owner. ISOWATCH_GROUP_TEN is how long it publishes. Without it nothing is measured.
func TestGroupTen(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("ISOWATCH_GROUP_TEN"))
	if err != nil {
		t.Skip("a benchmark: make bench-group")
	}
	const members, units, each, rate = 10, 50, 20, 1_000 // each: sources of a unit; transactions a second
	r := newGroupRun(t, nil, natsGroup, "nats")
	r.flags = []string{"--http", "127.0.0.1:0"}
	var subjects []string
	for i := range units {
		subjects = append(subjects, fmt.Sprintf("g.%d", i))
	}
	r.input.text = func(addresses []string) string {
		return fmt.Sprintf("nats: {urls: [%q], stream: G, subjects: [%s]}", "nats://"+addresses[0], strings.Join(subjects, ", "))
	}
	for i := range members {
		r.start(t, string(rune('a'+i)))
	}
	r.awaitShares(t, members, units)
	sent := 0
	publish := func(d time.Duration) {
		for began := time.Now(); time.Since(began) < d; time.Sleep(20 * time.Millisecond) {
			for range rate / 50 {
				unit, source := sent%units, sent/units%each
				now := time.Now().UnixNano()
				record := fmt.Sprintf(`{"txn":"t%d","source":"u%d-%d","status":"committed","start":%d,"end":%d,"ops":[{"op":"r","key":"k%d","found":false},{"op":"w","key":"k%d","value":%d}]}`,
					sent, unit, source, now-1000, now, sent, sent, sent)
				if err := r.input.publish(t.Context(), unit, []byte(record)); err != nil {
					t.Fatal(err)
				}
				sent++
			}
		}
	}
	publish(length / 2)
	var used []time.Duration
	for _, m := range r.members {
		used = append(used, m.processorTime(t))
	}
	began, before := time.Now(), sent
	publish(length / 2)
	var memory []int64
	cpu := time.Duration(0)
	for i, m := range r.members {
		memory, cpu = append(memory, m.anonymous(t)), cpu+m.processorTime(t)-used[i]
	}
	slices.Sort(memory)
	took, n := time.Since(began), float64(sent-before)
	t.Logf("%d members, %d units, %d sources: %.0f transactions/s; %.0f to %.0f MB a member; %.2f cores together, %.0f us of CPU a transaction",
		members, units, units*each, n/took.Seconds(), float64(memory[0])/1e6, float64(memory[members-1])/1e6, cpu.Seconds()/took.Seconds(), cpu.Seconds()*1e6/n)
	owners := r.owners(t)
	dead := r.members[0]
	began = time.Now()
	dead.signal(t, syscall.SIGKILL)
	dead.cmd.Wait() // it was killed
	r.members = r.members[1:]
	r.awaitShares(t, members-1, units)
	took = time.Since(began)
	moved, others := 0, 0
	for unit, owner := range r.owners(t) {
		if owner != owners[unit] && owners[unit] == dead.name {
			moved++
		} else if owner != owners[unit] {
			others++
		}
	}
	t.Logf("one was killed: its %d units have owners after %.1f s, with a lease of %v; %d other units moved", moved, took.Seconds(), groupLease, others)
}

// owners are by unit.
func (r *groupRun) owners(t *testing.T) map[string]string {
	t.Helper()
	out, _ := r.monitor("group", "--group-lease", groupLease.String(), "--group", "g", "--group-state", r.state.url(r.state.addresses), "--output", "jsonl") // a unit may be without owner
	all := map[string]string{}
	for line := range bytes.Lines(out) {
		var u struct{ Unit, Owner, State string }
		if json.Unmarshal(line, &u) == nil && u.State == "owned" {
			all[u.Unit] = u.Owner
		}
	}
	return all
}

// awaitShares waits until each of so many members has its share.
func (r *groupRun) awaitShares(t *testing.T, members, units int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		shares := map[string]int{}
		owners := r.owners(t)
		for _, owner := range owners {
			shares[owner]++
		}
		most := 0
		for _, n := range shares {
			most = max(most, n)
		}
		if len(owners) == units && len(shares) == members && most <= (units+members-1)/members {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d units have owners, and %v are the shares", len(owners), shares)
		}
	}
}

// watchUnits has a member watch so many units, each with a source of one transaction. Then it leaves them alone.
func watchUnits(t *testing.T, units int) *groupMember {
	t.Helper()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags, r.lease = []string{"--http", "127.0.0.1:0"}, 6*time.Second // as it is without a setting
	var subjects []string
	for i := range units {
		subjects = append(subjects, fmt.Sprintf("g.%d", i))
		record := fmt.Sprintf(`{"txn":"t","source":"s%d","status":"committed","start":1,"end":2,"ops":[{"op":"w","key":"k","value":1}]}`, i)
		if err := r.input.publish(t.Context(), i, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	r.input.text = func(addresses []string) string {
		return fmt.Sprintf("nats: {urls: [%q], stream: G, subjects: [%s]}", "nats://"+addresses[0], strings.Join(subjects, ", "))
	}
	r.start(t, "a")
	m := r.members[0]
	for deadline := time.Now().Add(10 * time.Minute); strings.Count(m.log.String(), `msg="watches the unit"`) < units; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not watch %d units", units)
		}
	}
	return m
}

// routines are the member's threads of Go code, and files its file descriptors.
func (m *groupMember) routines(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(get(t, m.address(t)+"/metrics")) {
		if text, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	return n
}

func (m *groupMember) files(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir(m.proc("fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// anonymous is the resident memory without the pages of files.
func (m *groupMember) anonymous(t *testing.T) int64 {
	t.Helper()
	return m.status(t, "RssAnon")
}

// status is what the system says of the process under this name, in bytes; 0: nothing.
func (m *groupMember) status(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile(m.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			kib, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kib << 10
		}
	}
	return 0
}

func (m *groupMember) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(m.cmd.Process.Pid), name)
}

// processorTime returns what the process has used.
func (m *groupMember) processorTime(t *testing.T) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(m.proc("stat"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // in user code and in the kernel, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
