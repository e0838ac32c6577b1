package store

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// residentOf is how many bytes of b are in memory.
func residentOf(t *testing.T, b []byte) int {
	t.Helper()
	page := os.Getpagesize()
	begin := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	pages := (len(b) - begin) / page
	there := make([]byte, pages)
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&b[begin])), uintptr(pages*page), uintptr(unsafe.Pointer(&there[0]))); errno != 0 {
		t.Skipf("the system does not tell which pages are in memory: %v", errno)
	}
	n := 0
	for _, x := range there {
		n += int(x&1) * page
	}
	return n
}

// TestCalm: a store with few commits writes its table in memory out early, and the memory of the next tables goes back to the
// system. A busy one has whole tables. All that was committed is there.
func TestCalm(t *testing.T) {
	const table, value, each, looks = 32 << 20, 1 << 10, 30, 60 // looks of 30 KiB: 1.8 MiB
	s, err := Open(t.TempDir(), Options{MemTable: table})       // its upkeep does not look
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := uint64(0)
	commit := func(times int) {
		t.Helper()
		for range times {
			n++
			if err := s.Commit([]Entry{{Space: 1, Key: binary.BigEndian.AppendUint64(nil, n), Value: make([]byte, value)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	tables := map[unsafe.Pointer]bool{}
	for range looks {
		commit(each)
		s.calm()
		if tables[s.calmed.table] = true; len(tables) > 1 {
			runtime.GC() // the next table takes memory that was used
		}
	}
	if !memTable.ok || len(tables) < 3 {
		t.Fatalf("%d KiB were committed, and %d tables were begun", looks*each*value>>10, len(tables))
	}
	rest := restOf(s.calmed.table)
	if n := residentOf(t, rest); n > 1<<20 || len(rest) < table-1<<20 || s.Untouched() != int64(len(rest)) {
		t.Errorf("%d bytes of a calm table are in memory, of %d that hold nothing", n, len(rest))
	}
	commit(4 * each)
	s.calm()
	last := s.calmed.table
	for range 8 {
		commit(4 * each)
		s.calm()
	}
	if s.calmed.table != last {
		t.Error("a busy store has small tables")
	}
	for deadline := time.Now().Add(10 * time.Second); s.db.Levels()[0].NumTables == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no table was written out")
		}
	}
	for i := uint64(1); i <= n; i++ {
		if got, err := s.Get(1, binary.BigEndian.AppendUint64(nil, i)); err != nil || len(got) != value {
			t.Fatalf("entry %d has %d bytes: %v", i, len(got), err)
		}
	}
}
