//go:build integration

package probelive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds how long a probe may take to begin, to find what is there, and to end,
// each. Most take a second.
const patience = time.Minute

// build compiles the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "monitor")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/monitor").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// found is a finding as the program prints it.
type found struct {
	Kind, State, Anomaly, Title, Explanation string
	Expected, Certain                        bool
}

// contradicts says that it is against what is expected.
func (f found) contradicts() bool {
	return f.Kind == "violation" && f.State != "withdrawn" && f.State != "waiting" && f.Certain && !f.Expected
}

// run is a probe that runs.
type run struct {
	cmd     *exec.Cmd
	history string
	stderr  bytes.Buffer
	ended   chan struct{} // closed when its output has ended

	mu       sync.Mutex
	findings []found
	came     chan struct{} // takes one when a finding came
}

// start starts `monitor probe`, which ends with the test.
func start(t *testing.T, program string, args ...string) *run {
	t.Helper()
	r := &run{history: filepath.Join(t.TempDir(), "history.jsonl"), ended: make(chan struct{}), came: make(chan struct{}, 1)}
	r.cmd = exec.Command(program, append([]string{"probe", "--output", "jsonl", "--history", r.history}, args...)...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.read(out)
	}()
	t.Cleanup(func() { r.cmd.Process.Kill(); <-r.ended; r.cmd.Wait() })
	return r
}

// read takes the findings.
func (r *run) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var f found
		if json.Unmarshal(lines.Bytes(), &f) != nil || f.Anomaly == "" {
			continue
		}
		r.mu.Lock()
		r.findings = append(r.findings, f)
		r.mu.Unlock()
		select {
		case r.came <- struct{}{}:
		default:
		}
	}
}

// has says whether one of the anomalies was found, against what is expected; with none,
// whether anything was.
func (r *run) has(anomalies ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.findings, func(f found) bool {
		return f.contradicts() && (len(anomalies) == 0 || slices.Contains(anomalies, f.Anomaly))
	})
}

// await waits until one of the anomalies is found, or any.
func (r *run) await(within time.Duration, anomalies ...string) bool {
	for late := time.After(within); !r.has(anomalies...); {
		select {
		case <-r.came:
		case <-r.ended:
			return r.has(anomalies...)
		case <-late:
			return false
		}
	}
	return true
}

// awaitCommits waits for so many more transactions that committed.
func (r *run) awaitCommits(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		text, _ := os.ReadFile(r.history) // it may not be there yet
		return bytes.Count(text, []byte(`"status":"committed"`))
	}
	want := count() + n
	for late := time.Now().Add(patience); count() < want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			r.stop(t)
			t.Fatalf("%d transactions have committed after %v, want %d\n%s", count(), patience, want, r.stderr.String())
		}
	}
}

// stop asks it to end, and returns its exit code.
func (r *run) stop(t *testing.T) int {
	t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	return r.finish(t)
}

// finish waits for its end, and returns its exit code.
func (r *run) finish(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Error("the probe does not end")
		_ = r.cmd.Process.Signal(syscall.SIGQUIT)
		<-r.ended
	}
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// holds is the end of a probe of a database that keeps what is expected.
func (r *run) holds(t *testing.T, code int) {
	t.Helper()
	if code != 0 || r.has() {
		t.Errorf("exit code %d, want 0 and nothing against what is expected; found: %s\n%s\n%s", code, r.summary(), r.first(), r.stderr.String())
	}
}

// violates is that of one that breaks it by one of the anomalies, or by any.
func (r *run) violates(t *testing.T, code int, anomalies ...string) {
	t.Helper()
	if code != 1 || !r.has(anomalies...) {
		t.Errorf("exit code %d, want 1 and one of %q; found: %s\n%s\n%s", code, anomalies, r.summary(), r.first(), r.stderr.String())
	}
}

// first explains the first finding that contradicts.
func (r *run) first() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.findings {
		if f.contradicts() {
			return f.Explanation[:min(len(f.Explanation), 2<<10)]
		}
	}
	return ""
}

// summary returns what was found, by anomaly.
func (r *run) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[string]int{}
	for _, f := range r.findings {
		name := f.Title
		if !f.contradicts() {
			name += ", allowed or not final"
		}
		n[name]++
	}
	var parts []string
	for name, n := range n {
		parts = append(parts, strconv.Itoa(n)+" "+name)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
