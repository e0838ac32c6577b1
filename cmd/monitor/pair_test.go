package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testrun"
)

const (
	pairContract = "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique"
	pairPatience = 45 * time.Second
	pairCalm     = 1500 * time.Millisecond // nobody posts for so long: all is told, and room was for one too many
)

// TestPair runs two monitors that know nothing of each other on one stream, and kills them with
// SIGKILL: one for good, or both in turn so that one always lives. Every planted anomaly is
// delivered, nothing else is, each under one id and in one text. An Alertmanager that both tell
// has the alerts that it has of one monitor.
func TestPair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	records := plantedMessages(t, testrun.Size(4_000, 30_000), testrun.Size(130, 1_000))
	history := filepath.Join(dir, "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	want := checkedIDs(t, history)
	if len(want) < 20 {
		t.Fatalf("only %d findings were planted", len(want))
	}
	alone := runPair(t, natsPair(t, records), []string{"alone"}, want, nil)
	disturbances := map[string]func(*testing.T, []*paired, *rand.Rand){
		"neither is killed": nil,
		"the first is killed": func(t *testing.T, both []*paired, rng *rand.Rand) {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			both[0].kill(t)
		},
		"the second is killed": func(t *testing.T, both []*paired, rng *rand.Rand) {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			both[1].kill(t)
		},
		"both are killed in turn": func(t *testing.T, both []*paired, rng *rand.Rand) {
			for i := range 6 {
				time.Sleep(time.Duration(200+rng.IntN(400)) * time.Millisecond)
				both[i%2].kill(t)
				both[i%2].start(t)
			}
		},
	}
	for i, name := range slices.Sorted(maps.Keys(disturbances)) { // the short form has the first and the third
		if testrun.LeavesOut(i, 2) {
			continue
		}
		disturb := disturbances[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runPair(t, natsPair(t, records), []string{"a", "b"}, want, disturb)
			if n := got.differing(); n != 0 {
				t.Errorf("%d of %d findings have two texts", n, len(want))
			}
			if one, two := alone.labels(), got.labels(); !slices.Equal(one, two) {
				t.Errorf("one monitor alerts with the labels\n%s\nand a pair with\n%s", strings.Join(one, "\n"), strings.Join(two, "\n"))
			}
		})
	}
}

// TestPairOverPartitions: the ids of a pair are the same over several partitions too. The texts
// may differ, since each monitor reads the partitions in an order of its own. How many do is logged:
// docs/scale.md says it.
func TestPairOverPartitions(t *testing.T) {
	t.Parallel()
	records := plantedMessages(t, testrun.Size(4_000, 30_000), testrun.Size(130, 1_000))
	history := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(history, bytes.Join(records, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	want := checkedIDs(t, history)
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			got := runPair(t, kafkaPair(t, records, partitions), []string{"a", "b"}, want, nil)
			if n := got.differing(); partitions == 1 && n != 0 {
				t.Errorf("%d of %d findings have two texts over one partition", n, len(want))
			} else {
				t.Logf("%d partitions: %d of %d findings have two texts", partitions, n, len(want))
			}
		})
	}
}

// pairInput is where the monitors of a test read.
type pairInput struct {
	input   string // of the file of settings
	publish func() error
}

func natsPair(t *testing.T, records [][]byte) pairInput {
	t.Helper()
	url := startStream(t)
	return pairInput{
		fmt.Sprintf("nats: {urls: [%q], stream: %s}", url, killStream),
		func() error { return publish(url, records) },
	}
}

