package store

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

// compactorsRunning counts the goroutines of Badger's compactors in the process.
func compactorsRunning() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ").runCompactor(")
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// TestCompactorsRest writes more than Badger takes without a compaction, after the compactors went to rest.
func TestCompactorsRest(t *testing.T) {
	const memTable = 1 << 20
	s := open(t, t.TempDir(), Options{MemTable: memTable, compactEvery: 20 * time.Millisecond})
	for range 2 {
		waitFor(t, "no compactor runs", func() bool { return compactorsRunning() == 0 })
		value := make([]byte, 1000)
		random := rand.NewChaCha8([32]byte{})
		for i := range 20 * memTable / len(value) / 50 { // 20 tables: Badger stops at 15 in the highest level
			var entries []Entry
			for j := range 50 {
				random.Read(value)
				entries = append(entries, Entry{Space: 'x', Key: binary.BigEndian.AppendUint64(nil, uint64(i*50+j)*0x9e3779b97f4a7c15), Value: append([]byte{}, value...)})
			}
			if err := s.Commit(entries); err != nil {
				t.Fatal(err)
			}
		}
		waitFor(t, "the highest level is compacted", func() bool { return s.db.Levels()[0].NumTables < 5 })
	}
	if err := s.flatten(0, 0); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "no compactor runs after a flatten", func() bool { return compactorsRunning() == 0 })
}
