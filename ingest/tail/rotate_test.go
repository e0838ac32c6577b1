package tail

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

// story holds what happens to the files; each step is followed by a reader that
// has taken everything, or not, as the test wants it.
type story struct {
	name  string
	globs []string        // app.log if empty
	start func(f *folder) // before any reader
	steps []func(f *folder)
	want  string // the lines, in order
	gaps  int    // if the reader is there all the time
	// away are the steps that nobody need watch: if the reader is stopped before
	// one and started after it, it still gets the lines wanted.
	away string
}

func add(name, text string) func(*folder) { return func(f *folder) { f.add(name, text) } }

// rotate renames app.log.1 to app.log.2, if need be, and app.log to app.log.1.
func rotate(f *folder) {
	if exists(f.path("app.log.2")) {
		f.rename("app.log.2", "app.log.3")
	}
	if exists(f.path("app.log.1")) {
		f.rename("app.log.1", "app.log.2")
	}
	f.rename("app.log", "app.log.1")
}

func then(steps ...func(*folder)) func(*folder) {
	return func(f *folder) {
		for _, s := range steps {
			s(f)
			later()
		}
	}
}

func stories() []story {
	long := strings.Repeat("x", 1200)
	return []story{{
		name:  "rename",
		steps: []func(*folder){add("app.log", "1\n2\n"), then(rotate, add("app.log", "3\n")), add("app.log", "4\n")},
		want:  "1 2 3 4", away: "1 2",
	}, {
		name:  "rest of the old file after the rename",
		steps: []func(*folder){add("app.log", "1\n"), then(rotate, add("app.log.1", "2\n"), add("app.log", "3\n"))},
		want:  "1 2 3", away: "1",
	}, {
		name:  "last line of the old file without line feed",
		steps: []func(*folder){add("app.log", "1\n2"), then(rotate, add("app.log", "3\n"))},
		want:  "1 2 3", away: "1",
	}, {
		name: "several generations at once",
		steps: []func(*folder){add("app.log", "1\n"), then(add("app.log", "2\n"), rotate, add("app.log", "3\n"),
			rotate, add("app.log", "4\n5\n"), rotate, add("app.log", "6\n"))},
		want: "1 2 3 4 5 6", away: "1",
	}, {
		name: "dated names",
		steps: []func(*folder){add("app.log", "1\n"), then(
			func(f *folder) { f.rename("app.log", "app-2026-11-20T10-00-00.log") }, add("app.log", "2\n"),
			func(f *folder) { f.rename("app.log", "app-2026-11-20T11-00-00.log") }, add("app.log", "3\n"))},
		want: "1 2 3", away: "1",
	}, {
		name: "compressed after the rename",
		steps: []func(*folder){add("app.log", "1\n"), then(add("app.log", "2\n"), rotate, add("app.log", "3\n"),
			func(f *folder) { f.compress("app.log.1") })},
		want: "1 2 3", away: "1",
	}, {
		name:  "older generations that nobody asked for",
		start: then(add("app.log.2", "x\n"), add("app.log.1", "y\n"), add("app.log", "1\n")),
		steps: []func(*folder){func(*folder) {}, then(rotate, add("app.log", "2\n"))},
		want:  "1 2", away: "1",
	}, {
		name:  "older generations by pattern",
		globs: []string{"app.log*"},
		start: then(add("app.log.3", "1\n"), func(f *folder) { f.compress("app.log.3") },
			add("app.log.2", "2\n"), add("app.log.1", "3\n"), add("app.log", "4\n")),
		steps: []func(*folder){func(*folder) {}, then(func(f *folder) { f.remove("app.log.3.gz") }, rotate, add("app.log", "5\n"))},
		want:  "1 2 3 4 5", away: "1",
	}, {
		name:  "renamed and not there for a while",
		steps: []func(*folder){add("app.log", "1\n"), rotate, add("app.log.1", "2\n"), add("app.log", "3\n")},
		want:  "1 2 3", away: "1 2 3",
	}, {
		name:  "deleted and new",
		steps: []func(*folder){add("app.log", "1\n2\n"), then(func(f *folder) { f.remove("app.log") }, add("app.log", "3\n"))},
		want:  "1 2 3",
	}, {
		name: "replaced by a shorter one",
		steps: []func(*folder){add("app.log", "1\n2\n3\n"), then(add("app.new", "4\n"),
			func(f *folder) { f.rename("app.new", "app.log") })},
		want: "1 2 3 4",
	}, {
		name: "rotated to nothing",
		steps: []func(*folder){add("app.log", "1\n"), then(rotate, add("app.log", "")), then(rotate, add("app.log", "")),
			add("app.log", "2\n")},
		want: "1 2", away: "1 2",
	}, {
		name:  "truncated",
		steps: []func(*folder){add("app.log", "1\n2\n"), then(func(f *folder) { f.truncate("app.log", 0) }, add("app.log", "3\n"))},
		want:  "1 2 3", gaps: 1,
	}, {
		name: "truncated and grown beyond",
		steps: []func(*folder){add("app.log", "1\n2\n"), func(f *folder) {
			f.truncate("app.log", 0)
			f.add("app.log", "3\n4\n5\n6\n")
		}},
		want: "1 2 3 4 5 6", gaps: 1,
	}, {
		name: "copied and truncated",
		steps: []func(*folder){add("app.log", "1\n"), func(f *folder) {
			f.add("app.log", "2\n")
			f.copy("app.log", "app.log.1")
			f.truncate("app.log", 0)
			f.add("app.log", "3\n4\n5\n")
		}},
		want: "1 2 3 4 5", gaps: 1, away: "1",
	}, {
		name: "cut shorter",
		steps: []func(*folder){add("app.log", long+"\ntwo\nthree\n"), then(func(f *folder) { f.truncate("app.log", 1205) }),
			add("app.log", "four\n")},
		want: long + " two three four", gaps: 1,
	}}
}

