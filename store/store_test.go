package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const records Space = 'r'

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s *Store, sp Space, keys ...string) {
	t.Helper()
	var entries []Entry
	for _, key := range keys {
		entries = append(entries, Entry{Space: sp, Key: []byte(key), Value: []byte("value of " + key)})
	}
	if err := s.Commit(entries); err != nil {
		t.Fatal(err)
	}
}

func keysOf(t *testing.T, s *Store, sp Space, from, to []byte, reverse bool) []string {
	t.Helper()
	keys := []string{}
	scan := s.Scan
	if reverse {
		scan = s.ScanReverse
	}
	err := scan(sp, from, to, func(key, value []byte) error {
		if want := "value of " + string(key); string(value) != want {
			t.Errorf("key %q: value %q, want %q", key, value, want)
		}
		keys = append(keys, string(key))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestGetAll asks for several keys at once, some of which are not there, and ends
// at the first error.
func TestGetAll(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a", "c")
	put(t, s, 'o', "b")
	ask := [][]byte{[]byte("c"), []byte("b"), []byte("a"), []byte("c"), nil}
	var got []string
	err := s.GetAll(records, ask, func(i int, value []byte) error {
		got = append(got, fmt.Sprintf("%d %q %v", i, value, value == nil))
		return nil
	})
	want := []string{`0 "value of c" false`, `1 "" true`, `2 "value of a" false`, `3 "value of c" false`, `4 "" true`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	stop := errors.New("stop")
	calls := 0
	if err := s.GetAll(records, ask, func(int, []byte) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("ended with %v after %d calls", err, calls)
	}
	if err := s.GetAll(0, ask, nil); err == nil {
		t.Error("the store's own space was read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.GetAll(records, ask, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v, want %v", err, ErrClosed)
	}
}

func TestCommitAndGet(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if err := s.Commit([]Entry{
		{Space: records, Key: []byte("a"), Value: []byte("1")},
		{Space: records, Key: []byte("b"), Value: []byte("1")},
		{Space: records, Key: []byte("b"), Value: []byte("2")}, // the last change of a key counts
		{Space: records, Key: []byte("c"), Value: []byte("1")},
		{Space: records, Key: []byte("c"), Delete: true},
		{Space: records, Key: []byte("empty")},
		{Space: 's', Key: nil, Value: []byte("empty key")},
	}); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		for _, c := range []struct {
			sp   Space
			key  string
			want []byte
		}{
			{records, "a", []byte("1")},
			{records, "b", []byte("2")},
			{records, "c", nil},
			{records, "empty", []byte{}},
			{records, "absent", nil},
			{'s', "", []byte("empty key")},
			{'t', "a", nil},
		} {
			got, err := s.Get(c.sp, []byte(c.key))
			if err != nil || !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("Get(%c, %q) = %q, %v, want %q", c.sp, c.key, got, err, c.want)
			}
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, dir, Options{}))
}

func TestScan(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, 'q', "before") // neighbours on both sides of the space
	put(t, s, records, "b", "a", "c", "ca", "d")
	put(t, s, 's', "", "after")
	tests := []struct {
		from, to []byte
		want     []string
	}{
		{nil, nil, []string{"a", "b", "c", "ca", "d"}},
		{[]byte("b"), nil, []string{"b", "c", "ca", "d"}},
		{nil, []byte("c"), []string{"a", "b"}},
		{[]byte("b"), []byte("ca"), []string{"b", "c"}},
		{[]byte("bb"), []byte("cb"), []string{"c", "ca"}},
		{[]byte("x"), nil, []string{}},
		{nil, []byte{}, []string{}}, // an empty bound is not an open one
		{[]byte("c"), []byte("b"), []string{}},
	}
	for _, c := range tests {
		if got := keysOf(t, s, records, c.from, c.to, false); !slices.Equal(got, c.want) {
			t.Errorf("Scan(%q, %q) = %q, want %q", c.from, c.to, got, c.want)
		}
		slices.Reverse(c.want)
		if got := keysOf(t, s, records, c.from, c.to, true); !slices.Equal(got, c.want) {
			t.Errorf("ScanReverse(%q, %q) = %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func TestScanEndsAtTheCallersError(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	put(t, s, records, "a", "b", "c")
	enough := errors.New("enough")
	calls := 0
	err := s.Scan(records, nil, nil, func(key, _ []byte) error {
		if calls++; string(key) == "b" {
			return enough
		}
		return nil
	})
	if err != enough || calls != 2 {
		t.Errorf("Scan = %v after %d calls, want the caller's own error after 2", err, calls)
	}
}

func TestCommitTooBig(t *testing.T) {
	s := open(t, t.TempDir(), Options{MemTable: 2 << 20})
	bytesOver := []Entry{{Space: records, Key: []byte("k"), Value: make([]byte, 2<<20)}}
	var countOver []Entry
	for i := range 5000 {
		countOver = append(countOver, Entry{Space: records, Key: fmt.Appendf(nil, "%05d", i)})
	}
	for name, entries := range map[string][]Entry{"bytes": bytesOver, "entries": countOver} {
		err := s.Commit(entries)
		var big *TooBigError
		if !errors.Is(err, ErrTooBig) || !errors.As(err, &big) {
			t.Fatalf("%s: Commit = %v, want ErrTooBig", name, err)
		}
		if big.Entries <= big.MaxEntries && big.Bytes <= big.MaxBytes {
			t.Errorf("%s: %v, but neither figure is over its limit", name, big)
		}
	}
	if got := keysOf(t, s, records, nil, nil, false); len(got) != 0 {
		t.Errorf("%d entries of a refused commit are there", len(got))
	}
	// The limits that the error names are the true ones: what is just within is taken.
	var big *TooBigError
	errors.As(s.Commit(countOver), &big)
	if err := s.Commit(countOver[:big.MaxEntries]); err != nil {
		t.Errorf("commit of %d entries, which is the limit: %v", big.MaxEntries, err)
	}
	value := make([]byte, big.MaxBytes-1-EntryOverhead)
	if err := s.Commit([]Entry{{Space: records, Key: []byte("k"), Value: value}}); err != nil {
		t.Errorf("commit of %d bytes, which is the limit: %v", big.MaxBytes, err)
	}
}

func TestCommitRefusesReservedSpacesAndLongKeys(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, sp := range []Space{0, '!', 0xff} {
		err := s.Commit([]Entry{{Space: records}, {Space: sp, Key: []byte("k")}})
		if err == nil || !strings.Contains(err.Error(), "entry 1") {
			t.Errorf("space %#x: Commit = %v, want an error that names entry 1", sp, err)
		}
		if _, err := s.Get(sp, nil); err == nil {
			t.Errorf("space %#x: Get is allowed", sp)
		}
		if err := s.Scan(sp, nil, nil, nil); err == nil {
			t.Errorf("space %#x: Scan is allowed", sp)
		}
		if err := s.DeleteRange(sp, nil, nil); err == nil {
			t.Errorf("space %#x: DeleteRange is allowed", sp)
		}
	}
	if err := s.Commit([]Entry{{Space: records, Key: make([]byte, 33<<10)}}); err == nil {
		t.Error("a key of 33 KiB is taken")
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(dir, o)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("read-only %v: Open = %v, want ErrLocked with process %d", o.ReadOnly, err, os.Getpid())
		}
	}
	s.Close()
	first, second := open(t, dir, Options{ReadOnly: true}), open(t, dir, Options{ReadOnly: true})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("Open beside readers = %v, want ErrLocked", err)
	}
	first.Close()
	second.Close()
	open(t, dir, Options{})
}

func TestOpenWaitsForTheLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	opened := make(chan error)
	go func() {
		later, err := Open(dir, Options{LockWait: 20e9})
		if err == nil {
			err = later.Close()
		}
		opened <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestOpenEndsWhileLocked: the wait for the lock ends with the context.
func TestOpenEndsWhileLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	var told strings.Builder // at once, and who has it
	logger := slog.New(slog.NewTextHandler(&told, nil))
	if _, err := OpenContext(ctx, dir, Options{LockWait: time.Minute, Logger: logger}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrLocked) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if text := told.String(); strings.Count(text, "waiting for another process to leave the data folder") != 1 || !strings.Contains(text, fmt.Sprintf("(process %d)", os.Getpid())) {
		t.Errorf("told while it waits: %q", text)
	}
}

// A process that is killed while it opens a store for the first time leaves one of
// these folders.
func TestReadOnlyBeforeTheFirstRecord(t *testing.T) {
	made := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	noFormat := made()
	db, err := badger.Open(badgerOptions(noFormat, Options{MemTable: 32 << 20, Logger: slog.New(slog.DiscardHandler)}))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// Badger has made its manifest, and the log of its first memory table is empty.
	emptyLog := made("00001.mem")
	manifest := "Bdgr\x00\x00\x00\x08" + "\x00\x00\x00\x00\x00\x00\x00\x00" // versions 0 and 8, and an empty set of changes
	if err := os.WriteFile(filepath.Join(emptyLog, badger.ManifestFilename), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"empty log": emptyLog, "locked": made("LOCK"), "manifest begun": made("LOCK", "MANIFEST-REWRITE"), "no format record": noFormat,
	} {
		if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrEmpty) {
			t.Errorf("%s: %v, want ErrEmpty", name, err)
		}
		open(t, dir, Options{}).Close()
		open(t, dir, Options{ReadOnly: true}).Close()
	}
	if _, err := Open(made("LOCK", "000001.sst"), Options{ReadOnly: true}); err == nil || errors.Is(err, ErrEmpty) {
		t.Errorf("a table without a manifest: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "nothing"), Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of no folder = %v, want ErrNotExist", err)
	}
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrEmpty) {
		t.Errorf("Open of an empty folder = %v, want ErrEmpty", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("opening read-only left %v", names)
	}
	s := open(t, dir, Options{})
	put(t, s, records, "a")
	s.Close()
	r := open(t, dir, Options{ReadOnly: true})
	if got := keysOf(t, r, records, nil, nil, false); !slices.Equal(got, []string{"a"}) {
		t.Errorf("keys %q", got)
	}
	for name, err := range map[string]error{
		"Commit":        r.Commit([]Entry{{Space: records, Key: []byte("b")}}),
		"DeleteRange":   r.DeleteRange(records, nil, nil),
		"WriteSnapshot": r.WriteSnapshot(1, slices.Values([][]byte{{1}})),
		"FlipSnapshot":  r.FlipSnapshot(1, nil),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s = %v, want ErrReadOnly", name, err)
		}
	}
}

