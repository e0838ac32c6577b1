package tail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

func TestFollowsGrowth(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "one\ntwo\n")
	r := f.follow(nil, "a.log")
	r.untilLines("one", "two")
	f.add("a.log", "thr")
	r.settle("a.log")
	r.untilLines("one", "two")
	f.add("a.log", "ee\nfour\n\n\nfi")
	f.add("a.log", "ve\r\n")
	r.untilLines("one", "two", "three", "four", "five\r")
	if got := fmt.Sprint(r.at["a.log"]); got != "[0:one 4:two 8:three 14:four 21:five\r]" {
		t.Errorf("offsets %s", got)
	}
	r.wantGaps(0)
}

func TestLatencyOfALine(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "")
	r := f.read(Options{Follow: true}, nil, "a.log")
	r.settle("a.log")
	began := time.Now()
	const n = 10
	for i := range n {
		f.add("a.log", "x\n")
		r.until("the line", func() bool { return len(r.lines) > i })
	}
	if mean := time.Since(began) / n; mean > 2*DefaultPoll {
		t.Errorf("a line takes %v on average, polled every %v", mean, DefaultPoll)
	}
}

func TestIdleChunksKeepThePace(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "one\npart")
	r := f.follow(nil, "a.log")
	r.settle("a.log")
	began, said := time.Now(), r.caughtUp["a.log"]
	r.until("two idle chunks", func() bool { return r.caughtUp["a.log"] >= said+2 })
	if took := time.Since(began); took < testIdle || took > 8*testIdle {
		t.Errorf("two idle chunks in %v, paced at %v", took, testIdle)
	}
	if c := r.cursors["file:"+f.path("a.log")]; c.Next != 4 {
		t.Errorf("cursor %+v, the partial line begins at 4", c)
	}
}

func TestRestartInsideALine(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "one\nsec")
	r := f.follow(nil, "a.log")
	r.untilLines("one")
	r = r.again("a.log")
	f.add("a.log", "ond\nthird\n")
	r.untilLines("second", "third")
	r.wantGaps(0)
}

func TestSeveralPaths(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "a1\n")
	f.add("other.txt", "no\n")
	r := f.follow(nil, "*.log")
	r.until("a1", func() bool { return len(r.at["a.log"]) == 1 })
	f.add("b.log", "b1\n")
	r.until("b1", func() bool { return len(r.at["b.log"]) == 1 })
	f.add("a.log", "a2\n")
	f.add("b.log", "b2\n")
	r.until("both", func() bool { return len(r.at["a.log"])+len(r.at["b.log"]) == 4 })
	if got := fmt.Sprint(r.at); got != "map[a.log:[0:a1 3:a2] b.log:[0:b1 3:b2]]" {
		t.Errorf("got %s", got)
	}
}

func TestPathThatIsNotThereYet(t *testing.T) {
	f := newFolder(t)
	r := f.follow(nil, "a.log")
	f.add("a.log", "one\n")
	r.untilLines("one")
	r.wantGaps(0)
}

func TestNameWithCharactersOfPatterns(t *testing.T) {
	f := newFolder(t)
	f.add("a[1].log", "one\n")
	f.follow(nil, "a[1].log").untilLines("one")
}

func TestLinesBeyondTheLimit(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.add("a.log", "before\n"+strings.Repeat("x", 2*readSize))
	r := f.read(Options{Follow: true, Poll: testPoll, MaxLine: 10}, nil, "a.log")
	r.settle("a.log")
	r.untilLines("before")
	f.add("a.log", strings.Repeat("x", 100)+"\nafter\n")
	r.untilLines("before", "xxxxxxxxxxx", "after")
	if got, want := r.at["a.log"][2], fmt.Sprintf("%d:after", 7+2*readSize+101); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnreadableFileIsAProblemUntilItIsReadable(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "\x1f\x8bnot gzip\n")
	r := f.follow(nil, "a.log")
	r.until("the problem", func() bool { return len(r.problems) > 0 })
	f.remove("a.log")
	f.add("a.log", "one\n")
	r.untilLines("one")
	if len(r.problems) != 1 || !strings.Contains(r.problems[0], "a.log") {
		t.Errorf("problems %q", r.problems)
	}
}

func TestOnce(t *testing.T) {
	f := newFolder(t)
	f.add("app.log.2", "1\n2\n")
	f.compress("app.log.2")
	later()
	f.add("app.log.1", "3\n\n4")
	later()
	f.add("app.log", "5\n6\n")
	f.add("zoo.log", "")
	for _, c := range []struct {
		name string
		o    Options
		from map[string]ingest.Cursor
		want string
		cur  string
	}{
		{"bytes", Options{}, nil,
			"map[app.log:[0:5 2:6] app.log.1:[0:3 3:4] app.log.2.gz:[0:1 2:2]]", "4 4 4 0"},
		{"lines", Options{LineNumbers: true}, nil,
			"map[app.log:[1:5 2:6] app.log.1:[1:3 3:4] app.log.2.gz:[1:1 2:2]]", "3 4 3 1"},
		{"from a byte", Options{}, map[string]ingest.Cursor{"file:" + f.path("app.log"): {Next: 2}, "file:" + f.path("app.log.2.gz"): {Next: 2}},
			"map[app.log:[2:6] app.log.1:[0:3 3:4] app.log.2.gz:[2:2]]", "4 4 4 0"},
		{"from a line", Options{LineNumbers: true}, map[string]ingest.Cursor{"file:" + f.path("app.log.1"): {Next: 2}},
			"map[app.log:[1:5 2:6] app.log.1:[3:4] app.log.2.gz:[1:1 2:2]]", "3 4 3 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := f.read(c.o, c.from, "*.log*")
			for r.eof < 4 {
				r.note(<-r.out)
			}
			if err := <-r.done; err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(r.at); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			var cur []string
			for _, n := range []string{"app.log", "app.log.1", "app.log.2.gz", "zoo.log"} {
				cur = append(cur, fmt.Sprint(r.cursors["file:"+f.path(n)].Next))
			}
			if got := strings.Join(cur, " "); got != c.cur {
				t.Errorf("cursors %s, want %s", got, c.cur)
			}
			if oldest := r.lines[0]; c.from == nil && oldest != "1" {
				t.Errorf("began with %q, the oldest line is 1", oldest)
			}
		})
	}
}

func TestOnceFailsWhereNothingCanBeRead(t *testing.T) {
	f := newFolder(t)
	f.add("a.log", "one\n")
	for _, c := range []struct{ glob, want string }{
		{"b.log", "b.log"},
		{"*.txt", "*.txt"},
	} {
		r := f.read(Options{}, nil, "a.log", c.glob)
		err := func() error {
			for {
				select {
				case <-r.out:
				case err := <-r.done:
					return err
				}
			}
		}()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.glob, err)
		}
	}
}

func TestOptionsNameTheirFaults(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "no files"},
		{Options{Globs: []string{""}}, "empty file name"},
		{Options{Globs: []string{"a["}}, `"a["`},
		{Options{Globs: []string{"a"}, Follow: true, LineNumbers: true}, "line numbers"},
		{Options{Globs: []string{"a"}, Poll: -1}, "negative"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q in it", c.o, err, c.want)
		}
	}
}
