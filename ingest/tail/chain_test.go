package tail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isowatch/isowatch/ingest"
)

// chain does what a rotation by renames does, step by step, to app.log and the rotated
// files that there are, keep of which are kept: the oldest is renamed first. The new
// file holds text.
func (f *folder) chain(rotated, keep int, text string) (steps []func() error) {
	name := func(n int) string {
		if n == 0 {
			return f.path("app.log")
		}
		return f.path(fmt.Sprintf("app.log.%d", n))
	}
	for n := min(rotated, keep-1); n >= 0; n-- {
		steps = append(steps, func() error { return os.Rename(name(n), name(n+1)) })
	}
	return append(steps, func() error { // a file appears with its text at once
		return errors.Join(os.WriteFile(f.path("new"), []byte(text), 0o600), os.Rename(f.path("new"), f.path("app.log")))
	})
}

// chains are the steps of several rotations, of lines with numbers from first on. As
// many files have been rotated before.
func (f *folder) chains(first, last, rotated, keep int) (steps []func() error) {
	for i := first; i <= last; i++ {
		steps = append(steps, f.chain(rotated, keep, fmt.Sprintln(i))...)
		rotated = min(rotated+1, keep)
	}
	return steps
}

func do(steps []func() error) (err error) {
	for _, step := range steps {
		err = errors.Join(err, step())
	}
	return err
}

func numbers(first, last int) (lines []string) {
	for i := first; i <= last; i++ {
		lines = append(lines, fmt.Sprint(i))
	}
	return lines
}

// meanwhile makes steps happen while the reader lists and opens files: so many at once,
// before every so-manieth of them.
type meanwhile struct {
	folder      *folder
	mu          sync.Mutex
	armed       bool
	each, every int
	seen        int
	steps       []func() error
	err         error
}

func (m *meanwhile) glance(string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.armed {
		return
	}
	if m.seen++; m.seen%m.every == 0 {
		m.step(m.each)
	}
}

// nudge is called when the reader has sent something: it may be at rest, and look at
// nothing until the path names another file.
func (m *meanwhile) nudge() {
	m.mu.Lock()
	defer m.mu.Unlock()
	head, _ := look(m.folder.path("app.log"))
	for m.armed && len(m.steps) > 0 {
		m.step(1)
		if now, ok := look(m.folder.path("app.log")); ok && now.inode != head.inode {
			break
		}
	}
}

func (m *meanwhile) arm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed = true
}

func (m *meanwhile) step(n int) {
	n = min(n, len(m.steps))
	m.err = errors.Join(m.err, do(m.steps[:n]))
	m.steps = m.steps[n:]
}

func (f *folder) followWith(m *meanwhile, from map[string]ingest.Cursor, glob string) *reading {
	return f.read(Options{Follow: true, Poll: testPoll, Linger: testLinger, idle: testIdle, glance: m.glance}, from, glob)
}

// wantExactly takes what comes until the last line, then ends r, and compares all lines and the number of gaps.
func (r *reading) wantExactly(want []string, m *meanwhile, gaps int) {
	r.f.t.Helper()
	last := want[len(want)-1]
	r.until("line "+last, func() bool {
		if len(r.cursors) > 0 { // the path is known
			m.nudge()
		}
		return slices.Contains(r.lines, last)
	})
	r.settle("app.log")
	r.stop()
	r.f.must(m.err)
	if len(m.steps) > 0 || !slices.Equal(r.lines, want) {
		r.f.t.Fatalf("lines %v, want %v; gaps %v, %d steps not done", r.lines, want, r.gaps, len(m.steps))
	}
	r.wantGaps(gaps)
}

func TestRenamedWhileTheFolderIsListed(t *testing.T) {
	t.Parallel()
	for _, each := range []int{1, 2, 3, 8} {
		for _, every := range []int{1, 2, 3, 5, 7, 10} {
			t.Run(fmt.Sprintf("%d renames at each look %d", each, every), func(t *testing.T) { renamedWhileListed(t, each, every) })
		}
	}
}

