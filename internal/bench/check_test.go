//go:build linux

package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

const (
	blindSessions = 25
	blindKeys     = 10_000
	blindOps      = 8
)

// zipf picks keys with a chance of 1/rank^skew.
func zipf(rng *rand.Rand, skew float64) func() int {
	if skew == 0 {
		return func() int { return rng.IntN(blindKeys) }
	}
	sum := make([]float64, blindKeys)
	total := 0.0
	for i := range sum {
		total += math.Pow(float64(i+1), -skew)
		sum[i] = total
	}
	return func() int { return sort.SearchFloat64s(sum, rng.Float64()*total) }
}

// blindHistory is a serial execution of n transactions of [blindOps] operations, half of
// them reads, by sessions in random turn, each key at most once a transaction. A
// transaction lasts from up to half of the time since the one before it in its session
// to up to half of that to the next, at most 6 ms either way; one executes each ms.
func blindHistory(n int, skew float64) []workload.Txn {
	const tick = int64(time.Millisecond)
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	pick := zipf(rng, skew)
	all := make([]workload.Txn, n)
	var latest [blindSessions]int // of the session so far, from 1
	for i := range all {
		t, s := &all[i], rng.IntN(blindSessions)
		at := int64(i+1) * tick
		t.ID, t.Status, t.Session, t.Seq = fmt.Sprintf("t%d", i), event.Committed, fmt.Sprintf("s%d", s), 1
		t.Start, t.End = at-1-rng.Int64N(6*tick), at+1+rng.Int64N(6*tick)
		if k := latest[s]; k > 0 {
			before := &all[k-1]
			between := (int64(k)*tick + at) / 2
			t.Seq, before.End, t.Start = before.Seq+1, min(before.End, between), max(t.Start, between)
		}
		latest[s] = i + 1
	}
	var left [blindKeys]int64
	value := int64(0)
	for i := range all {
		t := &all[i]
		var used []int
		for len(used) < blindOps {
			k := pick()
			if slices.Contains(used, k) {
				continue
			}
			used = append(used, k)
			key := fmt.Sprintf("k%d", k)
			switch {
			case rng.IntN(2) == 0:
				value++
				left[k] = value
				t.Ops = append(t.Ops, workload.Write(key, value))
			case left[k] == 0:
				t.Ops = append(t.Ops, workload.ReadAbsent(key))
			default:
				t.Ops = append(t.Ops, workload.Read(key, left[k]))
			}
		}
	}
	return all
}

// bincode is the history in dbcop's form, session after session and without times: the
// order of execution is not in it.
func bincode(all []workload.Txn) []byte {
	sessions := map[string][]*workload.Txn{}
	for i := range all {
		sessions[all[i].Session] = append(sessions[all[i].Session], &all[i])
	}
	var b []byte
	u64 := func(v int) { b = binary.LittleEndian.AppendUint64(b, uint64(v)) }
	for _, v := range []int{1, 1, blindKeys, len(all), blindOps} {
		u64(v)
	}
	for _, text := range []string{"generated", "", ""} {
		u64(len(text))
		b = append(b, text...)
	}
	u64(len(sessions))
	for s := range blindSessions {
		txns := sessions[fmt.Sprintf("s%d", s)]
		u64(len(txns))
		for _, t := range txns {
			u64(len(t.Ops))
			for _, o := range t.Ops {
				var key, write int
				fmt.Sscanf(o.Key, "k%d", &key)
				if o.Kind == event.Write {
					write = 1
				}
				b = append(b, byte(write))
				u64(key)
				u64(int(o.Value)) // 0: not found
				b = append(b, 1)
			}
			b = append(b, 1)
		}
	}
	return b
}

// polysi is the history in PolySI's form, session after session.
func polysi(all []workload.Txn) []byte {
	var b bytes.Buffer
	for s := range blindSessions {
		for i := range all {
			t := &all[i]
			if t.Session != fmt.Sprintf("s%d", s) {
				continue
			}
			for _, o := range t.Ops {
				name := "r"
				if o.Kind == event.Write {
					name = "w"
				}
				fmt.Fprintf(&b, "%s(%s,%d,%d,%d)\n", name, o.Key[1:], o.Value, s, t.Seq) // 0: not found
			}
		}
	}
	return b.Bytes()
}

// timed is the history as JSON a line, with start and end, in the order of the ends.
func timed(all []workload.Txn) []byte {
	sort.SliceStable(all, func(i, j int) bool { return all[i].End < all[j].End })
	var b bytes.Buffer
	for i := range all {
		b.Write(workload.AppendJSON(nil, &all[i]))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// TestMain writes or publishes a history instead of running tests when it is asked to, as a process of
// its own: what a process is told to have had in memory at most begins with what its
// parent had.
func TestMain(m *testing.M) {
	var err error
	switch generated, published, brokered := os.Getenv("ISOWATCH_GENERATE"), os.Getenv("ISOWATCH_PUBLISH"), os.Getenv("ISOWATCH_BROKER"); {
	case brokered != "":
		err = runBroker(brokered)
	case generated != "":
		err = generate(generated)
	case published != "":
		err = publisher(published)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate writes a history: transactions, skew, form and file.
func generate(asked string) error {
	var n int
	var skew float64
	var form, file string
	if _, err := fmt.Sscanf(asked, "%d %g %s %s", &n, &skew, &form, &file); err != nil {
		return fmt.Errorf("ISOWATCH_GENERATE=%q: %w", asked, err)
	}
	if form == "serial" {
		return write(file, serialHistory(n, 50, 4, 0))
	}
	text := map[string]func([]workload.Txn) []byte{"dbcop": bincode, "polysi": polysi, "jsonl": timed}[form](blindHistory(n, skew))
	return os.WriteFile(file, text, 0o644)
}

// program builds the monitor, unless ISOWATCH_MONITOR names one.
func program(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("ISOWATCH_MONITOR"); path != "" {
		return path
	}
	path := filepath.Join(b.TempDir(), "monitor")
	build := exec.Command("go", "build", "-o", path, "../../cmd/monitor")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

// cost of a process, from its start to its end.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes in memory at most
}

// started runs the program, which must exit with the code, and says what that cost.
func started(b *testing.B, code int, path string, args ...string) cost {
	b.Helper()
	c := exec.Command(path, args...)
	var out bytes.Buffer
	c.Stderr = &out
	began := time.Now()
	_ = c.Run()
	took := time.Since(began)
	s := c.ProcessState
	if s == nil || s.ExitCode() != code {
		b.Fatalf("%v: %v, want exit code %d\n%.2000s", args, s, code, out.String())
	}
	x := cost{took, s.UserTime() + s.SystemTime(), 0}
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		x.peak = int64(u.Maxrss) << 10
	}
	return x
}

// generated is a file with a history of n transactions.
func generated(b *testing.B, n int, skew float64, form string) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "history")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("ISOWATCH_GENERATE=%d %g %s %s", n, skew, form, file))
	if out, err := child.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return file
}

