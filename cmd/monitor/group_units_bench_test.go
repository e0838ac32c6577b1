package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	one := measureUnits(t, 1)
	all := measureUnits(t, 1+units)
	n := float64(units)
	t.Logf("an idle unit of %d costs %.2f MB, %.3f%% of a core, %.1f threads of Go code and %.1f file descriptors", units,
		float64(all.memory-one.memory)/n/1e6, 100*(all.share-one.share)/n, float64(all.routines-one.routines)/n, float64(all.files-one.files)/n)
}

// unitCost is what a process takes.
type unitCost struct {
	memory          int64   // resident, without the pages of files
	share           float64 // of a core
	routines, files int
}

// measureUnits has a member watch so many units, each with a source of one transaction, and leaves them alone.
func measureUnits(t *testing.T, units int) (c unitCost) {
	t.Helper()
	r := newGroupRun(t, nil, natsGroup, "file")
	r.flags = []string{"--http", "127.0.0.1:0"}
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
	const calm, length = 75 * time.Second, 60 * time.Second // what nobody waits for is written after a minute
	time.Sleep(calm)
	before := m.processorTime(t)
	time.Sleep(length)
	c.share = (m.processorTime(t) - before).Seconds() / length.Seconds()
	for line := range strings.Lines(get(t, m.address(t)+"/metrics")) {
		if text, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			c.routines, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	files, err := os.ReadDir(m.proc("fd"))
	if err != nil {
		t.Fatal(err)
	}
	c.files = len(files)
	status, err := os.ReadFile(m.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kib, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			c.memory = kib << 10
		}
	}
	return c
}

func (m *groupMember) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(m.cmd.Process.Pid), name)
}

// processorTime is what the process has used.
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
