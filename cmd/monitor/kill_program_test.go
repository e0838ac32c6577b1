//go:build integration

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// buildMonitor compiles the program.
func buildMonitor(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "monitor")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// lives are those of the program on one data folder.
type lives struct {
	program string
	data    string
	flags   []string

	cmd   *exec.Cmd
	ended chan struct{} // closed when both outputs have ended

	mu      sync.Mutex
	log     bytes.Buffer   // standard error of all lives
	address string         // of the pages of this life
	opened  bool           // a life has come as far as to listen
	printed map[string]int // findings on standard output, by id
}

func newLives(program, data string, flags ...string) *lives {
	return &lives{program: program, data: data, printed: map[string]int{}, flags: append([]string{
		"run", "--data", data, "--http", "127.0.0.1:0", "--output", "jsonl",
		"--expect", "strong-session-serializable", "--source", "lists,registers",
		"--contract", "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique",
		"--idle", "10m", // what is found must not depend on how long the program was down
		"--max-transaction", "5s", // a garbage read is one when lateness and this have passed: the tails are longer
	}, flags...)}
}

func (l *lives) start(t *testing.T) {
	t.Helper()
	l.cmd = exec.Command(l.program, l.flags...)
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := l.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.address = ""
	fmt.Fprintf(&l.log, "-- process %d\n", l.cmd.Process.Pid)
	l.mu.Unlock()
	var readers sync.WaitGroup
	readers.Go(func() { eachTextLine(out, l.noteFinding) })
	readers.Go(func() { eachTextLine(log, l.noteLog) })
	ended := make(chan struct{})
	l.ended = ended
	go func() {
		readers.Wait()
		close(ended)
	}()
}

func eachTextLine(r io.Reader, fn func(string)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		fn(lines.Text())
	}
}

func (l *lives) noteFinding(line string) {
	var f finding.Finding
	if json.Unmarshal([]byte(line), &f) != nil {
		return // the last line of a life may be cut
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printed[f.ID]++
}

func (l *lives) noteLog(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.WriteString(line + "\n")
	if _, address, ok := strings.Cut(line, "listening http="); ok {
		l.address, l.opened = address, true
	}
}

func (l *lives) hasListened() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// awaitListening waits until this life has recovered.
func (l *lives) awaitListening(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		l.mu.Lock()
		listens := l.address != ""
		l.mu.Unlock()
		if listens {
			return
		}
	}
	t.Fatalf("the program does not listen after %v\n%s", killPatience, l.logText())
}

func (l *lives) logText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// kill ends a life as kill -9 does.
func (l *lives) kill(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatalf("the program had ended by itself: %v\n%s", err, l.logText())
	}
	<-l.ended
	var state *exec.ExitError
	if err := l.cmd.Wait(); err == nil {
		return // it was about to end
	} else if errors.As(err, &state) && state.Sys().(syscall.WaitStatus).Signaled() {
		return
	}
	t.Fatalf("the program had ended by itself: %v\n%s", l.cmd.ProcessState, l.logText())
}

// terminate ends a life with SIGTERM, which is no failure.
func (l *lives) terminate(t *testing.T) {
	t.Helper()
	l.signal(t, syscall.SIGTERM)
	<-l.ended
	if err := l.cmd.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v\n%s", err, l.logText())
	}
}

func (l *lives) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		t.Fatalf("the program had ended by itself: %v\n%s", err, l.logText())
	}
}

// metrics are the sums, over their labels, of the metrics of the running service;
// nil while it does not answer.
func (l *lives) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	l.mu.Lock()
	address := l.address
	l.mu.Unlock()
	if address == "" {
		return nil
	}
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	sums := map[string]float64{}
	eachTextLine(response.Body, func(line string) {
		name, value, ok := strings.Cut(line, " ")
		if i := strings.LastIndexByte(line, ' '); strings.Contains(name, "{") && i > 0 {
			name, value = line[:strings.IndexByte(line, '{')], line[i+1:]
		}
		if number, err := strconv.ParseFloat(value, 64); ok && err == nil {
			sums[name] += number
		}
	})
	return sums
}

// stored are the records that `monitor findings` prints with these flags.
func (l *lives) stored(t *testing.T, flags ...string) [][]byte {
	t.Helper()
	cmd := exec.Command(l.program, append([]string{"findings", "--data", l.data, "--output", "jsonl"}, flags...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("findings: %v: %s", err, stderr.String())
	}
	// What is to be done about a finding names the folder of its records.
	out = bytes.ReplaceAll(out, []byte(l.data), []byte("DATA"))
	var records [][]byte
	for line := range bytes.Lines(out) {
		records = append(records, line)
	}
	return records
}

// findings are the stored findings, which must each have an id of its own.
func (l *lives) findings(t *testing.T) []finding.Finding {
	t.Helper()
	var list []finding.Finding
	seen := map[string]bool{}
	for _, text := range l.stored(t) {
		var f finding.Finding
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if seen[f.ID] {
			t.Errorf("finding %s is stored twice", f.ID)
		}
		seen[f.ID] = true
		list = append(list, f)
	}
	return list
}
