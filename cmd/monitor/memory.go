package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
)

const (
	// memoryOfCgroup is the default as percent of a cgroup's limit. The rest is for the page cache of
	// the data folder, and for other processes of the container.
	memoryOfCgroup = 70
	// memoryUnknown is the default where not even the machine's memory is known.
	memoryUnknown = 2 * config.GiB
	// gcPercent lets garbage be a quarter of what lives. Tables without pointers are marked for
	// nothing, so that collections are cheap: at 250,000 transactions a second 50 takes as much time.
	gcPercent = 25
)

// memoryOf is the bound of the process's memory, and its origin. asked is --memory; 0: auto.
func memoryOf(asked config.Size, root string, lookup func(string) (string, bool)) (config.Size, string, error) {
	if asked > 0 {
		return asked, "memory", config.CheckMemory(asked)
	}
	chosen, from := config.Size(0), ""
	least := func(s config.Size, name string) {
		if s > 0 && (chosen == 0 || s < chosen) {
			chosen, from = s, name
		}
	}
	machine := machineMemory(root)
	if limit := cgroupLimit(root); limit > 0 && (machine == 0 || limit < machine) {
		least(limit/100*memoryOfCgroup, fmt.Sprintf("%d%% of the cgroup's limit", memoryOfCgroup))
	}
	if _, set := lookup("GOMEMLIMIT"); set {
		if limit := debug.SetMemoryLimit(-1); limit > 0 && limit < math.MaxInt64 {
			least(config.Size(limit), "GOMEMLIMIT")
		}
	}
	if chosen == 0 {
		least(machine/2, "half the machine")
		least(memoryUnknown*config.Size(1-min(machine, 1)), "the machine's memory is not known")
	}
	if err := config.CheckMemory(chosen); err != nil {
		return 0, "", fmt.Errorf("%w (%s; --memory sets another)", err, from)
	}
	return chosen, from, nil
}

// cgroupLimit is the lowest memory limit of the cgroups that the process is in, 0 without one. Files are those
// below root.
func cgroupLimit(root string) config.Size {
	mine, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // no such file: no cgroup
	limit := config.Size(0)
	look := func(file string) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is none
		if err == nil && n > 0 && n < 1<<60 && (limit == 0 || config.Size(n) < limit) {
			limit = config.Size(n)
		}
	}
	for line := range strings.Lines(string(mine)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// A container may see its own cgroup as the root, whatever the path.
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			look(filepath.Join(folder, at, file))
			if at == "/" {
				break
			}
		}
	}
	return limit
}

// machineMemory is the memory of the machine, 0 if it is not known.
func machineMemory(root string) config.Size {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return config.Size(kib) * config.KiB
		}
	}
	return 0
}

// limitRuntime keeps the Go runtime within its share of the memory. It may be called again. Reserved bytes of the heap count
// as memory to the runtime, and no page of the machine is behind them.
func limitRuntime(bytes, reserved int64, lookup func(string) (string, bool)) {
	debug.SetMemoryLimit(bytes + reserved)
	if _, set := lookup("GOGC"); !set {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(percentOf(int64(live[0].Value.Uint64()), reserved))
	}
}

// percentOf lets garbage be a quarter of what lives and is not reserved, or leastGarbage.
func percentOf(live, reserved int64) int {
	const leastGarbage = 8 << 20
	if live <= 0 || reserved <= 0 {
		return gcPercent
	}
	garbage := max((live-reserved)*gcPercent/100, leastGarbage)
	return int(min(max(garbage*100/live, 1), gcPercent))
}
