package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/zeebo/xxh3"

	"github.com/isowatch/isowatch/internal/testrun"
)

// damagedDir, set in the environment, makes the test binary the process that opens a damaged folder
// and reads all of it: a panic in one of Badger's goroutines ends it.
const damagedDir = "ISOWATCH_STORE_DAMAGED_DIR"

// damageOptions put values of more than 300 KB into the value log.
var damageOptions = Options{MemTable: 8 << 20}

// contentOf is a hash of all that the folder holds.
func contentOf(dir string) (string, error) {
	o := damageOptions
	o.ReadOnly = os.Getenv("READ_ONLY") != ""
	s, err := Open(dir, o)
	if err != nil {
		return "", err
	}
	defer s.Close()
	hash := xxh3.New()
	for _, space := range []Space{deltas, records, head} {
		if err := s.Scan(space, nil, nil, func(key, value []byte) error {
			fmt.Fprintf(hash, "%d %x %x\n", space, key, value)
			return nil
		}); err != nil {
			return "", err
		}
	}
	_, meta, chunks, err := s.LoadSnapshot()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%x\n", meta)
	for chunk, err := range chunks {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%x\n", chunk)
	}
	return fmt.Sprintf("%x", hash.Sum64()), nil
}

func readDamaged(dir string) int {
	content, err := contentOf(dir)
	if err != nil {
		fmt.Println("error:", err)
		return 3
	}
	fmt.Println(content)
	return 0
}

// read opens the folder in a process of its own.
func read(t *testing.T, dir string, readOnly bool) (content, said string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), damagedDir+"="+dir)
	if readOnly {
		child.Env = append(child.Env, "READ_ONLY=1")
	}
	out, err := child.CombinedOutput()
	text := strings.TrimSpace(string(out))
	var failed *exec.ExitError
	switch {
	case err == nil:
		return text, ""
	case errors.As(err, &failed) && failed.ExitCode() == 3 && !strings.Contains(text, "goroutine "):
		return "", text
	}
	t.Errorf("%v: %s", err, text[:min(len(text), 1500)])
	return "", text
}

// image is the files of a folder, without the zeros at their ends.
type image map[string]imageFile

type imageFile struct {
	text []byte
	size int64
}

func imageOf(t *testing.T, dir string) image {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := image{}
	for _, f := range files {
		file, err := readSparse(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = file
	}
	return all
}

// readSparse reads a file piece by piece: Badger makes a value log of 128 MiB, and fills little of it.
func readSparse(path string) (f imageFile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return imageFile{}, err
	}
	defer file.Close()
	piece, zeros := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(file, piece)
		if !bytes.Equal(piece[:n], zeros[:n]) {
			text := bytes.TrimRight(piece[:n], "\x00")
			f.text = append(append(f.text, make([]byte, f.size-int64(len(f.text)))...), text...)
		}
		f.size += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return f, nil
		case err != nil:
			return imageFile{}, err
		}
	}
}

func (x image) write(t *testing.T, dir string) {
	t.Helper()
	for name, f := range x {
		if err := f.write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f imageFile) write(path string) error {
	if err := os.WriteFile(path, f.text, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, f.size)
}

// copySparse copies a folder.
func copySparse(t *testing.T, to, from string) {
	t.Helper()
	imageOf(t, from).write(t, to)
}

var damages = map[string]func(path string, f imageFile) error{
	"gone":       func(path string, _ imageFile) error { return os.Remove(path) },
	"empty":      func(path string, _ imageFile) error { return os.Truncate(path, 0) },
	"cut":        func(path string, f imageFile) error { return os.Truncate(path, min(f.size, 7)) },
	"half":       func(path string, f imageFile) error { return os.Truncate(path, int64(len(f.text)/2)) },
	"zeros":      func(path string, f imageFile) error { return imageFile{nil, f.size}.write(path) },
	"first byte": func(path string, f imageFile) error { return flip(path, f, 0) },
	"a byte":     func(path string, f imageFile) error { return flip(path, f, len(f.text)/3) },
	"last byte":  func(path string, f imageFile) error { return flip(path, f, len(f.text)-1) },
	"longer": func(path string, f imageFile) error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = file.WriteString("some more")
			err = errors.Join(err, file.Close())
		}
		return err
	},
	"a folder": func(path string, _ imageFile) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
}

func flip(path string, f imageFile, at int) error {
	text := bytes.Clone(f.text)
	if at >= 0 && at < len(text) {
		text[at] ^= 4
	}
	return imageFile{text, f.size}.write(path)
}

