package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// crashDir, set in the environment, makes the test binary the process that is
// killed: it writes into that folder until then.
const crashDir = "ISOWATCH_STORE_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(damagedDir); dir != "" {
		os.Exit(readDamaged(dir))
	}
	os.Exit(testrun.Run(m.Run))
}

const head Space = 'h' // one record: the number of the last step

const (
	cells     = 50 // step n writes record n mod cells
	snapEvery = 25 // steps
)

var crashOptions = Options{MemTable: 2 << 20} // small, so that tables are written and compacted all the time

// blobOf is the delta of step n: 1 to 32 KiB that follow from n.
func blobOf(n uint64) []byte {
	random := rand.New(rand.NewPCG(n, 7))
	blob := make([]byte, 1024+random.IntN(31<<10))
	for i := range blob {
		blob[i] = byte(random.Uint32())
	}
	return blob
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// stepOf returns what step n commits.
func stepOf(n uint64) []Entry {
	return []Entry{
		{Space: deltas, Key: number(n), Value: blobOf(n)},
		{Space: records, Key: number(n % cells), Value: number(n)},
		{Space: head, Value: number(n)},
	}
}

// chunksAt is the snapshot behind step n: 40 chunks.
func chunksAt(n uint64) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := range uint64(40) {
			if !yield(number(n*1000 + i)) {
				return
			}
		}
	}
}

// writeUntilKilled goes on where the folder ends, and prints each step that was
// committed.
func writeUntilKilled(dir string) error {
	s, err := Open(dir, crashOptions)
	if err != nil {
		return err
	}
	n, gen, err := endOf(s)
	if err != nil {
		return err
	}
	for {
		n++
		if err := s.Commit(stepOf(n)); err != nil {
			return err
		}
		fmt.Println(n)
		if n%snapEvery != 0 {
			continue
		}
		gen++
		if err := s.WriteSnapshot(gen, chunksAt(n)); err != nil {
			return err
		}
		if err := s.FlipSnapshot(gen, number(n), Range{deltas, nil, number(n + 1)}); err != nil {
			return err
		}
	}
}

func endOf(s *Store) (n, gen uint64, err error) {
	value, err := s.Get(head, nil)
	if err != nil {
		return 0, 0, err
	}
	if value != nil {
		n = binary.BigEndian.Uint64(value)
	}
	return n, s.generation(), nil
}

// checkSteps checks that the folder holds steps 1 to n and nothing else, as a
// snapshot and the deltas behind it.
func checkSteps(t *testing.T, s *Store) (n uint64) {
	t.Helper()
	n, _, err := endOf(s)
	if err != nil {
		t.Fatal(err)
	}
	for cell := range uint64(cells) {
		var want []byte
		if last := n - (n-cell)%cells; cell <= n && last > 0 {
			want = number(last)
		}
		got, err := s.Get(records, number(cell))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("step %d: cell %d is %x, %v, want %x", n, cell, got, err, want)
		}
	}
	base := checkBase(t, s)
	next := base + 1
	if err := s.Scan(deltas, number(next), nil, func(key, value []byte) error {
		if step := binary.BigEndian.Uint64(key); step != next || !bytes.Equal(value, blobOf(step)) {
			return fmt.Errorf("delta %d (%d bytes) where %d should be", step, len(value), next)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != n+1 {
		t.Fatalf("deltas %d to %d behind the snapshot, but the head is %d", base+1, next-1, n)
	}
	return n
}

// checkBase checks the snapshot's chunks and is the step that it stands behind.
func checkBase(t *testing.T, s *Store) (base uint64) {
	t.Helper()
	gen, meta, chunks, err := s.LoadSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	if gen > 0 {
		base = binary.BigEndian.Uint64(meta)
	}
	i := uint64(0)
	for chunk, err := range chunks {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(chunk, number(base*1000+i)) {
			t.Fatalf("generation %d: chunk %d is %x", gen, i, chunk)
		}
		i++
	}
	if gen > 0 && i != 40 {
		t.Fatalf("generation %d: %d chunks", gen, i)
	}
	return base
}

func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills ten processes, 6 s: not with -short")
	}
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 10 {
		acked := runAndKill(t, dir, time.Duration(30+random.IntN(250))*time.Millisecond)
		o := crashOptions
		o.ReadOnly = round%2 == 0 // a killed writer's folder can be read as it is, too
		s, err := Open(dir, o)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		n := checkSteps(t, s)
		if err := s.Audit(t.Context(), nil); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if n < acked || n > acked+1 {
			t.Errorf("round %d: %d steps are there, %d were acknowledged", round, n, acked)
		}
	}
}

