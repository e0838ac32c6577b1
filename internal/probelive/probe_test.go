//go:build integration

package probelive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
	"github.com/isowatch/isowatch/probe/target"
)

// patience bounds how long a probe may take to find what is there, and to end; most take
// a second or two.
const patience = 90 * time.Second

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
	return f.Kind == "violation" && f.State != "withdrawn" && f.Certain && !f.Expected
}

// run is a probe that runs.
type run struct {
	cmd    *exec.Cmd
	end    func() // has it end
	stderr bytes.Buffer
	ended  chan struct{} // closed when its output has ended

	mu       sync.Mutex
	findings []found
	came     chan struct{} // takes one when a finding came
}

// start starts a probe of the cell's database, which ends with the test.
func (c cell) start(t *testing.T, program string) *run {
	t.Helper()
	r := &run{ended: make(chan struct{}), came: make(chan struct{}, 1)}
	r.cmd = exec.Command(program, "run", "--stdin", "--http", "off", "--lateness", "1s", "--output", "jsonl", "--expect", c.expect,
		"--contract", "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique,isolation=ignore")
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.cmd.Stderr = &r.stderr
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.end = cancel
	go func() {
		defer in.Close()
		c.feed(ctx, t, in)
	}()
	go func() {
		defer close(r.ended)
		r.read(out)
	}()
	return r
}

func (c cell) feed(ctx context.Context, t *testing.T, in io.Writer) {
	db, err := target.Open(ctx, c.url, target.Options{Schema: c.schema(), Isolation: c.isolation, Epoch: "e1"})
	if err != nil {
		t.Error(c.name(), err)
		return
	}
	defer db.Close()
	if c.expect == "" {
		c.expect = db.Expect()
	}
	work, err := probe.ByName(c.workload)
	if err != nil {
		t.Error(err)
		return
	}
	if dir := os.Getenv("KEEP"); dir != "" {
		f, err := os.Create(filepath.Join(dir, c.name()+".jsonl"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		in = io.MultiWriter(in, f)
	}
	var mu sync.Mutex
	emit := func(r event.Record) {
		mu.Lock()
		defer mu.Unlock()
		in.Write(append(event.AppendJSON(nil, &r), '\n'))
	}
	o := probe.Options{Epoch: "e1", Sessions: 4, Keys: 8, Aborted: 0.1, Duration: c.lasts, Seed: 1}
	first, err := probe.Fill(ctx, db, work, o)
	if err != nil {
		t.Error(c.name(), err)
		return
	}
	emit(first)
	if err := probe.Run(ctx, db, work, o, emit); err != nil {
		t.Error(c.name(), err)
	}
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

// has says whether one of the anomalies was found, against what is expected.
func (r *run) has(anomalies []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.findings, func(f found) bool { return f.contradicts() && slices.Contains(anomalies, f.Anomaly) })
}

// await waits until one of the anomalies is found.
func (r *run) await(t *testing.T, anomalies []string) {
	t.Helper()
	for late := time.After(patience); !r.has(anomalies); {
		select {
		case <-r.came:
		case <-r.ended:
			return
		case <-late:
			return
		}
	}
}

// finish has the probe end, unless it does by itself, and returns its exit code.
func (r *run) finish(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Errorf("the probe does not end")
		r.cmd.Process.Kill()
		<-r.ended
	}
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// summary is what was found, by anomaly.
func (r *run) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := map[string]int{}
	var names []string
	for _, f := range r.findings {
		name := f.Anomaly + " (" + f.Title + ")"
		if !f.contradicts() {
			name += ", allowed or not certain"
		}
		if n[name]++; n[name] == 1 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "; ")
}
