//go:build integration

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isowatch/isowatch/internal/testcapture"
	"github.com/isowatch/isowatch/internal/testdb"
)

// patience bounds how long something may take that takes a second on an idle machine.
const patience = 2 * time.Minute

// The shop under load, with its monitor: where the database is not set to what the shop relies on,
// lost updates are alerted; where it is, nothing is.
func TestShop(t *testing.T) {
	monitor := testcapture.Monitor(t)
	shop := filepath.Join(t.TempDir(), "shop")
	build(t, shop)
	t.Run("read committed", func(t *testing.T) {
		w := start(t, monitor, shop)
		done := make(chan struct{})
		wait := w.load(t, func() bool {
			select {
			case <-done:
				return false
			default:
				return true
			}
		})
		alert := w.hook.await(t, "lost-update")
		close(done)
		wait()
		if !alert.Certain || alert.Expected || alert.Source != "shop" {
			t.Errorf("the alert: %+v", alert)
		}
	})
	t.Run("serializable", func(t *testing.T) {
		w := start(t, monitor, shop, "default_transaction_isolation=serializable")
		var mu sync.Mutex
		left := 400
		w.load(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			left--
			return left >= 0
		})()
		w.awaitCommitted(t, 400)
		w.stop(t)
		for _, a := range w.hook.all() {
			t.Errorf("an alert: %+v", a)
		}
	})
}

func build(t *testing.T, program string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// world is a shop with its database, its monitor and who is alerted.
type world struct {
	hook    *hook
	shop    string // its address
	monitor string
	stop    func(t *testing.T) // ends the monitor
}

func start(t *testing.T, monitor, shop string, settings ...string) *world {
	t.Helper()
	dir := t.TempDir()
	database := testdb.Postgres(t, settings...)
	fill(t, database)
	w := &world{hook: &hook{came: make(chan struct{}, 1)}}
	receiver := httptest.NewServer(w.hook)
	t.Cleanup(receiver.Close)
	config, err := os.ReadFile("isowatch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/var/log/shop", dir, "/var/lib/isowatch", filepath.Join(dir, "data"), "http://127.0.0.1:9000/alert", receiver.URL).Replace(string(config))
	file := filepath.Join(dir, "isowatch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.monitor, w.stop = launch(t, exec.Command(monitor, "run", "--config", file, "--http", "127.0.0.1:0"), `listening http=(\S+)`)
	command := exec.Command(shop)
	command.Env = append(os.Environ(), "DATABASE_URL="+database, "LISTEN=127.0.0.1:0",
		"CAPTURE_FILE="+filepath.Join(dir, "shop.jsonl"), "CAPTURE_KEY=a secret of this test")
	w.shop, _ = launch(t, command, `listening (\S+)`)
	return w
}

func fill(t *testing.T, database string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	schema, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), string(schema)+"INSERT INTO stock VALUES ('apple', 1000000), ('pear', 1000000)"); err != nil {
		t.Fatal(err)
	}
}

// launch starts a program, waits until it prints its address, and ends it with the test or by stop.
func launch(t *testing.T, command *exec.Cmd, address string) (found string, stop func(*testing.T)) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = in, in
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	var log strings.Builder
	ended, listening := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(ended)
		pattern := regexp.MustCompile(address)
		for s := bufio.NewScanner(out); s.Scan(); {
			log.WriteString(s.Text() + "\n")
			if m := pattern.FindStringSubmatch(s.Text()); m != nil {
				select {
				case listening <- m[1]:
				default:
				}
			}
		}
	}()
	stopped := false
	stop = func(t *testing.T) {
		if stopped {
			return
		}
		stopped = true
		_ = command.Process.Signal(syscall.SIGTERM)
		<-ended
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", command.Path, err, log.String())
		}
	}
	t.Cleanup(func() { stop(t) })
	select {
	case found = <-listening:
	case <-ended:
		t.Fatalf("%s ended:\n%s", command.Path, log.String())
	case <-time.After(patience):
		t.Fatalf("%s does not say its address", command.Path)
	}
	return found, stop
}

// load has clients order as long as more says so; the function that it returns waits for them.
func (w *world) load(t *testing.T, more func() bool) (wait func()) {
	var clients sync.WaitGroup
	for n := range 6 {
		clients.Go(func() {
			for more() {
				form := url.Values{"product": {[]string{"apple", "pear"}[n%2]}, "quantity": {"1"}}
				answer, err := http.PostForm("http://"+w.shop+"/orders", form)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(answer.Body)
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					t.Errorf("an order: %s: %s", answer.Status, body)
					return
				}
			}
		})
	}
	return clients.Wait
}

// awaitCommitted waits until the monitor has seen n transactions that were committed.
func (w *world) awaitCommitted(t *testing.T, n int) {
	t.Helper()
	pattern := regexp.MustCompile(`isowatch_transactions_total\{source="shop",status="committed"\} (\d+)`)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + w.monitor + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		seen := 0
		if m := pattern.FindSubmatch(body); m != nil {
			fmt.Sscan(string(m[1]), &seen)
		}
		if seen >= n {
			return
		}
	}
	t.Fatalf("the monitor has not seen %d transactions", n)
}

// alert is a finding as it is posted.
type alert struct {
	Source, Anomaly, Explanation string
	Certain, Expected            bool
}

// hook takes what the monitor posts.
type hook struct {
	came chan struct{} // holds one: something came
	mu   sync.Mutex
	took []alert
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct{ Findings []alert }
	if json.NewDecoder(r.Body).Decode(&body) == nil {
		h.mu.Lock()
		h.took = append(h.took, body.Findings...)
		h.mu.Unlock()
	}
	select {
	case h.came <- struct{}{}:
	default:
	}
}

func (h *hook) all() []alert {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.took
}

func (h *hook) await(t *testing.T, anomaly string) alert {
	t.Helper()
	for {
		for _, a := range h.all() {
			if a.Anomaly == anomaly {
				return a
			}
		}
		select {
		case <-h.came:
		case <-time.After(patience):
			t.Fatalf("no alert of %s came, but %+v", anomaly, h.all())
		}
	}
}
