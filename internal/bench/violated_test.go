//go:build linux

package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/isowatch/isowatch/internal/workload"
)

// BenchmarkViolated runs monitor check on a history of 8,156 transactions of 170 operations that is serializable, and on
// one of the same size with thousands of cycles. It prints the CPU time of each, and their ratio.
func BenchmarkViolated(b *testing.B) {
	monitor, dir := program(b), b.TempDir()
	for b.Loop() {
		var cpu [2]float64
		for i, lag := range []int{0, 8} {
			var text bytes.Buffer
			for _, t := range timeless(serialHistory(8156, 24, 113, lag)) {
				text.Write(workload.AppendJSON(nil, &t))
				text.WriteByte('\n')
			}
			file := filepath.Join(dir, strconv.Itoa(lag)+".jsonl")
			if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(monitor, "check", "--levels", "serializable", file)
			if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != i {
				b.Fatal(cmd.ProcessState, err)
			}
			cpu[i] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		}
		b.ReportMetric(cpu[0], "valid-s")
		b.ReportMetric(cpu[1], "violated-s")
		b.ReportMetric(cpu[1]/cpu[0], "times")
	}
}
