package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/finding"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/testrun"
	"github.com/isowatch/isowatch/internal/workload"
)

const killStream = "KILLED"

// TestKilled kills the program with SIGKILL at random instants while records
// come in over NATS, and starts it again. In the end it has found exactly what
// one undisturbed check of the same records finds, each once, and has printed
// each at least once.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	messages := plantedMessages(t, testrun.Size(5_000, 30_000), testrun.Size(200, 1_000))
	history := filepath.Join(dir, "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(messages, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	want := checkedIDs(t, history)
	if len(want) < 20 {
		t.Fatalf("only %d findings were planted", len(want))
	}
	url := startStream(t)
	published := make(chan error, 1)
	go func() { published <- publish(url, messages) }()

	m := &killed{data: filepath.Join(dir, "data"), url: url, printed: map[string]int{}}
	rng := rand.New(rand.NewPCG(1, uint64(len(want))))
	for range 5 {
		m.start(t)
		time.Sleep(time.Duration(100+rng.IntN(400)) * time.Millisecond)
		m.end(t, syscall.SIGKILL)
	}
	m.start(t)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for len(storedIDs(t, m.data)) < len(want) && time.Now().Before(deadline) {
		time.Sleep(500 * time.Millisecond) // each look is a process
	}
	time.Sleep(300 * time.Millisecond) // room for one too many
	m.end(t, syscall.SIGTERM)
	stored := storedIDs(t, m.data)
	compareIDs(t, stored, want)
	for id, n := range stored {
		if n != 1 {
			t.Errorf("finding %s is stored %d times", id, n)
		}
		if m.printed[id] == 0 {
			t.Errorf("finding %s was never printed", id)
		}
	}
}

func compareIDs(t *testing.T, got map[string]int, want map[string]bool) {
	t.Helper()
	for id := range want {
		if got[id] == 0 {
			t.Errorf("finding %s is missing", id)
		}
	}
	for id := range got {
		if !want[id] {
			t.Errorf("finding %s is not one of the undisturbed check", id)
		}
	}
}

// plantedMessages are transactions with an anomaly every so many, ten a message.
func plantedMessages(t *testing.T, count, every int) [][]byte {
	t.Helper()
	return pacedMessages(t, count, every, 0)
}

// pacedMessages has so much event time between two transactions; 0: 10 us.
func pacedMessages(t *testing.T, count, every int, interval time.Duration) [][]byte {
	t.Helper()
	g, err := workload.NewGenerator(workload.Config{
		Kind: workload.Lists, Count: count, Keys: 500, PlantEvery: every, Aborted: 0.02, Unknown: 0.02, Interval: interval,
	}, rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		t.Fatal(err)
	}
	var messages [][]byte
	for n := 0; ; n++ {
		txn, ok := g.Next()
		if !ok {
			return messages
		}
		if n%10 == 0 {
			messages = append(messages, nil)
		}
		last := len(messages) - 1
		messages[last] = append(workload.AppendJSON(messages[last], &txn), '\n')
	}
}

func startStream(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server, err := brokernats.StartEmbedded(ctx, brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: killStream, Subjects: []string{"killed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server.URL()
}

// publish spreads the messages over some three seconds.
func publish(url string, messages [][]byte) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := js.Publish(context.Background(), "killed", m); err != nil {
			return err
		}
		time.Sleep(3 * time.Second / time.Duration(len(messages)))
	}
	return nil
}

// killed is the program under test, over its lives.
type killed struct {
	data, url string
	printed   map[string]int // findings on standard output, by id
	cmd       *exec.Cmd
	stderr    bytes.Buffer
	read      chan struct{} // closed when standard output has ended
}

func (m *killed) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command("monitor", "run", "--data", m.data, "--nats", m.url, "--stream", killStream,
		"--http", "off", "--output", "jsonl", "--contract", "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique")
	m.cmd.Stderr = &m.stderr
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.read = make(chan struct{})
	go func() {
		defer close(m.read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var f finding.Finding
			if json.Unmarshal(lines.Bytes(), &f) == nil { // the last line of a life may be cut
				m.printed[f.ID]++
			}
		}
	}()
}

func (m *killed) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := m.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("%v: the program had ended:\n%s", err, m.stderr.String())
	}
	<-m.read
	err := m.cmd.Wait()
	if signal == syscall.SIGTERM && err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, m.stderr.String())
	}
}

// checkedIDs are the findings of an undisturbed check.
func checkedIDs(t *testing.T, file string) map[string]bool {
	t.Helper()
	out, err := exec.Command("monitor", "check", "--output", "jsonl", file).Output()
	if len(out) == 0 {
		t.Fatal(err)
	}
	var report struct{ Findings []finding.Finding }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, f := range report.Findings {
		ids[f.ID] = true
	}
	return ids
}

// storedIDs are the findings that are stored, not counting withdrawn ones.
func storedIDs(t *testing.T, data string) map[string]int {
	t.Helper()
	cmd := exec.Command("monitor", "findings", "--data", data, "--output", "jsonl")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("findings: %v: %s", err, stderr.String())
	}
	ids := map[string]int{}
	for line := range bytes.Lines(out) {
		var f finding.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if f.State != finding.Withdrawn {
			ids[f.ID]++
		}
	}
	return ids
}

// plantedPrefix returns what the ids of a planted group begin with: "p7-", and "" for
// ids of other transactions or of several groups.
func plantedPrefix(txns []string) string {
	prefix := ""
	for i, id := range txns {
		head, _, ok := strings.Cut(id, "-")
		if !ok || head[0] != 'p' || i > 0 && head != prefix {
			return ""
		}
		prefix = head
	}
	return prefix
}
