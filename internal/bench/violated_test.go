//go:build linux

package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// violations are kinds of histories, valid and violated, of one size each.
var violations = []struct {
	name  string
	args  []string
	valid func() []workload.Txn
	bad   func() []workload.Txn
}{
	{"long/snapshots", serializable, long(0), long(8)},
	{"long/snapshots/default", nil, long(0), long(8)},
	{"long/stale", serializable, long(0), stale(long(0), 60)},
	{"short/snapshots", serializable, short(0), short(100)},
	{"short/snapshots/default", nil, short(0), short(100)},
	{"short/snapshots/all", []string{"--levels", "all"}, short(0), short(100)},
	{"short/stale", serializable, short(0), stale(short(0), 60)},
	{"short/one", serializable, short(0), stale(short(0), 1<<30)},
	{"lists/stale", serializable, lists, stale(lists, 60)},
}

var serializable = []string{"--levels", "serializable"}

// long has transactions of 170 operations, which read as of up to lag transactions ago.
func long(lag int) func() []workload.Txn {
	return func() []workload.Txn { return timeless(serialHistory(8156, 24, 113, lag)) }
}

// short has transactions of 6 operations.
func short(lag int) func() []workload.Txn {
	return func() []workload.Txn { return timeless(serialHistory(100_000, 50, 4, lag)) }
}

// lists is a history of reads and appends of lists. What was written is appended.
func lists() []workload.Txn {
	all, at := timeless(serialHistory(20_000, 50, 4, 0)), map[string][]int64{}
	for i := range all {
		for j := range all[i].Ops {
			if o := &all[i].Ops[j]; o.Kind == event.Read {
				*o = workload.ReadList(o.Key, at[o.Key]...)
			} else {
				at[o.Key] = append(at[o.Key], o.Value)
				*o = workload.Append(o.Key, o.Value)
			}
		}
	}
	return all
}

// stale is a history where one transaction in so many reads what was written first to a key.
func stale(of func() []workload.Txn, every int) func() []workload.Txn {
	return func() []workload.Txn {
		all := of()
		for i := len(all) / 10; i < len(all); i += every {
			for j := range all[i].Ops {
				o := &all[i].Ops[j]
				if len(o.List) > 1 {
					o.List = o.List[:1]
					break
				}
				if o.Kind == event.Read && o.Value != 0 && o.Value != first[o.Key] {
					o.Value = first[o.Key]
					break
				}
			}
		}
		return all
	}
}

// BenchmarkViolated runs monitor check on a valid and a violated history of one size. It prints the CPU time of
// each, and their ratio.
func BenchmarkViolated(b *testing.B) {
	monitor, dir := program(b), b.TempDir()
	for _, v := range violations {
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				var cpu [2]float64
				for i, txns := range []func() []workload.Txn{v.valid, v.bad} {
					var text bytes.Buffer
					for _, t := range txns() {
						text.Write(workload.AppendJSON(nil, &t))
						text.WriteByte('\n')
					}
					file := filepath.Join(dir, "history.jsonl")
					if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
						b.Fatal(err)
					}
					cmd := exec.Command(monitor, append([]string{"check", file}, v.args...)...)
					if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != i {
						b.Fatal(cmd.ProcessState, err)
					}
					cpu[i] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				}
				b.ReportMetric(cpu[0], "valid-s")
				b.ReportMetric(cpu[1], "violated-s")
				b.ReportMetric(cpu[1]/cpu[0], "times")
			}
		})
	}
}
