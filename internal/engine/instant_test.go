//go:build unix

package engine

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
)

func init() { instantFrom = 1 }

// gappy has memory that no field has.
type gappy struct {
	a uint8
	b uint64
	c bool
}

// TestInstant changes the state while a snapshot of it is read.
func TestInstant(t *testing.T) {
	numbers, values := make([]uint64, 1<<20), make([]gappy, 100_000)
	for i := range numbers {
		numbers[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	for i := range values {
		values[i] = gappy{uint8(i), uint64(i), i%3 == 0}
	}
	write := func(w *flat.Writer) *flat.Writer {
		w = flat.Append(w, "few", numbers[:3])
		w = flat.Append(w, "numbers", numbers)
		w = flat.Append(w, "values", values)
		w = flat.AppendParts(w, "parts", [][]uint64{numbers[:7], numbers[7:50_000], numbers[:1]})
		return flat.AppendValue(w, "value", &values[1])
	}
	want := write(flat.NewWriter(nil)).Bytes()
	s := snapshot{parts: write(flat.NewWriterApart()).Parts()}
	from, err := instant(s.parts)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this build copies the state (not Linux, or -race): nothing is forked")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.from = from
	clear(numbers)
	for i := range values {
		values[i] = gappy{9, 9, true}
	}
	var failed error
	var got []byte
	for chunk := range s.chunks(&failed) {
		if len(chunk) > deltaPart {
			t.Fatalf("a chunk of %d bytes", len(chunk))
		}
		got = append(got, chunk...)
	}
	if failed != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want the %d as they were before the change", len(got), failed, len(want))
	}
	s.drop()
}

// TestInstantEnds: a snapshot that is not read to its end leaves no process, and tells of its end.
func TestInstantEnds(t *testing.T) {
	parts := flat.Append(flat.NewWriterApart(), "numbers", make([]uint64, 1<<20)).Parts()
	from, err := instant(parts)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this build copies the state (not Linux, or -race): nothing is forked")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(from, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	pid := from.(interface{ child() int }).child()
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is there still: %v", err)
	}
	var failed error
	s := snapshot{parts: parts, from: io.NopCloser(bytes.NewReader(make([]byte, 100)))}
	for range s.chunks(&failed) {
	}
	if failed == nil {
		t.Error("a child that ends early is not told")
	}
	if got := slices.Collect((&snapshot{parts: parts[:1]}).chunks(&failed)); len(got) != 1 {
		t.Errorf("%d chunks of the first part", len(got))
	}
}
