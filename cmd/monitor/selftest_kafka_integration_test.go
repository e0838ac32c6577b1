//go:build integration

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/isowatch/isowatch/internal/testkafka"
)

// The pod of "helm test" is run as it is rendered for two shards that read Kafka over TLS with a login. It publishes an
// anomaly to the topic of each, and finds both on the pages.
func TestHelmTestOverKafka(t *testing.T) {
	rendered, err := os.ReadFile("../../deploy/test/testdata/kafka.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broker := testkafka.ForTest(t, testkafka.Config{})
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(testkafka.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	there := strings.NewReplacer(
		"kafka-0.kafka:9093", broker.SecureAddr(), "kafka-1.kafka:9093", broker.SecureAddr(), "user: isowatch", "user: "+testkafka.User,
		"/etc/isowatch/secrets/kafka/ca.crt", broker.CAFile(), "/etc/isowatch/secrets/kafka/password", password,
		"http://alertmanager.monitoring:9093", "http://127.0.0.1:1", // nothing is sent
	)
	monitor := buildMonitor(t)
	args := linesBehind(t, string(rendered[strings.Index(string(rendered), "\nkind: Pod\n"):]), "      args:")
	for i := range args {
		args[i] = strings.Trim(strings.TrimPrefix(args[i], "- "), `"`)
	}
	for shard, topic := range []string{"transactions.orders", "transactions.payments"} {
		if err := broker.CreateTopic(t.Context(), topic, 2, nil); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("demo-isowatch-%d", shard)
		config, address := filepath.Join(dir, name+".yaml"), freeAddress(t)
		text := strings.Join(linesBehind(t, string(rendered), "  "+name+".yaml: |"), "\n")
		if err := os.WriteFile(config, []byte(there.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		service := exec.Command(monitor, "run", "--config", config, "--data", filepath.Join(dir, name), "--http", address)
		service.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		service.Stderr = t.Output()
		if err := service.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = service.Process.Kill(); _ = service.Wait() })
		for asked, is := range map[string]string{
			"/etc/isowatch/config/" + name + ".yaml": config, "http://" + name + ".demo-isowatch-pods.watch:8080": "http://" + address,
		} {
			at := slices.Index(args, asked)
			if at < 0 {
				t.Fatalf("the pod does not name %s: %q", asked, args)
			}
			args[at] = is
		}
	}
	out, err := exec.Command(monitor, args...).CombinedOutput()
	for _, topic := range []string{"transactions.orders", "transactions.payments"} {
		if err != nil || !strings.Contains(string(out), "found the anomaly that was published to kafka:"+topic) {
			t.Errorf("%v, not found over %s\n%s", err, topic, out)
		}
	}
}

// linesBehind are the lines below a line that are further to the right, without what they all begin with.
func linesBehind(t *testing.T, text, line string) (lines []string) {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+line+"\n")
	if !ok {
		t.Fatalf("there is no line %q", line)
	}
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
	for l := range strings.Lines(rest) {
		if !strings.HasPrefix(l, indent) {
			break
		}
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(l, indent), "\n"))
	}
	return lines
}

// freeAddress is an address where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
