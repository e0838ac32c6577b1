package simtest

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/internal/testrun"
)

// tally counts random histories by the test that looked at them.
type tally struct {
	mu sync.Mutex
	by map[string]int
}

func (c *tally) add(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[t.Name()]++
}

// text names the tests in order, and the sum.
func (c *tally) text(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	sum := 0
	names := make([]string, 0, len(c.by))
	for name := range c.by {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%9d %s\n", c.by[name], name)
		sum += c.by[name]
	}
	fmt.Fprintf(&b, "%9d histories %s\n", sum, what)
	return b.String()
}

// withOracle are the histories that agree with internal/oracle, withTwin those that
// agree with what another machine makes of them.
var withOracle, withTwin tally

// TestMain prints how many histories agree, where ISOWATCH_SIM is set. The first that does not ends
// its test. Nobody reads a profile of the heap, whose upkeep takes a 20th of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	testrun.CollectRarely()
	if f := flag.Lookup("test.memprofile"); f == nil || f.Value.String() == "" {
		runtime.MemProfileRate = 0
	}
	code := testrun.Run(m.Run)
	if os.Getenv(testrun.Setting) != "" {
		fmt.Print(withOracle.text("that agree with the oracle"))
		fmt.Print(withTwin.text("that agree with another machine"))
	}
	os.Exit(code)
}

// histories is how many random histories a test looks at, which was written for few of them.
func histories(t *testing.T, few int) int {
	t.Helper()
	if s := os.Getenv(testrun.Setting); s == "" || s == testrun.InFull {
		return testrun.Count(few)
	}
	return number(t, testrun.Setting, few)
}

// enough says whether a test looks at as many random histories as it was written for, or more. What
// few of them show, or what share, is asked for only then.
func enough(t *testing.T, few int) bool { return histories(t, few) >= few }

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q, want a number", name, s)
	}
	return n
}

// seeds are those of the histories that a test compares with the oracle, as many as
// [histories] says, from ISOWATCH_SIM_FROM on, or from 0.
func seeds(t *testing.T, few int) iter.Seq[int] { return counted(t, few, &withOracle) }

// twinSeeds are those of the histories that a test compares with what another machine
// makes of them.
func twinSeeds(t *testing.T, few int) iter.Seq[int] { return counted(t, few, &withTwin) }

func counted(t *testing.T, few int, c *tally) iter.Seq[int] {
	n, from := histories(t, few), number(t, "ISOWATCH_SIM_FROM", 0)
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(from + i) {
				return
			}
			c.add(t) // not reached where the test has failed
		}
	}
}
