package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

func TestMemoryOf(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const gib = int64(config.GiB)
	meminfo := "MemTotal:       8388608 kB\nMemFree: 1 kB\n" // 8 GiB
	for _, c := range []struct {
		name  string
		asked config.Size
		files map[string]string
		limit int64 // GOMEMLIMIT; 0: not set
		want  config.Size
		from  string // or the error's text
	}{
		{"asked for", 512 * config.MiB, nil, 0, 512 * config.MiB, "memory"},
		{"too little", 64 * config.MiB, nil, 0, 0, "at least 128MiB"},
		{"half the machine", 0, map[string]string{"proc/meminfo": meminfo}, 0, 4 * config.GiB, "half the machine"},
		{"version 2", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000000000\n"}, 0, 700_000_000, "70% of the cgroup's limit"},
		{"version 2 in a container", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/memory.max": "1000000000\n"}, 0, 700_000_000, "70% of the cgroup's limit"},
		{"version 1", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "12:pids:/x\n7:cpu,memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000000000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 700_000_000, "70% of the cgroup's limit"},
		{"no limit", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "7:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 4 * config.GiB, "half the machine"},
		{"a limit above the machine", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999\n"}, 0, 4 * config.GiB, "half the machine"},
		{"a lower GOMEMLIMIT", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000000\n"}, gib, config.GiB, "GOMEMLIMIT"},
		{"a higher GOMEMLIMIT", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000\n"}, gib, 700_000_000, "70% of the cgroup's limit"},
		{"a small cgroup", 0, map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100000000\n"}, 0, 0, "at least 128MiB"},
		{"nothing is known", 0, nil, 0, 2 * config.GiB, "the machine's memory is not known"},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		debug.SetMemoryLimit(math.MaxInt64)
		if c.limit > 0 {
			debug.SetMemoryLimit(c.limit)
		}
		got, from, err := memoryOf(c.asked, root, func(string) (string, bool) { return "", c.limit > 0 })
		if err != nil {
			from = err.Error()
		}
		if err == nil && got != c.want || (err == nil) != (c.want > 0) || !strings.Contains(from, c.from) {
			t.Errorf("%s: %v from %q, want %v from %q", c.name, got, from, c.want, c.from)
		}
	}
}

// Garbage is a quarter of what lives, without tables that nothing was written to.
func TestPercentOf(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, reserved int64
		want           int
	}{
		{0, 0, gcPercent}, {1000 * mib, 0, gcPercent}, {1000 * mib, 800 * mib, 5}, {1000 * mib, 999 * mib, 1},
		{40_000 * mib, 39_000 * mib, 1}, {100 * mib, 90 * mib, 8}, {10 * mib, 9 * mib, gcPercent}, {10 * mib, 20 * mib, gcPercent},
	} {
		if got := percentOf(c.live, c.reserved); got != c.want {
			t.Errorf("%d%% of %d MiB with %d MiB reserved, want %d%%", got, c.live/mib, c.reserved/mib, c.want)
		}
	}
}
