package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

const deltas Space = 'd'

func chunksOf(words ...string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		buffer := []byte{} // reused, as a caller may
		for _, word := range words {
			buffer = append(buffer[:0], word...)
			if !yield(buffer) {
				return
			}
		}
	}
}

func writeAndFlip(t *testing.T, s *Store, gen uint64, drop []Range, words ...string) {
	t.Helper()
	if err := s.WriteSnapshot(gen, chunksOf(words...)); err != nil {
		t.Fatal(err)
	}
	if err := s.FlipSnapshot(gen, fmt.Appendf(nil, "meta %d", gen), drop...); err != nil {
		t.Fatal(err)
	}
}

func wantSnapshot(t *testing.T, s *Store, wantGen uint64, wantMeta string, want ...string) {
	t.Helper()
	gen, meta, chunks, err := s.LoadSnapshot()
	if err != nil || gen != wantGen || string(meta) != wantMeta {
		t.Fatalf("LoadSnapshot = %d, %q, %v, want %d, %q", gen, meta, err, wantGen, wantMeta)
	}
	var got []string
	for chunk, err := range chunks {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(chunk))
	}
	if !slices.Equal(got, want) {
		t.Errorf("chunks %q, want %q", got, want)
	}
}

func TestSnapshotByGeneration(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	wantSnapshot(t, s, 0, "")
	writeAndFlip(t, s, 3, nil, "one", "two", "")
	wantSnapshot(t, s, 3, "meta 3", "one", "two", "")
	if err := s.WriteSnapshot(4, chunksOf("later", "longer", "still not current")); err != nil {
		t.Fatal(err)
	}
	wantSnapshot(t, s, 3, "meta 3", "one", "two", "")
	s.Close()
	s = open(t, dir, Options{})
	wantSnapshot(t, s, 3, "meta 3", "one", "two", "")
	writeAndFlip(t, s, 4, nil, "four") // replaces what was written of it before
	wantSnapshot(t, s, 4, "meta 4", "four")
	s.Close()
	wantSnapshot(t, open(t, dir, Options{ReadOnly: true}), 4, "meta 4", "four")
}

func TestSnapshotOrderIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	writeAndFlip(t, s, 5, nil, "five")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"write current":     {s.WriteSnapshot(5, chunksOf("again")), "generation 5 is current"},
		"write older":       {s.WriteSnapshot(4, chunksOf("older")), "generation 5 is current"},
		"flip current":      {s.FlipSnapshot(5, nil), "generation 5 is current"},
		"flip never begun":  {s.FlipSnapshot(9, nil), "not written in full"},
		"flip bad range":    {s.FlipSnapshot(9, nil, Range{Space: 0}), "reserved"},
		"chunk is too big":  {s.WriteSnapshot(6, chunksOf("small", strings.Repeat("x", MaxChunk+1))), "chunk 1: commit of 1 entries and 1048577 bytes"},
		"flip half written": {s.FlipSnapshot(6, nil), "not written in full"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	wantSnapshot(t, s, 5, "meta 5", "five")
}

func TestFlipRemovesWhatIsSuperfluous(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, deltas, "1", "2", "3", "4")
	put(t, s, records, "1", "2")
	writeAndFlip(t, s, 1, []Range{{deltas, nil, []byte("2")}}, "old", "old")
	writeAndFlip(t, s, 2, []Range{{deltas, []byte("2"), []byte("3")}}, "new")
	if err := s.removeSuperfluous(); err != nil { // as the upkeep does, which may be at it right now
		t.Fatal(err)
	}
	if got := keysOf(t, s, deltas, nil, nil, false); !slices.Equal(got, []string{"3", "4"}) {
		t.Errorf("deltas %q", got)
	}
	if got := keysOf(t, s, records, nil, nil, false); len(got) != 2 {
		t.Errorf("records %q", got)
	}
	wantGenerations(t, s, 2)
	wantSnapshot(t, s, 2, "meta 2", "new")
}

// A crash between the flip and the removal leaves the removal to the next start.
func TestRemovalGoesOnAfterRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	put(t, s, deltas, "1", "2", "3")
	s.cancel() // ends the upkeep, so that the flips are all that happens
	s.wg.Wait()
	writeAndFlip(t, s, 1, []Range{{deltas, nil, []byte("2")}, {records, nil, []byte{}}}, "old")
	writeAndFlip(t, s, 2, nil, "new")
	put(t, s, records, "kept: the bound of its range is empty, not open")
	s.Close()

	s = open(t, dir, Options{})
	if err := s.removeSuperfluous(); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, s, deltas, nil, nil, false); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("deltas %q: the range of the first flip was forgotten", got)
	}
	if got := keysOf(t, s, records, nil, nil, false); len(got) != 1 {
		t.Errorf("records %q", got)
	}
	wantGenerations(t, s, 2)
}