func (s *story) patterns() []string {
	if len(s.globs) > 0 {
		return s.globs
	}
	return []string{"app.log"}
}

func (s *story) begin(t *testing.T) *folder {
	f := newFolder(t)
	if s.start != nil {
		s.start(f)
	}
	return f
}

func TestStories(t *testing.T) {
	t.Parallel()
	for _, s := range stories() {
		want := strings.Fields(s.want)
		t.Run(s.name+"/watched", func(t *testing.T) {
			f := s.begin(t)
			r := f.follow(nil, s.patterns()...)
			for i, step := range s.steps {
				step(f)
				if i+1 < len(s.steps) && exists(f.path("app.log")) {
					r.settle("app.log")
				}
			}
			r.untilLines(want...)
			r.settle("app.log")
			r.untilLines(want...)
			r.wantGaps(s.gaps)
		})
		t.Run(s.name+"/restarted after each step", func(t *testing.T) {
			f := s.begin(t)
			r := f.follow(nil, s.patterns()...)
			var lines []string
			for _, step := range s.steps {
				step(f)
				if exists(f.path("app.log")) {
					r.settle("app.log")
				}
				lines = append(lines, r.lines...)
				r = r.again(s.patterns()...)
			}
			r.settle("app.log")
			if lines = append(lines, r.lines...); !slices.Equal(lines, want) {
				t.Fatalf("lines %v, want %v", lines, want)
			}
		})
		for _, away := range strings.Fields(s.away) {
			t.Run(s.name+"/away in step "+away, func(t *testing.T) {
				f := s.begin(t)
				var cursors map[string]ingest.Cursor
				var lines []string
				for i, step := range s.steps {
					if fmt.Sprint(i) == away {
						step(f)
						continue
					}
					r := f.follow(cursors, s.patterns()...)
					step(f)
					if exists(f.path("app.log")) {
						r.settle("app.log")
					}
					cursors = r.stop()
					lines = append(lines, r.lines...)
				}
				r := f.follow(cursors, s.patterns()...)
				r.until("the end", func() bool { return len(lines)+len(r.lines) >= len(want) })
				r.settle("app.log")
				if lines = append(lines, r.lines...); !slices.Equal(lines, want) {
					t.Fatalf("lines %v, want %v", lines, want)
				}
				r.wantGaps(s.gaps)
			})
		}
	}
}

func TestGoneWhileAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		happen func(f *folder)
		want   string
	}{
		{"deleted and new", func(f *folder) { f.remove("app.log"); f.add("app.log", "3\n") }, "3"},
		{"truncated and new", func(f *folder) { f.truncate("app.log", 0); f.add("app.log", "3\n4\n5\n6\n") }, "3 4 5 6"},
		{"replaced by the same inode", func(f *folder) {
			f.truncate("app.log", 0)
			f.add("app.log", "7\n8\n9\n")
		}, "7 8 9"},
		{"shorter copy of the content", func(f *folder) {
			f.rename("app.log", "x")
			f.copy("x", "app.log.1")
			f.truncate("app.log.1", 2)
			f.add("app.log", "3\n")
		}, "1 3"}, // too short to be told from one that was not read
		{"rotated until it was deleted", func(f *folder) {
			f.remove("app.log")
			f.add("app.log.2", "3\n")
			later()
			f.add("app.log.1", "4\n")
			later()
			f.add("app.log", "5\n")
		}, "3 4 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFolder(t)
			f.add("app.log", "1\n2\n")
			r := f.follow(nil, "app.log")
			r.untilLines("1", "2")
			cursors := r.stop()
			c.happen(f)
			r = f.follow(cursors, "app.log")
			r.untilLines(strings.Fields(c.want)...)
			r.wantGaps(1)
			if r.gaps[0].From != 4 {
				t.Errorf("gap %+v, 4 bytes had been read", r.gaps[0])
			}
		})
	}
}

// TestWrittenInOneTick: the highest number is the newest, which no other file shows. What was
// written in the same step of the clock as the file that was read last is read, whatever its name.
func TestWrittenInOneTick(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "1\n")
	r := f.follow(nil, "app.log")
	r.untilLines("1")
	cursors := r.stop()
	f.rename("app.log", "app.log.1")
	f.add("app.log.2", "2\n")
	at := time.Now()
	f.must(os.Chtimes(f.path("app.log.1"), at, at))
	f.must(os.Chtimes(f.path("app.log.2"), at, at))
	later()
	f.add("app.log", "3\n")
	r = f.follow(cursors, "app.log")
	r.untilLines("2", "3")
	r.wantGaps(0)
}

func TestWrittenAfterItWasComplete(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "1\n")
	r := f.follow(nil, "app.log")
	r.untilLines("1")
	f.rename("app.log", "app.log.1")
	f.add("app.log", "2\n")
	r.untilLines("1", "2")
	f.add("app.log.1", "late\n")
	f.add("app.log", "3\n")
	r.untilLines("1", "2", "3")
	r.until("the gap", func() bool { return len(r.gaps) > 0 })
	if g := r.gaps[0]; g.From != 2 || g.To != 7 {
		t.Errorf("gap %+v, want 2-7", g)
	}
}

func TestIdentityOfGenerations(t *testing.T) {
	f := newFolder(t)
	f.add("app.log", "1\n")
	r := f.follow(nil, "app.log")
	r.untilLines("1")
	first := r.cursors["file:"+f.path("app.log")]
	f.add("app.log", strings.Repeat("x", 5000)+"\n")
	r.until("growth", func() bool { return len(r.lines) == 2 })
	grown := r.cursors["file:"+f.path("app.log")]
	if first.Identity == "" || first.Identity != grown.Identity {
		t.Errorf("identity changed with growth: %q, %q", first.Identity, grown.Identity)
	}
	rotate(f)
	f.add("app.log", "2\n")
	r.until("the new file", func() bool { return len(r.lines) == 3 })
	next := r.cursors["file:"+f.path("app.log")]
	if next.Identity == first.Identity || next.Next != 2 {
		t.Errorf("cursor %+v after rotation, before %+v", next, first)
	}
}

// A path that turns out to be a name that rotation gives: read to its end, and
// not taken for a new file at each rotation.
func TestHeadThatWasRotated(t *testing.T) {
	f := newFolder(t)
	f.add("app.log.1", "1\n")
	r := f.follow(nil, "app.log*")
	r.untilLines("1")
	f.add("app.log", "2\n")
	r.untilLines("1", "2")
	later()
	rotate(f)
	f.add("app.log", "3\n")
	r.untilLines("1", "2", "3")
	r = r.again("app.log*")
	rotate(f)
	f.add("app.log", "4\n")
	r.untilLines("4")
	r.settle("app.log")
	r.untilLines("4")
}
