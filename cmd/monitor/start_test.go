package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var initLine = regexp.MustCompile(`^init github\.com/isowatch/isowatch/(\S+) .* (\d+) allocs$`)

// TestStartIsLight: each command initializes all packages, so what only some commands need is made when they ask
// for it. A page's templates take thousands of allocations.
func TestStartIsLight(t *testing.T) {
	t.Parallel()
	c := exec.Command("monitor", "version")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		m := initLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		seen++
		if n, err := strconv.Atoi(m[2]); err != nil || n > 2_000 {
			t.Errorf("%s makes %d allocations at each start, want at most 2,000", m[1], n)
		}
	}
	if seen < 5 {
		t.Errorf("%d packages are seen:\n%s", seen, out)
	}
}