// wantGenerations wants the files and trailers of these generations and no others.
func wantGenerations(t *testing.T, s *Store, want ...uint64) {
	t.Helper()
	var trailers, files []string
	for _, gen := range want {
		trailers = append(trailers, string(generationKey(trailerRecord, gen)))
		files = append(files, s.generationPath(gen))
	}
	var gotTrailers []string
	err := s.scanKeys(ownKey(trailerRecord), ownKey(trailerRecord+1), func(item *badger.Item) error {
		gotTrailers = append(gotTrailers, string(item.KeyCopy(nil)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(s.dir, "*"+generationExtension))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(gotTrailers, trailers) || !slices.Equal(got, files) {
		t.Errorf("trailers %q and files %q, want those of %d", gotTrailers, got, want)
	}
}

// A generation that was written in part, or not flipped to, goes with the next flip.
func TestPartOfAGeneration(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	writeAndFlip(t, s, 1, nil, "one")
	if err := os.WriteFile(s.generationPath(2), []byte("cut"), 0o600); err != nil { // killed meanwhile
		t.Fatal(err)
	}
	if err := s.WriteSnapshot(3, chunksOf("not flipped to")); err != nil {
		t.Fatal(err)
	}
	wantSnapshot(t, s, 1, "meta 1", "one")
	writeAndFlip(t, s, 4, nil, "four")
	if err := s.removeSuperfluous(); err != nil {
		t.Fatal(err)
	}
	wantGenerations(t, s, 4)
}

// What cannot be written leaves nothing behind.
func TestSnapshotThatFails(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.WriteSnapshot(1, chunksOf("first", strings.Repeat("x", MaxChunk+1)))
	if !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "chunk 1") {
		t.Errorf("WriteSnapshot = %v, want %v of chunk 1", err, ErrTooBig)
	}
	wantGenerations(t, s)
	if err := s.FlipSnapshot(1, nil); err == nil {
		t.Error("a generation that failed was flipped to")
	}
}

func TestDamagedSnapshot(t *testing.T) {
	const first, second = chunkHeader + len("first"), chunkHeader + len("second") // bytes in the file
	third := func(file []byte) []byte { return file[first+second:] }
	tests := []struct {
		name   string
		damage func(file []byte) []byte
		want   string
	}{
		{"chunk missing in the middle", func(f []byte) []byte { return slices.Concat(f[:first], third(f)) }, "2 chunks of 10 bytes"},
		{"last chunk missing", func(f []byte) []byte { return f[:first+second] }, "2 chunks of 11 bytes"},
		{"chunk changed", func(f []byte) []byte { f[first+chunkHeader] ^= 1; return f }, "chunk 1: checksum"},
		{"cut in a chunk", func(f []byte) []byte { return f[:len(f)-2] }, "chunk 2: the file ends 2 bytes early"},
		{"cut in a header", func(f []byte) []byte { return f[:first+3] }, "chunk 1: the file ends within its header"},
		{"length out of range", func(f []byte) []byte { f[3] = 0xff; return f }, "chunk 0: length"},
		{"chunk added", func(f []byte) []byte { return slices.Concat(f, third(f)) }, "4 chunks of 21 bytes"},
		{"chunks exchanged", func(f []byte) []byte { return slices.Concat(f[first:first+second], f[:first], third(f)) }, "3 chunks of 16 bytes"},
		{"nothing left", func([]byte) []byte { return nil }, "0 chunks of 0 bytes"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			writeAndFlip(t, s, 1, nil, "first", "second", "third")
			if err := s.Audit(t.Context(), nil); err != nil {
				t.Fatalf("before the damage: %v", err)
			}
			file, err := os.ReadFile(s.generationPath(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.generationPath(1), c.damage(file), 0o600); err != nil {
				t.Fatal(err)
			}
			wantBroken(t, s, c.want)
		})
	}
	t.Run("file missing", func(t *testing.T) {
		s := open(t, t.TempDir(), Options{})
		writeAndFlip(t, s, 1, nil, "first")
		if err := os.Remove(s.generationPath(1)); err != nil {
			t.Fatal(err)
		}
		wantBroken(t, s, "no such file")
	})
}

// wantBroken wants loading and audit to end with a fault.
func wantBroken(t *testing.T, s *Store, want string) {
	t.Helper()
	_, _, chunks, err := s.LoadSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, chunkErr := range chunks {
		err = chunkErr
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("chunks end with %v, want %q", err, want)
	}
	if err := s.Audit(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Audit = %v, want %q", err, want)
	}
}

func TestLoadSnapshotMayBeLeftEarly(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	writeAndFlip(t, s, 1, nil, "first", "second")
	_, _, chunks, err := s.LoadSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range chunks {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d chunks before the break", n)
	}
}

func TestAuditShowsEveryRecord(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a", "b")
	put(t, s, deltas, "c")
	var seen bytes.Buffer
	if err := s.Audit(t.Context(), func(sp Space, key, value []byte) error {
		fmt.Fprintf(&seen, "%c/%s=%s ", sp, key, value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "d/c=value of c r/a=value of a r/b=value of b "; seen.String() != want {
		t.Errorf("audit saw %s, want %s", &seen, want)
	}
	refused := errors.New("not a delta")
	err := s.Audit(t.Context(), func(Space, []byte, []byte) error { return refused })
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "space 0x64, key 63") {
		t.Errorf("Audit = %v, want the refusal with space and key", err)
	}
}
