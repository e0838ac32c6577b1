// Package testrun is how tests are run. It says how many random cases a test looks at, and it gives tests
// folders in memory. A test that opens thousands of stores waits for the disk nine seconds of ten, and
// what it looks at does not depend on one.
package testrun

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/internal/volume"
)

// Setting is the environment variable that says how many random cases each test looks at: a number, or
// [InFull]. Empty means one in shortForm of those that the test was written for, and at least shortest.
const (
	Setting   = "ISOWATCH_SIM"
	InFull    = "long"
	shortForm = 32
	shortest  = 5
)

// Short says whether a test looks at few of its cases.
func Short() bool { return os.Getenv(Setting) == "" }

// Count is how many random cases a test looks at, which was written for few of them and takes no other
// number.
func Count(few int) int {
	if Short() {
		return max(few/shortForm, min(few, shortest))
	}
	return few
}

// LeavesOut says whether a test leaves out the i-th of its cases, which stand in a list: the short form looks at
// one in n.
func LeavesOut(i, n int) bool { return Short() && i%n != 0 }

// Size is short in the short form, and long else.
func Size(short, long int) int {
	if Short() {
		return short
	}
	return long
}

// Least is how many cases of a kind a test must see among the random ones, which was written to see n: in
// the short form half of its share.
func Least(n int) int {
	if Short() {
		return max(n/shortForm/2, 1)
	}
	return n
}

// Waiting lets n tests at once run side by side, of a package whose tests wait most of their time. Without it
// there are as many as processors. -parallel on the command line goes before it.
func Waiting(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

const (
	memory = "/dev/shm"
	prefix = "isowatch-test-"
	needed = 2 << 30 // bytes: all stores of a package together take less
)

// Run runs the tests of a package, with m.Run, while their temporary folders are in memory. Where TMPDIR
// is set, or memory has no file system with enough room, they are where they are without it.
func Run(run func() int) int {
	if os.Getenv("TMPDIR") != "" {
		return run()
	}
	free, err := volume.Free(memory)
	if err != nil || free < needed {
		return run()
	}
	leftOver()
	dir := filepath.Join(memory, prefix+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o711); err != nil { // a server of a test may run as another user
		return run()
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return run()
}

// leftOver removes the folders of processes that were killed.
func leftOver() {
	dirs, _ := filepath.Glob(filepath.Join(memory, prefix+"*"))
	for _, dir := range dirs {
		pid := strings.TrimPrefix(filepath.Base(dir), prefix)
		if _, err := os.Stat(filepath.Join("/proc", pid)); os.IsNotExist(err) {
			os.RemoveAll(dir)
		}
	}
}
