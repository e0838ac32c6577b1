package stdin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// collect runs s to its end and returns NUMBER:LINE of each message.
func collect(t *testing.T, s *Source) (got []string, last ingest.Chunk, err error) {
	t.Helper()
	out, done := make(chan ingest.Chunk), make(chan error, 1)
	go func() { done <- s.Run(t.Context(), nil, out) }()
	for {
		select {
		case last = <-out:
			for _, m := range last.Messages {
				got = append(got, fmt.Sprintf("%d:%s", m.Offset, m.Value))
			}
			if last.Partition != "stdin" || last.Cursor.Identity != s.Identity {
				t.Fatalf("chunk %+v", last)
			}
		case err := <-done:
			return got, last, err
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		next           int64
	}{
		{"nothing", "", "[]", 1},
		{"lines", "a\nb\n", "[1:a 2:b]", 3},
		{"last without feed", "a\nb", "[1:a 2:b]", 3},
		{"empty lines count", "\na\n\nb\n", "[2:a 4:b]", 5},
		{"too long", "a\n123456789abc\nb\n", "[1:a 2:123456789 3:b]", 4},
	} {
		for how, r := range map[string]io.Reader{
			"at once":    strings.NewReader(c.in),
			"byte-wise":  iotest.OneByteReader(strings.NewReader(c.in)),
			"end at one": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				got, last, err := collect(t, &Source{Input: r, Identity: "run 7", MaxLine: 8})
				if err != nil || fmt.Sprint(got) != c.want {
					t.Errorf("got %v, error %v, want %s", got, err, c.want)
				}
				if !last.EOF || !last.CaughtUp || last.Cursor.Next != c.next {
					t.Errorf("last chunk %+v, want the end at line %d", last, c.next)
				}
			})
		}
	}
}

// What is packed is unpacked, with the line numbers of its content. What is cut off is an
// error behind all that came before.
func TestPackedInput(t *testing.T) {
	zst, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for by, pack := range map[string]func(to io.Writer) io.WriteCloser{
		"gzip": func(to io.Writer) io.WriteCloser { return gzip.NewWriter(to) },
		"zstd": func(to io.Writer) io.WriteCloser { zst.Reset(to); return zst },
	} {
		var packed bytes.Buffer
		z := pack(&packed)
		fmt.Fprint(z, lines.Mark+"a\n\nb\n"+strings.Repeat("c\n", 100_000))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		for how, r := range map[string]io.Reader{
			"at once": bytes.NewReader(packed.Bytes()), "byte-wise": iotest.OneByteReader(bytes.NewReader(packed.Bytes())),
		} {
			got, last, err := collect(t, &Source{Input: r})
			if err != nil || len(got) != 100_002 || got[0] != "1:a" || got[1] != "3:b" || !last.EOF {
				t.Errorf("%s %s: %d lines, the first %.30q, error %v, last chunk %+v", by, how, len(got), got, err, last)
			}
		}
		if _, last, err := collect(t, &Source{Input: bytes.NewReader(packed.Bytes()[:packed.Len()-6])}); !errors.Is(err, io.ErrUnexpectedEOF) || last.EOF {
			t.Errorf("%s cut off: %v, last chunk %+v", by, err, last)
		}
	}
	if _, _, err := collect(t, &Source{Input: strings.NewReader("\x28\xb5\x2f\xfdnot zstd")}); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("no zstd: %v", err)
	}
	if _, _, err := collect(t, &Source{Input: strings.NewReader("\x1f\x8bnot gzip")}); !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("no gzip: %v", err)
	}
}

func TestFailingInput(t *testing.T) {
	broken := errors.New("broken")
	got, last, err := collect(t, &Source{Input: io.MultiReader(strings.NewReader("a\nb\npart"), iotest.ErrReader(broken))})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("error %v", err)
	}
	if fmt.Sprint(got) != "[1:a 2:b]" || last.EOF {
		t.Errorf("got %v, last chunk %+v", got, last)
	}
	if _, _, err := collect(t, &Source{Input: readerFunc(func([]byte) (int, error) { return 0, nil })}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("an input without bytes, end or error: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A slow writer's line is passed on as soon as its end is written. While nothing
// comes, that is said every 0.5 s, with the cursor where it was.
func TestSlowInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out, done := make(chan ingest.Chunk), make(chan error, 1)
		s := &Source{Input: r}
		go func() { done <- s.Run(t.Context(), nil, out) }()
		go func() {
			for _, part := range []string{"fir", "st\nsec", "ond\n"} {
				time.Sleep(time.Second)
				io.WriteString(w, part)
			}
			time.Sleep(time.Second)
			w.Close()
		}()
		began, next := time.Now(), int64(1)
		for _, want := range []struct {
			at   time.Duration
			text string
		}{{2 * time.Second, "first"}, {3 * time.Second, "second"}, {4 * time.Second, ""}} {
			c := <-out
			said := time.Now()
			for ; c.CaughtUp && !c.EOF && len(c.Messages) == 0 && c.Cursor.Next == next; c = <-out {
				if time.Since(said) > idleEvery {
					t.Errorf("nothing was said for %v", time.Since(said))
				}
				said = time.Now()
			}
			next = c.Cursor.Next
			text := ""
			if len(c.Messages) == 1 {
				text = string(c.Messages[0].Value)
			}
			if text != want.text || time.Since(began) != want.at || c.EOF != (text == "") {
				t.Errorf("after %v: %+v, want %q after %v", time.Since(began), c, want.text, want.at)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestCancelDoesNotWaitForTheInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- (&Source{Input: r}).Run(ctx, nil, make(chan ingest.Chunk)) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Run waits for a writer that writes nothing")
	}
	w.Close()
}

// A receiver that takes nothing stops the reading: one piece waits to be handed
// over and one more is read.
func TestBackPressure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := make(chan int, 100)
	s := &Source{Input: readerFunc(func(p []byte) (int, error) {
		read <- len(p)
		return copy(p, "x\n"), nil
	})}
	out := make(chan ingest.Chunk)
	go s.Run(ctx, nil, out)
	for range 2 {
		<-read
	}
	time.Sleep(20 * time.Millisecond)
	if n := len(read); n > 0 {
		t.Errorf("%d more reads while nobody takes", n)
	}
	<-out
	<-read // one taken, one more read
}

func BenchmarkRead(b *testing.B) {
	line := strings.Repeat("x", 339) + "\n"
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer w.Close()
		text := strings.Repeat(line, 100)
		for left := b.N; left > 0; left -= 100 {
			io.WriteString(w, text[:min(left, 100)*len(line)])
		}
	}()
	out := make(chan ingest.Chunk, 4)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	go (&Source{Input: r}).Run(b.Context(), nil, out)
	for n := 0; n < b.N; {
		n += len((<-out).Messages)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