// measureProgram reports the best of the runs, beside what the figure should be; 0: no
// figure is asked for.
func measureProgram(b *testing.B, bar time.Duration, code int, path string, args ...string) {
	best := cost{wall: math.MaxInt64, cpu: math.MaxInt64}
	for b.Loop() {
		x := started(b, code, path, args...)
		best = cost{min(best.wall, x.wall), min(best.cpu, x.cpu), max(best.peak, x.peak)}
	}
	b.ReportMetric(0, "ns/op") // the mean says nothing on a busy machine
	b.ReportMetric(best.wall.Seconds(), "best-s")
	b.ReportMetric(best.cpu.Seconds(), "cpu-s")
	b.ReportMetric(float64(best.peak)/(1<<20), "peak-MiB")
	if bar > 0 {
		b.ReportMetric(bar.Seconds(), "bar-s")
	}
}

var bases = []struct{ name, level string }{{"SER", "serializable"}, {"SI", "snapshot-isolation"}}

const histories = "../../../shared/histories"

// BenchmarkCheck runs monitor check on histories of blind writes, as a user does: best
// wall time, processor time and greatest memory of a whole process.
func BenchmarkCheck(b *testing.B) {
	monitor := program(b)
	for _, c := range []struct{ name, file string }{
		{"polysi/general-rw-10k", "polysi-valid/general-rw-10k/history.bincode"}, {"cobra/twitter-10000", "cobra/twitter-10000"},
	} {
		file := filepath.Join(histories, c.file)
		for _, l := range bases {
			b.Run(c.name+"/"+l.name, func(b *testing.B) {
				if _, err := os.Stat(file); err != nil {
					b.Skipf("needs the recorded histories, which stand beside the checkout in ../shared: %v", err)
				}
				measureProgram(b, time.Second, 0, monitor, "check", "--levels", l.level, file)
			})
		}
	}
	b.Run("dbcop/400-files/5-levels", func(b *testing.B) {
		files, _ := filepath.Glob(filepath.Join(histories, "dbcop", "*.bincode"))
		if len(files) == 0 {
			b.Skip("needs the recorded histories, which stand beside the checkout in ../shared")
		}
		measureProgram(b, 10*time.Second, 1, monitor, append([]string{"check", "--output", "jsonl", "--levels",
			"strong-session-monotonic-atomic-view,strong-session-read-atomic,strong-session-causal," +
				"strong-session-snapshot-isolation,strong-session-serializable"}, files...)...)
	})
	for _, c := range []struct {
		n     int
		skew  float64
		times bool
		bar   time.Duration
	}{
		{10_000, 0, false, time.Second}, {30_000, 0, false, 3 * time.Second}, {100_000, 0, false, 10 * time.Second},
		{300_000, 0, false, 0}, {1_000_000, 0, false, 0}, {3_000, 0.99, false, 5 * time.Second},
		{100_000, 0, true, 3 * time.Second}, {100_000, 0.99, true, 3 * time.Second},
	} {
		form, skew := "no-times", "uniform"
		if c.times {
			form = "times"
		}
		if c.skew > 0 {
			skew = fmt.Sprint("zipf-", c.skew)
		}
		b.Run(fmt.Sprintf("blind/%s/%s/txns=%d", form, skew, c.n), func(b *testing.B) {
			file := generated(b, c.n, c.skew, map[bool]string{false: "dbcop", true: "jsonl"}[c.times])
			for _, l := range bases {
				b.Run(l.name, func(b *testing.B) { measureProgram(b, c.bar, 0, monitor, "check", "--levels", l.level, file) })
			}
		})
	}
}

// BenchmarkCheckWeak runs monitor check at weak levels on histories of blind writes. The
// bars list what AWDIT takes on such a history: processor time, and MiB in memory.
func BenchmarkCheckWeak(b *testing.B) {
	monitor := program(b)
	for _, form := range []string{"dbcop", "polysi", "jsonl"} {
		b.Run(form, func(b *testing.B) {
			file := generated(b, 100_000, 0, form)
			for _, l := range []struct {
				level string
				bar   time.Duration
				peak  float64
			}{
				{"monotonic-atomic-view", 400 * time.Millisecond, 65}, {"read-atomic", 600 * time.Millisecond, 125},
				{"causal", 1800 * time.Millisecond, 570},
			} {
				b.Run(l.level, func(b *testing.B) {
					measureProgram(b, l.bar, 0, monitor, "check", "--levels", "strong-session-"+l.level, file)
					b.ReportMetric(l.peak, "bar-MiB")
				})
			}
		})
	}
}
