package tail

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

const (
	testPoll   = time.Millisecond
	testLinger = 10 * time.Millisecond
	testIdle   = 20 * time.Millisecond
	patience   = 20 * time.Second
)

// folder is a directory in which a test writes, renames and removes.
type folder struct {
	t   testing.TB
	dir string
}

func newFolder(t testing.TB) *folder { return &folder{t, t.TempDir()} }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// add appends text to a file. A new one appears with its text at once, so that
// a reader that says it is at the end has read it.
func (f *folder) add(name, text string) {
	f.t.Helper()
	if !exists(f.path(name)) {
		f.must(os.WriteFile(f.path("new"), []byte(text), 0o600))
		f.rename("new", name)
		return
	}
	file, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND, 0)
	f.must(err)
	_, err = file.WriteString(text)
	f.must(err)
	f.must(file.Close())
}

func (f *folder) rename(from, to string) { f.t.Helper(); f.must(os.Rename(f.path(from), f.path(to))) }
func (f *folder) remove(name string)     { f.t.Helper(); f.must(os.Remove(f.path(name))) }
func (f *folder) truncate(name string, n int64) {
	f.t.Helper()
	f.must(os.Truncate(f.path(name), n))
}

func (f *folder) copy(from, to string) {
	f.t.Helper()
	b, err := os.ReadFile(f.path(from))
	f.must(err)
	f.must(os.WriteFile(f.path(to), b, 0o600))
}

// compress replaces a file by name.gz with the same time of writing, as gzip does.
func (f *folder) compress(name string) {
	f.t.Helper()
	b, err := os.ReadFile(f.path(name))
	f.must(err)
	info, err := os.Stat(f.path(name))
	f.must(err)
	to, err := os.Create(f.path(name + ".gz"))
	f.must(err)
	z := gzip.NewWriter(to)
	_, err = z.Write(b)
	f.must(err)
	f.must(z.Close())
	f.must(to.Close())
	f.must(os.Chtimes(f.path(name+".gz"), info.ModTime(), info.ModTime()))
	f.remove(name)
}

// later sees to it that the next write has a later time than those before: the
// kernel's clock for files goes in steps of up to 10 ms.
func later() { time.Sleep(12 * time.Millisecond) }

// reading is a running source and what it has sent.
type reading struct {
	f      *folder
	out    chan ingest.Chunk
	cancel context.CancelFunc
	done   chan error

	lines    []string            // in order of arrival
	at       map[string][]string // PARTITION base name -> OFFSET:LINE
	cursors  map[string]ingest.Cursor
	gaps     []ingest.Gap
	problems []string
	caughtUp map[string]int
	eof      int
}

func (f *folder) follow(from map[string]ingest.Cursor, globs ...string) *reading {
	f.t.Helper()
	return f.read(Options{Follow: true, Poll: testPoll, Linger: testLinger, idle: testIdle}, from, globs...)
}

func (f *folder) read(o Options, from map[string]ingest.Cursor, globs ...string) *reading {
	f.t.Helper()
	for _, g := range globs {
		o.Globs = append(o.Globs, f.path(g))
	}
	src, err := New(o)
	f.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &reading{
		f: f, out: make(chan ingest.Chunk), cancel: cancel, done: make(chan error, 1),
		at: map[string][]string{}, cursors: map[string]ingest.Cursor{}, caughtUp: map[string]int{},
	}
	for k, v := range from {
		r.cursors[k] = v
	}
	go func() { r.done <- src.Run(ctx, from, r.out) }()
	f.t.Cleanup(cancel)
	return r
}

func (r *reading) note(c ingest.Chunk) {
	path, ok := strings.CutPrefix(c.Partition, "file:")
	if !ok {
		r.f.t.Fatalf("partition %q", c.Partition)
	}
	name := filepath.Base(path)
	for _, m := range c.Messages {
		r.lines = append(r.lines, string(m.Value))
		r.at[name] = append(r.at[name], fmt.Sprintf("%d:%s", m.Offset, m.Value))
	}
	r.cursors[c.Partition] = c.Cursor
	r.gaps = append(r.gaps, c.Gaps...)
	if c.Problem != "" {
		r.problems = append(r.problems, c.Problem)
	}
	if c.CaughtUp {
		r.caughtUp[name]++
	}
	if c.EOF {
		r.eof++
	}
}

func (r *reading) until(what string, ok func() bool) {
	r.f.t.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case c := <-r.out:
			r.note(c)
		case err := <-r.done:
			r.f.t.Fatalf("waiting for %s: the source ended: %v", what, err)
		case <-deadline:
			r.f.t.Fatalf("waiting for %s: lines %v, gaps %v, problems %q", what, r.lines, r.gaps, r.problems)
		}
	}
}

// settle takes chunks until the named paths stand at their end. It is said
// twice: the first chunk may have waited in the channel since before.
func (r *reading) settle(names ...string) {
	r.f.t.Helper()
	for _, n := range names {
		said := r.caughtUp[n]
		r.until(n+" at its end", func() bool { return r.caughtUp[n] > said+1 })
	}
}

// untilLines takes chunks until the lines have come, and fails on any other.
func (r *reading) untilLines(want ...string) {
	r.f.t.Helper()
	r.until(fmt.Sprint(want), func() bool { return len(r.lines) >= len(want) })
	if !slices.Equal(r.lines, want) {
		r.f.t.Fatalf("lines %v, want %v", r.lines, want)
	}
}

func (r *reading) wantGaps(n int) {
	r.f.t.Helper()
	if len(r.gaps) != n {
		r.f.t.Fatalf("gaps %v, want %d", r.gaps, n)
	}
	for _, g := range r.gaps {
		if g.Reason == "" || g.To < g.From {
			r.f.t.Errorf("gap %+v", g)
		}
	}
}

// stop ends the source, as a crash would: what it has not handed over is lost.
func (r *reading) stop() map[string]ingest.Cursor {
	r.f.t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		r.f.must(err)
	case <-time.After(patience):
		r.f.t.Fatal("Run does not end")
	}
	return r.cursors
}

// again goes on from the cursors of r, which is stopped.
func (r *reading) again(globs ...string) *reading {
	r.f.t.Helper()
	return r.f.follow(r.stop(), globs...)
}
