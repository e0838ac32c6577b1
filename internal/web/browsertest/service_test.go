//go:build integration

package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// build is the monitor's binary.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "monitor")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/monitor")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// report is a file that check makes of the example of each anomaly.
func report(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	args := []string{"check", "--levels", "all", "--report", file}
	for name, lines := range examples(t) {
		history := filepath.Join(dir, name+".jsonl")
		if err := os.WriteFile(history, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, history)
	}
	out, err := exec.Command(build(t), args...).CombinedOutput()
	if info, failed := os.Stat(file); failed != nil || info.Size() < 10<<10 {
		t.Fatalf("no report, %v: %s", err, out)
	}
	return file
}

// longReport is a file that check makes of more groups than it shows, each with a long name, and of many findings in one.
func longReport(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	history, page := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "report.html")
	var log strings.Builder
	for n := range 260 {
		name := "reserve-the-last-item-of-the-eastern-warehouse"
		if n >= 150 {
			name = fmt.Sprintf("%s-in-the-way-of-customer-%d", name, n)
		}
		for i := range 2 {
			fmt.Fprintf(&log, `{"txn":"T%d-%d","name":%q,"status":"committed","ops":[{"op":"r","key":"stock:%[1]d","value":null},{"op":"w","key":"stock:%[1]d","value":%[4]d}]}`+"\n", n, i, name, 2*n+i+1)
		}
	}
	if err := os.WriteFile(history, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(build(t), "check", "--report", page, history).CombinedOutput()
	if text, failed := os.ReadFile(page); failed != nil || !strings.Contains(string(text), "260 findings in 111 groups") {
		t.Fatalf("no report of 111 groups, %v: %s", err, out)
	}
	return page
}

// found holds what the test reads of a finding.
type found struct {
	ID      string   `json:"id"`
	Source  string   `json:"source"`
	Anomaly string   `json:"anomaly"`
	Txns    []string `json:"txns"`
}

// service is a monitor that has the example of each anomaly's page in its input, as a source each.
type service struct {
	url            string
	user, password string // of the pages; "": they are open
	stdin          io.WriteCloser
	process        *os.Process
	errs           *bytes.Buffer
}

func start(t *testing.T, args ...string) *service { return startAs(t, "", "", args...) }

// startAs starts a monitor whose pages ask for a login, unless user is "".
func startAs(t *testing.T, user, password string, args ...string) *service {
	t.Helper()
	return launch(t, "", user, password, append([]string{"--stdin", "--levels", "all", "--expect", "strong-serializable", "--lateness", "0s", "--max-transaction", "100ms",
		"--window", "1s", "--self-test", "0", "--contract", "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique,clock-drift=0s",
	}, args...)...)
}

// launch starts a monitor with these arguments, in a folder.
func launch(t *testing.T, dir, user, password string, args ...string) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &service{url: "http://" + addr, user: user, password: password, errs: &bytes.Buffer{}}
	cmd := exec.Command(build(t), append([]string{"run", "--http", addr, "--data", filepath.Join(t.TempDir(), "data")}, args...)...)
	cmd.Dir, cmd.Stderr = dir, s.errs
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		s.stdin.Close()
		cmd.Process.Signal(os.Interrupt) // it may read no standard input
		cmd.Wait()
		if t.Failed() {
			t.Logf("the monitor says:\n%s", s.errs)
		}
	})
	within(t, 30*time.Second, "the monitor is not ready", func() bool {
		answer, err := s.get("/-/ready")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	return s
}

// get asks as the user.
func (s *service) get(path string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, err
	}
	if s.user != "" {
		request.SetBasicAuth(s.user, s.password)
	}
	return http.DefaultClient.Do(request)
}

func within(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// examples are the histories on the pages of anomalies, by anomaly.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(root + "/docs/anomalies/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no pages of anomalies", err)
	}
	all := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, history, ok := strings.Cut(string(text), "```json\n")
		if !ok {
			continue
		}
		history, _, _ = strings.Cut(history, "```")
		all[strings.TrimSuffix(filepath.Base(file), ".md")] = strings.Split(strings.TrimSpace(history), "\n")
	}
	return all
}

// feed gives the monitor the examples, each as a source with times and names, and cycles of nine and of five.
func (s *service) feed(t *testing.T) {
	t.Helper()
	at := time.Now().UTC().Add(-10 * time.Minute).Truncate(time.Second)
	var out bytes.Buffer
	write := func(source string, record map[string]any) {
		record["source"] = source
		if record["name"] == nil {
			record["name"] = "template of " + fmt.Sprint(record["txn"])
		}
		record["trace_id"] = "4bf92f3577b34da6a3ce929d0e0e4736"
		if record["start"] == nil {
			record["start"], record["end"] = at.Format(time.RFC3339Nano), at.Add(20*time.Millisecond).Format(time.RFC3339Nano)
		}
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	for name, lines := range examples(t) {
		for _, line := range lines {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			write(name, record)
		}
	}
	later := at.Add(time.Minute)
	for source, n := range map[string]int{"nine": 9, "five": 5} {
		for i := range n { // each reads what the one before wrote, and the first one what the last one wrote
			id := fmt.Sprintf("a-transaction-with-a-long-id-%d", i)
			write(source, map[string]any{"txn": id, "session": fmt.Sprint("s", i), "status": "committed", "ops": []map[string]any{
				{"op": "w", "key": fmt.Sprint("warehouse/7/item/", i), "value": i},
				{"op": "r", "key": fmt.Sprint("warehouse/7/item/", (i+n-1)%n), "value": (i + n - 1) % n},
			}})
		}
		write(source, map[string]any{"txn": "later", "status": "committed", "ops": []any{}, "start": later.Format(time.RFC3339Nano), "end": later.Format(time.RFC3339Nano)})
	}
	for name := range examples(t) { // what was waited for has come
		write(name, map[string]any{"txn": "later", "status": "committed", "ops": []any{},
			"start": later.Format(time.RFC3339Nano), "end": later.Format(time.RFC3339Nano)})
	}
	if _, err := s.stdin.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// findings are all that the monitor has.
func (s *service) findings(t *testing.T) (all []found) {
	t.Helper()
	answer, err := s.get("/api/v1/findings?limit=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}