// TestInMemory: a store in memory is one as long as it is open, snapshots included, and
// leaves nothing behind that a later one would find.
func TestInMemory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{InMemory: true})
	put(t, s, records, "a", "b", "c")
	writeAndFlip(t, s, 1, nil, "x", "y")
	wantSnapshot(t, s, 1, "meta 1", "x", "y")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, s, records, nil, nil, false); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("keys %q", got)
	}
	if err := s.Audit(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{InMemory: true})
	if got := keysOf(t, s, records, nil, nil, false); len(got) > 0 {
		t.Errorf("keys %q of a store that was closed", got)
	}
	wantSnapshot(t, s, 0, "")
}

func TestForeignDatabase(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"someone's key", "v", "another program"},
		{string(ownKey(formatRecord)), "isowatch-store 99", "isowatch-store 99"},
	} {
		dir := t.TempDir()
		db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(txn *badger.Txn) error { return txn.Set([]byte(c.key), []byte(c.value)) })
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open = %v, want ErrFormat with %q", err, c.want)
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	s.Close()
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	_, getErr := s.Get(records, []byte("a"))
	_, _, _, loadErr := s.LoadSnapshot()
	for name, err := range map[string]error{
		"Commit": s.Commit(nil), "Get": getErr, "Scan": s.Scan(records, nil, nil, nil), "Sync": s.Sync(),
		"DeleteRange": s.DeleteRange(records, nil, nil), "LoadSnapshot": loadErr,
		"Audit": s.Audit(context.Background(), nil),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s = %v, want ErrClosed", name, err)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := Open(t.TempDir(), Options{MemTable: 1000}); err == nil || !strings.Contains(err.Error(), "1000") {
		t.Errorf("Open = %v, want an error that names the size", err)
	}
	s := open(t, t.TempDir(), Options{Fsync: true})
	if !s.db.Opts().SyncWrites {
		t.Error("Fsync does not sync writes")
	}
	if s := open(t, t.TempDir(), Options{}); s.db.MaxBatchSize() < 4<<20 || s.db.MaxBatchCount() < 10_000 {
		t.Errorf("limits %d bytes, %d entries; a step of the engine needs 4 MiB and 10,000", s.db.MaxBatchSize(), s.db.MaxBatchCount())
	}
}

