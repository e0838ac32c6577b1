package tail

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
)

// storm writes numbered lines to app.log, cut anywhere into writes, and rotates.
type storm struct {
	lines, perFile int
	shift          bool          // app.log.1 is the newest; else the highest number is
	pause          time.Duration // after each write of about 4 KB
	tick           time.Duration // between two files: those written in one tick of the file system's clock (4 ms) have no order
	read           chan struct{} // closed when the reader has the first lines
}

func (s storm) write(f *folder) error {
	r := rand.New(rand.NewPCG(7, 7))
	open := func() (*os.File, *bufio.Writer, error) {
		file, err := os.OpenFile(f.path("app.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		return file, bufio.NewWriterSize(file, 4000+r.IntN(200)), err
	}
	file, w, err := open()
	if err != nil {
		return err
	}
	rotations := 0
	for i := range s.lines {
		if i > 0 && i%s.perFile == 0 {
			rotations++
			// What was rotated away before the reader's first look is not its to read.
			<-s.read
			if err := s.rotate(f, rotations); err != nil {
				return err
			}
			// The end of the old file is written after its rename.
			if err := w.Flush(); err != nil {
				return err
			}
			if err := file.Close(); err != nil {
				return err
			}
			time.Sleep(s.tick)
			if file, w, err = open(); err != nil {
				return err
			}
		}
		line := strconv.Itoa(i) + " some text of a line\n"
		if w.Available() < len(line) && s.pause > 0 {
			time.Sleep(s.pause)
		}
		if _, err := w.WriteString(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func (s storm) rotate(f *folder, n int) error {
	if !s.shift {
		return os.Rename(f.path("app.log"), f.path(fmt.Sprintf("app.log.%d", n)))
	}
	for i := n - 1; i >= 1; i-- {
		if err := os.Rename(f.path(fmt.Sprintf("app.log.%d", i)), f.path(fmt.Sprintf("app.log.%d", i+1))); err != nil {
			return err
		}
	}
	return os.Rename(f.path("app.log"), f.path("app.log.1"))
}

func TestStorm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		storm storm
		stops int // restarts of the reader, spread over the lines
	}{
		{"one file", storm{lines: 200_000, perFile: 1 << 30}, 10},
		{"rename", storm{lines: 60_000, perFile: 5000, pause: 4 * time.Millisecond}, 0},
		{"rename, restarted", storm{lines: 60_000, perFile: 5000, pause: 4 * time.Millisecond}, 12},
		{"numbers shifted, restarted", storm{lines: 60_000, perFile: 5000, shift: true, pause: 4 * time.Millisecond}, 12},
		{"several files between polls", storm{lines: 600_000, perFile: 50_000, tick: 5 * time.Millisecond}, 0},
		{"several files between polls, restarted", storm{lines: 600_000, perFile: 50_000, tick: 5 * time.Millisecond}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFolder(t)
			c.storm.read = make(chan struct{})
			wrote := make(chan error, 1)
			go func() { wrote <- c.storm.write(f) }()
			next, restarts := 0, 0
			var cursors map[string]ingest.Cursor
			o := Options{Follow: true, Linger: testLinger, idle: testIdle} // polled at the default pace
			r := f.read(o, nil, "app.log")
			deadline := time.After(patience)
			for next < c.storm.lines {
				select {
				case chunk := <-r.out:
					r.note(chunk)
					if next == 0 && len(r.lines) > 0 {
						close(c.storm.read)
					}
				case <-deadline:
					t.Fatalf("stands at line %d of %d, gaps %v, problems %q", next, c.storm.lines, r.gaps, r.problems)
				}
				for _, line := range r.lines {
					if want := strconv.Itoa(next) + " some text of a line"; line != want {
						t.Fatalf("line %q where %q is due", line, want)
					}
					next++
				}
				r.lines, r.at = nil, map[string][]string{}
				r.wantGaps(0)
				if restarts < c.stops && next > c.storm.lines*(restarts+1)/(c.stops+1) {
					restarts++
					cursors = r.stop()
					time.Sleep(2 * time.Millisecond)
					r = f.read(o, cursors, "app.log")
				}
			}
			f.must(<-wrote)
			r.settle("app.log")
			if len(r.lines) != 0 {
				t.Fatalf("%d lines too many, the first %q", len(r.lines), r.lines[0])
			}
			r.wantGaps(0)
		})
	}
}

// BenchmarkRead reads a file of 340-byte lines to its end, from the page cache,
// nothing decoded.
func BenchmarkRead(b *testing.B) {
	const stored = 500_000
	f := newFolder(b)
	file, err := os.Create(f.path("app.log"))
	f.must(err)
	w := bufio.NewWriterSize(file, 1<<20)
	line := make([]byte, 340)
	for i := range line {
		line[i] = 'x'
	}
	line[339] = '\n'
	for range stored {
		w.Write(line)
	}
	f.must(w.Flush())
	f.must(file.Close())
	b.SetBytes(340)
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; {
		r := f.read(Options{Follow: true}, nil, "app.log")
		n := 0
		for n < min(left, stored) {
			n += len((<-r.out).Messages)
		}
		left -= n
		r.stop()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
