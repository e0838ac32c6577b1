//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/workload"
)

// decoded holds what encoding/json makes of a record.
type decoded struct {
	Txn, Session, Status string
	Seq, Start, End      int64
	Ops                  []struct {
		Op, Key string
		Value   int64
		Found   *bool
	}
}

// BenchmarkDecoding compares monitor check of a million register transactions at two levels with encoding/json, which
// decodes them into structs and keeps none. It prints the seconds of both, how many times as fast check is, and its
// memory for a transaction.
func BenchmarkDecoding(b *testing.B) {
	const n = 1_000_000
	monitor, file := program(b), generated(b, n, 0, "serial")
	for b.Loop() {
		begin, before := time.Now(), used(b)
		decode(b, file)
		wall, cpu := time.Since(begin), used(b)-before
		check := started(b, 0, monitor, "check", "--levels", "serializable,snapshot-isolation", file)
		b.ReportMetric(wall.Seconds(), "json-s")
		b.ReportMetric(check.wall.Seconds(), "check-s")
		b.ReportMetric(wall.Seconds()/check.wall.Seconds(), "times")
		b.ReportMetric(cpu.Seconds()/check.cpu.Seconds(), "times-cpu")
		b.ReportMetric(float64(check.peak)/n, "B/txn")
	}
}

// write makes a file of the transactions.
func write(file string, txns []workload.Txn) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range txns {
		line = append(workload.AppendJSON(line[:0], &txns[i]), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// decode reads all records of the file with encoding/json.
func decode(b *testing.B, file string) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var d decoded
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			b.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
}

// used is the CPU time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