// TestDamage damages each file of a store in many ways. A folder that opens holds all that it held.
// Any other is refused. No process ends with a trace of its stack.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 200 processes, some 20 s: not with -short")
	}
	dir := t.TempDir()
	s := open(t, dir, damageOptions)
	for n := uint64(1); n <= 300; n++ {
		step := stepOf(n)
		if n%100 == 0 {
			step[0].Value = bytes.Repeat(blobOf(n)[:1000], 1100) // 1.1 MB
		}
		if err := s.Commit(step); err != nil {
			t.Fatal(err)
		}
		if n == 200 {
			if err := s.WriteSnapshot(1, chunksAt(n)); err != nil {
				t.Fatal(err)
			}
			if err := s.FlipSnapshot(1, number(n)); err != nil {
				t.Fatal(err)
			}
		}
		if n == 250 { // a table, of which the log was
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, damageOptions)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	killed := imageOf(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]image{"killed": killed, "closed": imageOf(t, dir)} {
		whole := t.TempDir()
		folder.write(t, whole)
		want, said := read(t, whole, false)
		if want == "" {
			t.Fatal(said)
		}
		for _, kind := range []string{".sst", ".vlog", generationExtension} {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(folder)), func(f string) bool { return filepath.Ext(f) == kind }) {
				t.Errorf("%s: there is no file *%s", name, kind)
			}
		}
		for turn, f := range slices.Sorted(maps.Keys(folder)) {
			if filepath.Ext(f) == ".sst" && f > "000002" || name == "closed" && filepath.Ext(f) == "" && f != badger.ManifestFilename && f != markerName {
				continue // as the others
			}
			t.Run(name+" "+f, func(t *testing.T) {
				t.Parallel()
				readOnly := rand.IntN(2) == 0
				for i, how := range slices.Sorted(maps.Keys(damages)) {
					if testrun.LeavesOut(i+turn, 2) {
						continue // the short form has every other damage of each file, in turn
					}
					damage := damages[how]
					readOnly = !readOnly || filepath.Ext(f) == ".mem"
					at := t.TempDir()
					folder.write(t, at)
					if err := damage(filepath.Join(at, f), folder[f]); err != nil {
						t.Fatal(err)
					}
					got, said := read(t, at, readOnly)
					switch {
					case got != "" && got != want:
						t.Errorf("%s (read-only %v): it opens with another content", how, readOnly)
					case got == "" && testing.Verbose():
						t.Logf("%s (read-only %v): %s", how, readOnly, strings.ReplaceAll(said, at, ""))
					case testing.Verbose():
						t.Logf("%s (read-only %v): nothing is lost", how, readOnly)
					}
				}
			})
		}
	}
}

// TestManifestIsGone: the store of a service that ended is not taken for an empty folder, and keeps its tables.
func TestManifestIsGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	put(t, s, records, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, badger.ManifestFilename)); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if _, err := Open(dir, Options{ReadOnly: readOnly}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "MANIFEST") {
			t.Errorf("%v", err)
		}
	}
	if tables, _ := filepath.Glob(filepath.Join(dir, "*.sst")); len(tables) == 0 {
		t.Error("the tables were removed")
	}
}

// TestMarker: a store of an older version has no marker, and gets one. A store with fewer commits than
// the marker names is refused, also an empty one.
func TestMarker(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	put(t, s, records, "a", "b")
	seq := s.made.Load()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have, there, err := readMarker(dir); have != seq || !there || err != nil {
		t.Fatal(have, there, err)
	}
	s = open(t, dir, Options{})
	if err := s.db.Update(func(txn *badger.Txn) error { return txn.Delete(ownKey(markerRecord)) }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, markerName))); err != nil {
		t.Fatal(err) // as an older version leaves it
	}
	open(t, dir, Options{ReadOnly: true}).Close()
	s = open(t, dir, Options{})
	put(t, s, records, "c")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have, _, err := readMarker(dir); have != s.made.Load() || err != nil {
		t.Errorf("the marker names %d: %v", have, err)
	}
	empty := t.TempDir()
	open(t, empty, Options{}).Close()
	if err := os.WriteFile(filepath.Join(empty, markerName), markerText(1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if _, err := Open(empty, Options{ReadOnly: readOnly}); !errors.Is(err, ErrDamaged) {
			t.Errorf("an emptied store: %v", err)
		}
	}
}

// TestTableDamagedUnderTheStore: the daily check of the tables fails the store.
func TestTableDamagedUnderTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	put(t, s, records, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if err := s.auditTables(); err != nil || s.Failure() != nil {
		t.Fatal(err)
	}
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	text, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := flipInPlace(tables[0], text, 20); err != nil {
		t.Fatal(err)
	}
	if err := s.auditTables(); !errors.Is(err, ErrDamaged) || !errors.Is(s.Failure(), ErrDamaged) {
		t.Error(err, s.Failure())
	}
	if err := s.Audit(t.Context(), nil); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

func flipInPlace(path string, text []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{text[at] ^ 1}, at)
	return errors.Join(err, f.Close())
}

// TestReplacedUnderTheStore: another store at its place, or a folder that cannot be written to, fails the
// running store within seconds, though nothing is committed.
func TestReplacedUnderTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(t *testing.T, dir string)
		want  error
	}{
		"replaced": {func(t *testing.T, dir string) {
			other := filepath.Join(t.TempDir(), "other")
			open(t, other, Options{}).Close()
			if err := errors.Join(os.Rename(dir, dir+".away"), os.Rename(other, dir)); err != nil {
				t.Fatal(err)
			}
		}, ErrGone},
		"files replaced": {func(t *testing.T, dir string) {
			other := t.TempDir()
			open(t, other, Options{}).Close()
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, f := range files {
				os.Remove(f)
			}
			copySparse(t, dir, other)
		}, ErrGone},
		"read-only": {func(t *testing.T, dir string) { makeReadOnly(t, dir) }, ErrUnwritable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, records, "a")
			c.fault(t, dir)
			select {
			case <-s.Broken():
			case <-time.After(10 * time.Second):
				t.Fatal("nothing was noticed")
			}
			if err := s.Failure(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err := s.Commit([]Entry{{Space: records, Key: []byte("b")}}); !errors.Is(err, c.want) {
				t.Errorf("a commit gives %v, want %v", err, c.want)
			}
			if err := s.Close(); !errors.Is(err, c.want) {
				t.Errorf("close gives %v, want %v", err, c.want)
			}
		})
	}
}

// makeReadOnly makes a folder read-only until the end of the test: for root by the attribute "immutable".
func makeReadOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		return
	}
	if out, err := exec.Command("chattr", "+i", dir).CombinedOutput(); err != nil {
		t.Skipf("needs a file system on which chattr +i works, as root: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("chattr", "-i", dir).Run() })
}