func kafkaPair(t *testing.T, records [][]byte, partitions int) pairInput {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), "pair"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &kafka.Writer{Addr: kafka.TCP(cluster.ListenAddrs()...), Topic: "pair", Balancer: &kafka.RoundRobin{}, BatchTimeout: time.Millisecond, RequiredAcks: kafka.RequireAll}
	t.Cleanup(func() { w.Close() })
	return pairInput{
		fmt.Sprintf("kafka: {brokers: [%q], topics: [pair]}", cluster.ListenAddrs()[0]),
		func() error {
			for batch := range slices.Chunk(records, 10) {
				var messages []kafka.Message
				for _, m := range batch {
					messages = append(messages, kafka.Message{Value: m})
				}
				if err := w.WriteMessages(context.Background(), messages...); err != nil {
					return err
				}
				time.Sleep(1500 * time.Millisecond * time.Duration(len(batch)) / time.Duration(len(records)))
			}
			return nil
		},
	}
}

// runPair lets monitors of these names watch the input until they have delivered what is wanted, and
// compares what they delivered with it.
func runPair(t *testing.T, input pairInput, names []string, want map[string]bool, disturb func(*testing.T, []*paired, *rand.Rand)) *pairReceiver {
	t.Helper()
	r := newPairReceiver(t)
	urls := []string{r.url + "/alertmanager"}
	real := startAlertmanager(t)
	if real != "" {
		urls = append(urls, real)
	}
	var all []*paired
	for _, name := range names {
		m := &paired{name: name, dir: t.TempDir()}
		settings := fmt.Sprintf("inputs:\n  - %s\nsinks:\n  - {webhook: {url: %q}, per-pattern: 0, send: all}\n  - {alertmanager: {urls: [%s]}, send: all}\n",
			input.input, r.url+"/hook/"+name, strings.Join(urls, ", "))
		if err := os.WriteFile(filepath.Join(m.dir, "isowatch.yaml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		r.dirs = append(r.dirs, m.dir)
		m.start(t)
		t.Cleanup(func() {
			if m.cmd != nil {
				m.kill(t)
			}
			if t.Failed() {
				t.Logf("log of %s:\n%s", m.name, m.log.String())
			}
		})
		all = append(all, m)
	}
	published := make(chan error, 1)
	go func() { published <- input.publish() }()
	if disturb != nil {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		disturb(t, all, rand.New(rand.NewPCG(seed, 1)))
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	var living []string
	for _, m := range all {
		if m.cmd != nil {
			living = append(living, m.name)
		}
	}
	// Those that live have each delivered all, so the union of the deliveries is complete too.
	for deadline := time.Now().Add(pairPatience); !r.complete(living, want) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	for deadline := time.Now().Add(pairPatience); !r.calm() && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	compareIDs(t, r.union(), want)
	if real != "" {
		// It has one alert of each set of labels, whoever told it.
		labels, err := alertmanagerLabels(real)
		if want := r.labels(); err != nil || !slices.Equal(labels, want) {
			t.Errorf("Alertmanager shows (%v)\n%s\nwant\n%s", err, strings.Join(labels, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, m := range all {
		if log := m.log.String(); !strings.Contains(log, "replica="+m.name+" ") && !strings.Contains(log, "replica="+m.name+"\n") {
			t.Errorf("the log of %s does not name it:\n%s", m.name, log)
		}
	}
	return r
}

// paired is a monitor of a pair, over its lives.
type paired struct {
	name, dir string
	cmd       *exec.Cmd // nil: it does not live
	log       lockedBuffer
}

func (m *paired) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command("monitor", "run", "--config", "isowatch.yaml", "--replica", m.name,
		"--http", "off", "--output", "jsonl", "--idle", "5s", "--lateness", "2s", "--contract", pairContract)
	m.cmd.Dir, m.cmd.Stderr = m.dir, &m.log
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (m *paired) kill(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(pairPatience); m.log.String() == "" && time.Now().Before(deadline); { // it is up
		time.Sleep(10 * time.Millisecond)
	}
	if err := m.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Errorf("monitor %s had ended by itself: %v", m.name, err)
	}
	m.cmd.Wait() // it was killed
	m.cmd = nil
}

// pairReceiver takes what monitors post, to a path of each for the webhook, and for Alertmanager to one path.
type pairReceiver struct {
	url  string
	dirs []string // of the monitors: texts name them

	mu     sync.Mutex
	bodies map[string]map[string]string // of findings, by monitor and id: that of the latest revision
	state  map[string]map[string]finding.State
	alerts map[string]bool // sets of labels
	last   time.Time       // when a post changed something
}

func newPairReceiver(t *testing.T) *pairReceiver {
	t.Helper()
	r := &pairReceiver{bodies: map[string]map[string]string{}, state: map[string]map[string]finding.State{}, alerts: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = r.take(q.URL.Path, body)
		}
		if err != nil {
			t.Errorf("%s: %v: %s", q.URL.Path, err, body)
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *pairReceiver) take(path string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, isHook := strings.CutPrefix(path, "/hook/")
	if !isHook {
		var posts []struct{ Labels map[string]string }
		if err := json.Unmarshal(body, &posts); err != nil {
			return err
		}
		for _, p := range posts {
			text, err := json.Marshal(p.Labels) // sorted
			if err != nil {
				return err
			}
			if !r.alerts[string(text)] {
				r.alerts[string(text)], r.last = true, time.Now()
			}
		}
		return nil
	}
	var posted struct{ Findings []map[string]any }
	if err := json.Unmarshal(body, &posted); err != nil {
		return err
	}
	for _, f := range posted.Findings {
		id, state := fmt.Sprint(f["id"]), finding.State(fmt.Sprint(f["state"]))
		delete(f, "detected_at") // the clocks of the monitor, when it committed the finding
		delete(f, "found_at")    // and when the step began
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		for _, dir := range r.dirs {
			text = bytes.ReplaceAll(text, []byte(dir), []byte("DIR"))
		}
		if r.bodies[name] == nil {
			r.bodies[name], r.state[name] = map[string]string{}, map[string]finding.State{}
		}
		r.bodies[name][id], r.state[name][id], r.last = string(text), state, time.Now()
	}
	return nil
}

// complete says whether each of the monitors has delivered all that is wanted.
func (r *pairReceiver) complete(names []string, want map[string]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		for id := range want {
			if r.bodies[name][id] == "" {
				return false
			}
		}
	}
	return true
}

// calm says whether nothing new was posted for a while.
func (r *pairReceiver) calm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.last) > pairCalm
}

// union are the findings that some monitor delivered, and did not withdraw.
func (r *pairReceiver) union() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string]int{}
	for _, states := range r.state {
		for id, state := range states {
			if state != finding.Withdrawn {
				ids[id]++
			}
		}
	}
	return ids
}

// differing counts the findings that two monitors delivered in different texts.
func (r *pairReceiver) differing() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, text := range r.bodies["a"] {
		if other, ok := r.bodies["b"][id]; ok && other != text {
			n++
		}
	}
	return n
}

// labels are the sets of labels that an Alertmanager was told.
func (r *pairReceiver) labels() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for text := range r.alerts {
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// startAlertmanager runs a real one, if there is one; "" if not. With CI=true its absence is a failure.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	program := ""
	for _, name := range []string{"prometheus-alertmanager", "alertmanager"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Alertmanager: install prometheus-alertmanager")
		}
		t.Log("without the program prometheus-alertmanager only the posts to one are compared; with CI=true its absence is a failure")
		return ""
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	l.Close()
	settings := filepath.Join(dir, "am.yml")
	if err := os.WriteFile(settings, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+settings, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait() // it was killed
	})
	for deadline := time.Now().Add(pairPatience); ; time.Sleep(50 * time.Millisecond) {
		if _, err = alertmanagerLabels("http://" + address); err == nil {
			return "http://" + address
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// alertmanagerLabels are the sets of labels of the alerts that an Alertmanager has.
func alertmanagerLabels(url string) ([]string, error) {
	response, err := http.Get(url + "/api/v2/alerts")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var list []struct{ Labels map[string]string }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return nil, err
	}
	all := []string{}
	for _, x := range list {
		text, err := json.Marshal(x.Labels)
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all, nil
}
