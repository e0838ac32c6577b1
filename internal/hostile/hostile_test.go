package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/testrun"
)

// memory is the bound that the monitor gets, MiB: ISOWATCH_HOSTILE_MEMORY, or 512.
func memory(t *testing.T) int {
	text := os.Getenv("ISOWATCH_HOSTILE_MEMORY")
	if text == "" {
		return 512
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// program is the monitor, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "monitor")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "../../cmd/monitor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil && code >= 0 {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// outcome is how a run of the monitor on a stream went.
type outcome struct {
	peak     float64 // VmHWM, MB
	took     time.Duration
	cpu      time.Duration
	txns     int
	bad      int
	planted  int // found
	horizon  int
	others   map[string]int
	squeezed bool
	parts    map[string]float64 // of the memory, MB, at the last look
	resident float64            // then, MB
}

// run runs the monitor on the stream of size n.
func run(t *testing.T, c Case, n int) outcome {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	args := append([]string{"run", "--stdin", "--http", "127.0.0.1:0", "--self-test", "0", "--data", filepath.Join(t.TempDir(), "data"), "-o", "jsonl", "--memory", fmt.Sprint(memory(t), "MiB")}, c.Flags...)
	cmd := exec.CommandContext(ctx, path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	cmd.Stderr = &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	confine(t, cmd.Process.Pid)
	x := outcome{others: map[string]int{}}
	var done sync.WaitGroup
	stop := make(chan struct{})
	done.Go(func() {
		defer in.Close()
		w := bufio.NewWriterSize(in, 1<<20)
		c.Write(w, n)
		w.Flush() // a monitor that died is told below
	})
	done.Go(func() { x.read(out) })
	var watching sync.WaitGroup
	watching.Go(func() { x.watch(cmd.Process.Pid, &log, stop) })
	done.Wait()
	err = cmd.Wait()
	x.took, x.cpu = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	close(stop)
	watching.Wait()
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 2 {
		t.Fatalf("%s: %v\n%s", c.Name, err, tail(log.String()))
	}
	for _, m := range regexp.MustCompile(`(?m)^\S+: (\d+) transactions?`).FindAllStringSubmatch(log.String(), -1) {
		k, _ := strconv.Atoi(m[1])
		x.txns += k
	}
	if m := regexp.MustCompile(`(\d+) bad records?`).FindStringSubmatch(log.String()); m != nil {
		x.bad, _ = strconv.Atoi(m[1])
	}
	x.squeezed = strings.Contains(log.String(), "memory is full")
	return x
}

// read counts findings by id.
func (x *outcome) read(out io.Reader) {
	seen := map[string]bool{}
	for r := bufio.NewReaderSize(out, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var f struct{ ID, Kind, Anomaly string }
		if json.Unmarshal(line, &f) != nil || seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		switch {
		case f.Anomaly == "G1a":
			x.planted++
		case f.Kind == "horizon":
			x.horizon++
		default:
			x.others[f.Anomaly]++
		}
	}
}

// watch reads the peak of the process, and the parts of its memory.
func (x *outcome) watch(pid int, log *syncBuffer, stop chan struct{}) {
	address := regexp.MustCompile(`listening http=(\S+)`)
	for tick := 0; ; tick++ {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if peak, ok := sizeOf(pid, "VmHWM"); ok {
			x.peak = max(x.peak, peak)
		}
		if m := address.FindStringSubmatch(log.String()); m != nil && tick%10 == 9 {
			x.look(pid, m[1])
		}
	}
}

func (x *outcome) look(pid int, address string) {
	client := http.Client{Timeout: 2 * time.Second}
	r, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	now, ok := sizeOf(pid, "VmRSS")
	if err != nil || !ok {
		return
	}
	parts := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^isowatch_memory_bytes\{part="(\w+)"\} (\S+)`).FindAllStringSubmatch(string(text), -1) {
		bytes, _ := strconv.ParseFloat(m[2], 64)
		parts[m[1]] = bytes / 1e6
	}
	if len(parts) > 0 {
		x.parts, x.resident = parts, now
	}
}

func (x *outcome) sum() (n float64) {
	for _, p := range x.parts {
		n += p
	}
	return n
}

// sizeOf is a size in /proc/PID/status, MB.
func sizeOf(pid int, name string) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		return 0, false
	}
	kib, _ := strconv.ParseFloat(string(m[1]), 64)
	return kib * 1024 / 1e6, true
}

// confine puts the process into a cgroup with the memory and a quarter for the page cache, where one can be made: the
// system kills it beyond that.
func confine(t *testing.T, pid int) {
	dir := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("isowatch-%d", pid))
	if os.Mkdir(dir, 0o755) != nil {
		return // no right, or another version: the peak is measured all the same
	}
	t.Cleanup(func() { os.Remove(dir) })
	limit := memory(t) << 20
	for name, value := range map[string]int{"memory.limit_in_bytes": limit + limit/4, "cgroup.procs": pid} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(value)), 0o600); err != nil {
			t.Logf("no cgroup: %v", err)
			return
		}
	}
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// check compares an outcome with what the case promises.
func (x *outcome) check(t *testing.T, c Case) {
	t.Helper()
	if limit := float64(memory(t)) * 1.048576; x.peak > limit {
		t.Errorf("%s: %.0f MB resident, at most %.0f are given", c.Name, x.peak, limit)
	}
	if x.planted != c.Planted {
		t.Errorf("%s: %d planted faults are found, want %d", c.Name, x.planted, c.Planted)
	}
	if c.Bad >= 0 && x.bad != c.Bad {
		t.Errorf("%s: %d bad records, want %d", c.Name, x.bad, c.Bad)
	}
}

// TestHostile: the short form of each stream.
func TestHostile(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc of the monitor's process, so Linux only; some 15 s, so not with -short")
	}
	for i, c := range Cases() {
		if testrun.LeavesOut(i, 4) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			x := run(t, c, c.Short)
			x.check(t, c)
			t.Logf("%.0f MB, %v", x.peak, x.took.Round(time.Millisecond))
		})
	}
}

// TestParts: what the metrics say of the memory adds up to what is resident. The part "go" is what
// the runtime holds beyond the counted parts, so it may not explain most of it.
func TestParts(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc of the monitor's process, so Linux only; starts a service, so not with -short")
	}
	if testrun.Short() {
		t.Skip("300,000 transactions: ISOWATCH_SIM=long")
	}
	c, _ := Find("transactions")
	x := run(t, c, 300_000)
	if x.parts["state"] < 10 {
		t.Errorf("the state takes %.0f MB: the test shows nothing (%v)", x.parts["state"], x.parts)
	}
	if sum := x.sum(); sum < 0.8*x.resident || sum > 1.2*x.resident {
		t.Errorf("%.0f MB in parts, %.0f MB resident: %v", sum, x.resident, x.parts)
	}
	if rest := x.parts["go"]; rest > 0.6*x.resident {
		t.Errorf("%.0f MB of %.0f MB resident are in no counted part: %v", rest, x.resident, x.parts)
	}
	t.Logf("%.0f MB resident: %v", x.resident, x.parts)
}

// TestTable is the long form: make hostile. It prints the table of docs/performance.md.
func TestTable(t *testing.T) {
	only := os.Getenv("ISOWATCH_HOSTILE")
	if only == "" {
		t.Skip("minutes of streams at full size: make hostile; TestHostile runs each at a small one")
	}
	fmt.Printf("| stream | size | peak, MB | s | CPU, s | transactions | bad records | planted, found | horizon findings | other findings |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range Cases() {
		if only != "all" && !strings.Contains(c.Name, only) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			x := run(t, c, c.Long)
			full := ""
			if x.squeezed {
				full = " (full)"
			}
			fmt.Printf("| %s | %d | %.0f%s | %.0f | %.0f | %d | %d | %d, %d | %d | %v |\n", c.Name, c.Long, x.peak, full, x.took.Seconds(), x.cpu.Seconds(), x.txns, x.bad, c.Planted, x.planted, x.horizon, x.others)
			x.check(t, c)
		})
	}
}
