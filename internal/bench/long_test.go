//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/workload"
)

// BenchmarkLong writes transactions to the standard input of the service: 10 million, or ISOWATCH_LONG. It prints memory,
// disk and CPU time in each tenth, and how much was written to disk for each byte of input. Event times pass at 1,000
// transactions a second, so that the window of a minute holds some 60,000.
func BenchmarkLong(b *testing.B) {
	monitor := program(b)
	count := 10_000_000
	if n, err := strconv.Atoi(os.Getenv("ISOWATCH_LONG")); err == nil {
		count = n
	}
	for b.Loop() {
		measureLong(b, monitor, count)
	}
}

func measureLong(b *testing.B, monitor string, count int) {
	data := b.TempDir()
	in, out := io.Pipe()
	s := serveInput(b, monitor, data, in, "--stdin")
	gen, err := workload.NewGenerator(workload.Config{Count: count, Interval: time.Millisecond, Busy: 0.1}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		b.Fatal(err)
	}
	arrivals := workload.NewArrivals(gen, 5*time.Millisecond, rand.New(rand.NewPCG(2, 2)))
	w := bufio.NewWriterSize(out, 1<<20)
	var line []byte
	bytes, sent := int64(0), 0
	cpu, least, most := s.cpu(b), 0.0, 0.0
	for tenth := 1; tenth <= 10; tenth++ {
		for ; sent < count/10*tenth; sent++ {
			t, ok := arrivals.Next()
			if !ok {
				break
			}
			line = append(workload.AppendJSON(line[:0], &t), '\n')
			bytes += int64(len(line))
			if _, err := w.Write(line); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		taken := func() bool { return s.metrics(b)["isowatch_records_total"] >= float64(sent)*0.999 }
		for deadline := time.Now().Add(10 * time.Minute); !taken(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				b.Fatalf("%d records are not taken in", sent)
			}
		}
		now := s.cpu(b)
		each := (now - cpu).Seconds() * 1e6 / float64(count/10)
		cpu = now
		b.Logf("tenth %d: %.2f us of CPU a transaction, %.0f MiB resident, %.0f MiB on disk", tenth, each, s.memory("VmRSS")/(1<<20), float64(diskUse(b, data))/(1<<20))
		if tenth > 1 { // the window fills in the first
			least, most = min(least, each), max(most, each)
		} else {
			least, most = 1e9, 0
		}
	}
	written := s.written(b)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(most/least, "most/least-cpu")
	b.ReportMetric(s.memory("VmHWM")/(1<<20), "peak-MiB")
	b.ReportMetric(float64(bytes)/float64(count), "input-bytes/txn")
	b.ReportMetric(written/float64(bytes), "write-amplification")
	_ = out.Close()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		b.Fatal("the service did not end within a minute of its input")
	}
}

// diskUse returns what the files of a folder hold, bytes.
func diskUse(b *testing.B, dir string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it went meanwhile
		}
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				n += 512 * s.Blocks // tables of memory are sparse files
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// written returns what the process has caused to be written to disk, bytes.
func (s *service) written(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return n
		}
	}
	return 0
}