func renamedWhileListed(t *testing.T, each, every int) {
	const files = 10
	begin := func(t *testing.T, first int) (*folder, *meanwhile) {
		f := newFolder(t)
		f.add("app.log", "0\n")
		return f, &meanwhile{folder: f, each: each, every: every, steps: f.chains(first, files, first-1, files)}
	}
	t.Run("followed", func(t *testing.T) {
		f, m := begin(t, 2)
		r := f.followWith(m, nil, "app.log")
		r.untilLines("0")
		r.settle("app.log")
		m.arm()
		f.must(do(f.chain(0, files, "1\n")))
		r.wantExactly(numbers(0, files), m, 0)
	})
	t.Run("restarted", func(t *testing.T) {
		f, m := begin(t, 4)
		r := f.followWith(m, nil, "app.log")
		r.untilLines("0")
		cursors := r.stop()
		f.must(do(f.chains(1, 3, 0, files)))
		m.arm()
		f.followWith(m, cursors, "app.log").wantExactly(numbers(1, files), m, 0)
	})
	t.Run("older files by pattern", func(t *testing.T) {
		f, m := begin(t, 6)
		f.must(do(f.chains(1, 5, 0, files)))
		m.arm()
		f.followWith(m, nil, "app.log*").wantExactly(numbers(0, files), m, 0)
	})
}

func TestRotatedAwayBeforeTheyWereRead(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "0\n")
	const keep = 2
	m := &meanwhile{folder: f, each: 1 << 30, every: 1, steps: f.chains(2, 6, 1, keep)}
	r := f.followWith(m, nil, "app.log")
	r.untilLines("0")
	r.settle("app.log")
	m.arm()
	f.must(do(f.chain(0, keep, "1\n")))
	r.wantExactly([]string{"0", "4", "5", "6"}, m, 1)
	if g := r.gaps[0]; !strings.Contains(g.Reason, "keep more") {
		t.Errorf("gap %+v", g)
	}
}

// The file read last was rotated, compressed and rotated again: it is not gone.
func TestCompressedAndRotatedIsNoGap(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "0\n")
	m := &meanwhile{folder: f, every: 1}
	r := f.followWith(m, nil, "app.log")
	r.untilLines("0")
	r.settle("app.log")
	m.each, m.steps = 1<<30, []func() error{func() error {
		f.compress("app.log.1")
		return errors.Join(
			os.Rename(f.path("app.log.1.gz"), f.path("app.log.2.gz")),
			do(f.chain(0, 5, "2\n")),
		)
	}}
	m.arm()
	f.must(do(f.chain(0, 5, "1\n")))
	r.wantExactly(numbers(0, 2), m, 0)
}

// Files of one line, rotated as fast as it goes, polled at the default pace.
func TestStormOfSmallFiles(t *testing.T) {
	t.Parallel()
	for range 5 {
		f := newFolder(t)
		f.add("app.log", "0\n")
		m := &meanwhile{folder: f}
		r := f.read(Options{Follow: true, Linger: testLinger, idle: testIdle}, nil, "app.log")
		r.untilLines("0")
		const files = 100
		wrote := make(chan error, 1)
		go func() { wrote <- do(f.chains(1, files, 0, files)) }()
		r.wantExactly(numbers(0, files), m, 0)
		f.must(<-wrote)
	}
}

// TestRenamedTwiceBetweenNames: each of two lists finds nothing under the last name, since the file
// was just renamed, and they agree in all other files. The file is not taken for gone.
func TestRenamedTwiceBetweenNames(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "2\n")
	f.add("app.log.1", "1\n")
	f.add("app.log.2", "0\n")
	want, _ := look(f.path("app.log.2"))
	move := func(from, to string) { f.must(os.Rename(f.path(from), f.path(to))) }
	o := Options{glance: func(path string) {
		switch {
		case path == f.path("app.log.2") && !exists(f.path("app.log.3")) && !exists(f.path("app.log.4")):
			move("app.log.2", "app.log.3")
		case path == f.path("app.log.3") && !exists(f.path("app.log.4")): // the rest of the rotation, and another one
			move("app.log.3", "app.log.4")
			move("app.log.1", "app.log.3")
			move("app.log", "app.log.2")
			f.add("app.log", "3\n")
		}
	}}
	found, err := o.siblings(f.path("app.log"), func(sibling) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found, func(s sibling) bool { return s.inode == want.inode }) {
		t.Errorf("the file that was renamed is missing in %v", found)
	}
}
