//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// BenchmarkRestart stops an engine with a million live transactions as a kill would, and opens it
// again: how long that takes to the first commit, and how much is read, in snapshots.
func BenchmarkRestart(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("live=%d", n), func(b *testing.B) {
			all := lines(b, workload.Config{Count: n})
			for range b.N {
				restart(b, all)
			}
		})
	}
}

func restart(b *testing.B, all [][]byte) {
	dir := b.TempDir()
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	options := engine.Options{
		Configure: func(string) window.Config {
			return window.Config{
				Levels: isolation.Watched(), Contract: window.Contract{Complete: true},
				Window: window.For(time.Hour), Lateness: window.For(25 * time.Millisecond),
			}
		},
		Now: func() int64 { return time.Now().UnixNano() },
	}
	e, err := engine.Open(st, options)
	if err != nil {
		b.Fatal(err)
	}
	read(b, e, all, 0)
	live := e.Status().Sources[0].Live
	reportStages(b, stagesOf(e))
	if err := st.Close(); err != nil { // without closing the engine
		b.Fatal(err)
	}
	snapshot := int64(0)
	files, _ := filepath.Glob(filepath.Join(dir, "*.snapshot"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			snapshot = max(snapshot, info.Size())
		}
	}
	before, cpu, began := bytesRead(), processorTime(), time.Now()
	if st, err = store.Open(dir, store.Options{}); err != nil {
		b.Fatal(err)
	}
	opened := time.Now()
	if e, err = engine.Open(st, options); err != nil {
		b.Fatal(err)
	}
	recovered := time.Now()
	read(b, e, all[:1], len(all))
	took, used := time.Since(began), processorTime()-cpu
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(opened.Sub(began).Seconds(), "store-s")
	b.ReportMetric(recovered.Sub(opened).Seconds(), "replay-s")
	b.ReportMetric(took.Seconds(), "wall-s")
	b.ReportMetric(used.Seconds(), "cpu-s")
	b.ReportMetric(float64(live), "live")
	b.ReportMetric(float64(bytesRead()-before)/(1<<20), "read-MiB")
	b.ReportMetric(float64(snapshot)/(1<<20), "snapshot-MiB")
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}

// read takes records in from the offset on.
func read(b *testing.B, e *engine.Engine, all [][]byte, from int) {
	in := make(chan ingest.Chunk)
	go func() {
		defer close(in)
		for len(all) > 0 {
			c := ingest.Chunk{Partition: "p"}
			for n := min(len(all), 1000); n > 0; n-- {
				c.Messages = append(c.Messages, ingest.Message{Offset: int64(from), Value: all[0]})
				all, from = all[1:], from+1
			}
			c.Cursor.Next = int64(from)
			in <- c
		}
	}()
	if err := e.Run(context.Background(), in, false); err != nil {
		b.Fatal(err)
	}
}

func stagesOf(e *engine.Engine) map[string]float64 {
	all := map[string]float64{}
	for _, x := range e.Stages() {
		for upTo, count := range x.UpTo {
			all[fmt.Sprintf("isowatch_step_seconds_bucket{stage=%q,le=\"%g\"}", x.Name, upTo)] = float64(count)
		}
	}
	return all
}

// bytesRead returns what this process has read by system calls.
func bytesRead() (n int64) {
	text, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "rchar: %d", &n)
	}
	return n
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