// TestDamagedTables: a table that Badger would panic on is an error that names it. One that the
// manifest does not name, as a kill leaves it, is none.
func TestDamagedTables(t *testing.T) {
	for name, damage := range map[string]func(text []byte) []byte{
		"cut":    func(text []byte) []byte { return text[:3] },
		"empty":  func([]byte) []byte { return nil },
		"half":   func(text []byte) []byte { return text[:len(text)/2] },
		"zeros":  func(text []byte) []byte { return make([]byte, len(text)) },
		"ones":   func(text []byte) []byte { return bytes.Repeat([]byte{0xff}, len(text)) },
		"a byte": func(text []byte) []byte { text[len(text)-1]++; return text },
		"random": func(text []byte) []byte { return bytes.Repeat([]byte{0, 0, 1, 0xf3, 7}, len(text)/5) },
	} {
		for _, readOnly := range []bool{false, true} {
			t.Run(fmt.Sprint(name, readOnly), func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir, Options{})
				put(t, s, records, "a", "b")
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
				if err != nil || len(tables) == 0 {
					t.Fatal(err, "no table")
				}
				text, err := os.ReadFile(tables[0])
				if err != nil {
					t.Fatal(err)
				}
				text = damage(text)
				left := filepath.Join(dir, "000099.sst")
				if err := os.WriteFile(left, text, 0o600); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, Options{ReadOnly: readOnly})
				keysOf(t, s, records, nil, nil, false)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(tables[0], text, 0o600); err != nil {
					t.Fatal(err)
				}
				if s, err := Open(dir, Options{ReadOnly: readOnly}); err == nil {
					s.Close()
					t.Fatal("it opened")
				} else if !strings.Contains(err.Error(), "000001.sst") && !strings.Contains(err.Error(), "table") {
					t.Error(err)
				}
			})
		}
	}
}

func TestSharedPrefix(t *testing.T) {
	for _, c := range []struct{ first, limit, want string }{
		{"o", "p", "o"},
		{"o\x00\x01", "o\x00\x09", "o"},
		{"o\xff", "p", "o"},
		{"o", "p\x00", ""},
		{"o", "q", ""},
		{"", "p", ""},
		{"o", "", ""},
	} {
		if got := sharedPrefix([]byte(c.first), []byte(c.limit)); string(got) != c.want {
			t.Errorf("[%q, %q): %q, want %q", c.first, c.limit, got, c.want)
		}
	}
}
