package store

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCommit commits what a busy step of the engine does: one blob and 20
// small records. Older blobs are removed as snapshots would. Blobs are half
// random, which is about what normalised events are to Snappy.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		name string
		blob int
		o    Options
	}{
		{"512KiB", 512 << 10, Options{}},
		{"512KiB/fsync", 512 << 10, Options{Fsync: true}},
		{"16KiB", 16 << 10, Options{}},
		{"16KiB/fsync", 16 << 10, Options{Fsync: true}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkCommit(b, c.blob, c.o) })
	}
}

func benchmarkCommit(b *testing.B, size int, o Options) {
	s, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 1))
	blob := make([]byte, size)
	took := make([]time.Duration, 0, 1<<16)
	total, n := 0, uint64(0)
	b.ResetTimer()
	for b.Loop() {
		n++
		for i := 0; i+16 <= len(blob); i += 16 { // 8 random bytes of 16
			for j := range 8 {
				blob[i+j] = byte(random.Uint32())
			}
		}
		entries := []Entry{{Space: deltas, Key: number(n), Value: blob}}
		for i := range 20 {
			entries = append(entries, Entry{Space: records, Key: fmt.Appendf(nil, "position %d", i), Value: blob[:64]})
		}
		started := time.Now()
		if err := s.Commit(entries); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(started))
		total += size
		if n%256 == 0 {
			if err := s.DeleteRange(deltas, nil, number(n-64)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.StopTimer()
	slices.Sort(took)
	sum := time.Duration(0)
	for _, t := range took {
		sum += t
	}
	b.ReportMetric(float64(total)/1e6/sum.Seconds(), "MB/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
	b.ReportMetric(0, "ns/op") // includes making the blob
}

// BenchmarkCheckTables measures what a start costs for each byte of tables, in the page cache.
func BenchmarkCheckTables(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	const steps = 8000
	for n := uint64(1); n <= steps; n++ {
		if err := s.Commit([]Entry{{Space: deltas, Key: number(n), Value: blobOf(n)}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	size := int64(0)
	for _, name := range tables {
		info, err := os.Stat(name)
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.SetBytes(size)
	for b.Loop() {
		if err := checkTables(b.Context(), dir, badgerOptions(dir, Options{MemTable: 28 << 20, Logger: slog.New(slog.DiscardHandler)})); err != nil {
			b.Fatal(err)
		}
	}
}