// runAndKill is the last step that the writer said it had committed, or what
// was there when it was killed before its first.
func runAndKill(t *testing.T, dir string, after time.Duration) (acked uint64) {
	t.Helper()
	if s, err := Open(dir, crashOptions); err == nil {
		acked, _, _ = endOf(s)
		s.Close()
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashDir+"="+dir)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n') // it is up: the time starts now
	if err != nil {
		t.Fatalf("the writer ended: %s", &stderr)
	}
	time.AfterFunc(after, func() { child.Process.Kill() })
	rest, _ := io.ReadAll(lines)
	child.Wait()
	all := bytes.Split(append([]byte(first), rest...), []byte("\n"))
	for _, line := range all[:len(all)-1] { // what follows the last newline was cut
		if n, err := strconv.ParseUint(string(line), 10, 64); err == nil {
			acked = n
		}
	}
	if stderr.Len() > 0 {
		t.Fatalf("the writer ended: %s", &stderr)
	}
	return acked
}

// A copy of the folder of a running store is what a crash would leave.
func TestCopyOfARunningStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, crashOptions)
	for n := uint64(1); n <= 20; n++ { // under one memory table: no file changes but by a commit
		if err := s.Commit(stepOf(n)); err != nil {
			t.Fatal(err)
		}
		if n%5 != 0 {
			continue
		}
		image := t.TempDir()
		copySparse(t, image, dir)
		// The lock belongs to the folder and not to its content.
		again := open(t, image, crashOptions)
		if got := checkSteps(t, again); got != n {
			t.Errorf("copy behind step %d holds %d", n, got)
		}
		again.Close()
	}
}

// The image of a store that was cut off while it wrote a commit, byte by byte:
// the commit is there as a whole or not at all.
func TestCutOffCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{MemTable: 1 << 20})
	if err := s.Commit(stepOf(1)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(dir + "/00001.mem")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(stepOf(2)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(dir + "/00001.mem")
	if err != nil {
		t.Fatal(err)
	}
	first, last := changed(before, after)
	cuts := []int{last}
	for i := range 8 { // through the blob, and closely through the small records behind it
		cuts = append(cuts, first+(last-first)*i/8)
	}
	for cut := last - 200; cut < last; cut += 8 {
		cuts = append(cuts, cut)
	}
	files := imageOf(t, dir)
	for _, cut := range cuts {
		image := t.TempDir()
		files.write(t, image)
		half := append(append([]byte{}, after[:cut]...), before[cut:]...)
		if err := os.WriteFile(image+"/00001.mem", half, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(image, markerName), markerText(1), 0o600); err != nil {
			t.Fatal(err) // the second commit was not synced
		}
		again := open(t, image, Options{MemTable: 1 << 20})
		want := uint64(1)
		if cut == last {
			want = 2
		}
		if n := checkSteps(t, again); n != want {
			t.Errorf("cut at byte %d of %d to %d: %d steps, want %d", cut, first, last, n, want)
		}
		again.Close()
	}
}

// changed are the bounds of what differs.
func changed(a, b []byte) (first, last int) {
	for first < len(a) && a[first] == b[first] {
		first++
	}
	last = min(len(a), len(b))
	for last > first && a[last-1] == b[last-1] {
		last--
	}
	return first, last
}
