//go:build integration

package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startPatience bounds how long the program may take until it listens.
const startPatience = 30 * time.Second

// buildMonitor compiles the program.
func buildMonitor(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "monitor")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/monitor").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// monitor is the running program, with the webhook that it posts to.
type monitor struct {
	behind         time.Duration // how far its machine was behind the streams
	name           string
	lateness       time.Duration
	maxTransaction time.Duration
	hook           *webhook
	cmd            *exec.Cmd
	ended          chan struct{} // closed when its output has ended
	notes          []string      // what is logged behind the faults that were found of it

	mu      sync.Mutex
	log     bytes.Buffer
	address string // of its pages
}

func (m *monitor) note(format string, values ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, values...))
}

// startMonitor runs the program on the stream, with an expectation for each source.
// watch is a line of that section, "" for the defaults.
func startMonitor(t *testing.T, m *monitor, program, url, watch string, expect map[string]string) {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, "data: %s\nhttp: {address: \"127.0.0.1:0\"}\n%s\nsources:\n", filepath.Join(dir, "data"), watch)
	for source, level := range expect {
		fmt.Fprintf(&text, "  - {name: %s, expect: %s}\n", source, level)
	}
	// All that is alerted is counted: no digests.
	fmt.Fprintf(&text, "inputs:\n  - nats: {urls: [%q], stream: %s}\nsinks:\n  - {webhook: {url: %q}, per-pattern: 0}\n", url, streamName, m.hook.url)
	settings := filepath.Join(dir, "isowatch.yaml")
	if err := os.WriteFile(settings, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.cmd = exec.Command(program, "run", "--config", settings, "--output", "log")
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := m.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.readLog(log)
	}()
	t.Cleanup(func() { m.cmd.Process.Kill(); <-m.ended; m.cmd.Wait() })
	for deadline := time.After(startPatience); m.pages() == ""; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-m.ended:
			t.Fatalf("the program has ended:\n%s", m.logText())
		case <-deadline:
			t.Fatalf("the program does not listen after %v\n%s", startPatience, m.logText())
		}
	}
}

func (m *monitor) readLog(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		m.mu.Lock()
		if m.log.Len() < 1<<20 {
			m.log.WriteString(lines.Text() + "\n")
		}
		if _, address, ok := strings.Cut(lines.Text(), "listening http="); ok {
			m.address = address
		}
		m.mu.Unlock()
	}
}

func (m *monitor) pages() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.address
}

// logText is the end of the log.
func (m *monitor) logText() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.log.String()
	return text[max(0, len(text)-8<<10):]
}

// metric is a metric by the value of a label; several with one value are added up.
func (m *monitor) metric(name, label string) map[string]float64 {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + m.pages() + "/metrics")
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		_, of, _ := strings.Cut(rest, label+`="`)
		of, _, _ = strings.Cut(of, `"`)
		if value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64); err == nil {
			sums[of] += value
		}
	}
	return sums
}

// withdrawn are stored findings that were taken back, alerted or not.
func (m *monitor) withdrawn(t *testing.T) []alerted {
	t.Helper()
	response, err := http.Get("http://" + m.pages() + "/api/v1/findings?state=withdrawn&limit=20")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var found []alerted
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	return found
}

// awaitQuiet waits until the monitor has taken in so many transactions, its watermark
// has passed what ended last and anything that could still come, and all alerts are
// out.
func (m *monitor) awaitQuiet(t *testing.T, transactions int, last time.Time) {
	t.Helper()
	// An input that is silent for 10 s moves on by the clock; the rest is for a busy machine.
	patience := m.lateness + m.maxTransaction + 10*time.Second + time.Minute
	passed := float64(last.Add(m.maxTransaction).UnixNano()) / 1e9
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		taken, least := 0.0, passed+1
		for _, n := range m.metric("isowatch_transactions_total", "source") {
			taken += n
		}
		for _, at := range m.metric("isowatch_watermark_timestamp_seconds", "source") {
			least = min(least, at)
		}
		if int(taken) == transactions && least >= passed {
			time.Sleep(time.Second) // what is due goes out at once
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %v of %d transactions taken in after the stream's end; the watermark is %.1f s short\n%s",
				m.name, taken, transactions, passed-least, m.logText())
			return
		}
	}
}
