//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testkafka"
)

// The thread that a newcomer follows: a log goes to a real Kafka topic, the alert
// comes in a real Alertmanager, the finding is read, and the replay of the stretch of
// time that it names gives the same finding.
func TestThread(t *testing.T) {
	program, dir := buildMonitor(t), t.TempDir()
	broker := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
	if err := broker.CreateTopic(t.Context(), "transactions", 3, nil); err != nil {
		t.Fatal(err)
	}
	alerts := strings.TrimPrefix(startAlertmanager(t), "http://")
	if alerts == "" {
		t.Skip("needs the program prometheus-alertmanager; with CI=true its absence is a failure")
	}

	settings := filepath.Join(dir, "isowatch.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, `
data: %s
http: {address: "127.0.0.1:0"}
watch: {contract: {value-identity: unique}}
inputs:
  - kafka: {brokers: [%s], topics: [transactions]}
sinks:
  - alertmanager: {urls: ["http://%s"]}
`, filepath.Join(dir, "data"), broker.Addr(), alerts), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "config", "check", settings).CombinedOutput(); err != nil {
		t.Fatalf("config check: %v\n%s", err, out)
	}
	m := &lives{program: program, data: filepath.Join(dir, "data"), printed: map[string]int{}, flags: []string{"run", "--config", settings}}
	m.start(t)
	t.Cleanup(func() { m.cmd.Process.Kill() })
	m.awaitListening(t)
	publishLog(t, broker.Addr(), "../../docs/alert.jsonl")

	alert := awaitAlert(t, alerts, m)
	if alert["anomaly"] != "G-single-item" || alert["source"] != "default" {
		t.Errorf("alert %v", alert)
	}
	findings := m.findings(t)
	if len(findings) != 1 {
		t.Fatalf("findings %+v", findings)
	}
	found := findings[0]

	replay := exec.Command(program, "replay", "--kafka", broker.Addr(), "--topic", "transactions", "--output", "jsonl",
		"--from", "2026-03-02T09:00:00Z", "--to", "2026-03-02T09:01:00Z")
	var said bytes.Buffer
	replay.Stderr = &said
	out, err := replay.Output()
	if replay.ProcessState == nil || replay.ProcessState.ExitCode() != 1 {
		t.Fatalf("replay: %v\n%s", err, said.String())
	}
	var again finding.Finding
	first, verdict, _ := bytes.Cut(out, []byte("\n")) // a line a finding, and one of the source's verdicts
	if err := json.Unmarshal(first, &again); err != nil || bytes.Count(verdict, []byte("\n")) != 1 || !bytes.Contains(verdict, []byte(`"kind":"verdict"`)) {
		t.Fatalf("%v: %s", err, out)
	}
	if again.ID != found.ID || again.Anomaly != found.Anomaly || !slices.Equal(again.Txns, found.Txns) ||
		again.Explanation != found.Explanation || !slices.Equal(again.Refutes, found.Refutes) {
		t.Errorf("replayed %+v\nfound %+v", again, found)
	}
	m.terminate(t)
}

// publishLog publishes the lines of a file, each as a message, in one partition: where a
// cycle begins as it is printed depends on the order in which its transactions came.
func publishLog(t *testing.T, addr, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for line := range bytes.Lines(text) {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "transactions", Key: []byte("app"), Value: line}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitAlert waits for the one alert and returns its labels.
func awaitAlert(t *testing.T, address string, m *lives) map[string]string {
	t.Helper()
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		response, err := http.Get("http://" + address + "/api/v2/alerts")
		if err != nil {
			continue
		}
		var list []struct{ Labels map[string]string }
		err = json.NewDecoder(response.Body).Decode(&list)
		response.Body.Close()
		if err == nil && len(list) == 1 {
			return list[0].Labels
		}
	}
	t.Fatalf("no alert within %v\n%s", killPatience, m.logText())
	return nil
}
