package capture

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail"
)

func lines(texts ...string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// holds compares the files of dir with what they should hold, line feeds as slashes.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if got := strings.ReplaceAll(string(text), "\n", "/"); err != nil || got != want[e.Name()] {
			t.Errorf("%s: %q, %v, want %q", e.Name(), got, err, want[e.Name()])
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d", len(entries), len(want))
	}
}

func TestFileRotates(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := File(path, 6, 2)
	must(err)
	must(s.Write(t.Context(), lines("aa", "bb", "cc")))
	holds(t, dir, map[string]string{"f": "cc/", "f.1": "aa/bb/"})
	must(s.Write(t.Context(), lines("longer than a file", "d")))
	holds(t, dir, map[string]string{"f": "d/", "f.1": "longer than a file/", "f.2": "cc/"})
	must(s.Close())
	must(os.WriteFile(path, []byte("d\nha"), 0o600)) // as a crash leaves it
	s, err = File(path, 100, 2)
	must(err)
	must(s.Write(t.Context(), lines("e")))
	must(s.Close())
	must(s.Close())
	holds(t, dir, map[string]string{"f": "d/ha/e/", "f.1": "longer than a file/", "f.2": "cc/"})
}

func TestFileFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := File(filepath.Join(dir, "none", "f"), 10, 1); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a folder that is not there: %v", err)
	}
	for _, c := range [][2]int{{0, 1}, {1, 0}} {
		if _, err := File(filepath.Join(dir, "f"), int64(c[0]), c[1]); err == nil || !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("%v: %v", c, err)
		}
	}
	// The folder goes away and comes back: nothing is lost.
	path := filepath.Join(dir, "sub", "f")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := File(path, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), lines("aa")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Dir(path), dir+"/away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Write(t.Context(), lines("bb")); err == nil {
			t.Error("written to nowhere")
		}
	}
	if err := os.Rename(dir+"/away", filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), lines("bb")); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Dir(path), map[string]string{"f": "bb/", "f.1": "aa/"})
}

// What `monitor run --tail` reads of a file that rotates is what was recorded, in order.
func TestTailFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	sink, err := File(path, 20_000, 50)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(sink, "bank", WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	source, err := tail.New(tail.Options{Globs: []string{path}, Follow: true, Poll: time.Millisecond, Linger: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chunks := make(chan ingest.Chunk, 16)
	ran := make(chan error, 1)
	go func() { ran <- source.Run(ctx, nil, chunks) }()
	const n, burst = 2000, 100 // at most one rotation a burst
	s := r.Session("s")
	for next := 1; next <= n; {
		if written := int(s.seq.Load()); next > written {
			for i := range burst {
				blind(r, s, written+i)
			}
		}
		select {
		case c := <-chunks:
			if len(c.Gaps) > 0 || c.Problem != "" {
				t.Fatalf("%+v, %s", c.Gaps, c.Problem)
			}
			for _, m := range c.Messages {
				if want := fmt.Sprintf(`"seq":%d,`, next); !strings.Contains(string(m.Value), want) {
					t.Fatalf("%s has no %s", m.Value, want)
				}
				next++
			}
		case <-ctx.Done():
			t.Fatalf("after %d of %d records: nothing comes", next-1, n)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".5"); err != nil {
		t.Errorf("the file rotated too rarely for this test: %v", err)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
}

func TestWriter(t *testing.T) {
	in, out := io.Pipe()
	s := Writer(out)
	go func() {
		_ = s.Write(context.Background(), lines("a", "b"))
		_ = s.Close()
		_ = out.Close()
	}()
	if text, err := io.ReadAll(in); string(text) != "a\nb\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
