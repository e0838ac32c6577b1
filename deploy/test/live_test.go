package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// program is the path of one of the names. The test is skipped without it, or fails where CI=true.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s", names[0])
	}
	t.Skipf("needs %s; with CI=true its absence is a failure", names[0])
	return ""
}

func buildMonitor(t *testing.T) string {
	t.Helper()
	monitor := filepath.Join(t.TempDir(), "monitor")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", monitor, "./cmd/monitor").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return monitor
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a program that lives as long as the test, and shows what it wrote if the test fails.
func run(t *testing.T, dir string, command ...string) *exec.Cmd {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(command[0])+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
			cmd.Wait() // it was killed
		}
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%s", command[0], text)
		}
	})
	return cmd
}

func write(t *testing.T, dir, name string, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// watched is a monitor that reads standard input, and the Prometheus that scrapes it.
type watched struct {
	t          *testing.T
	dir        string
	monitor    *exec.Cmd
	address    string // of its pages
	in         io.Writer
	prometheus string
	targets    string // a file of more targets
	mu         sync.Mutex
	sent       int
}

// watch starts both, with the rules unless rules is "", and waits for the first scrape.
func watch(t *testing.T, alertmanager, rules string) *watched {
	t.Helper()
	return watchExpecting(t, "snapshot-isolation", alertmanager, rules)
}

func watchExpecting(t *testing.T, level, alertmanager, rules string) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir(), address: freeAddress(t), prometheus: freeAddress(t)}
	config := write(t, w.dir, "isowatch.yaml", map[string]any{
		"http":    map[string]any{"address": w.address, "external-url": "http://" + w.address + "/watch/"},
		"sources": []any{map[string]any{"name": "orders", "expect": level, "lateness": "1s", "contract": map[string]any{"value-identity": "unique"}}},
		"inputs":  []any{map[string]any{"stdin": true}},
		"sinks":   []any{map[string]any{"alertmanager": map[string]any{"urls": []any{"http://" + alertmanager}}}},
	})
	w.monitor = run(t, w.dir, buildMonitor(t), "run", "--config", config, "--data", filepath.Join(w.dir, "data"))
	in, err := w.monitor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.in = in
	w.targets = filepath.Join(w.dir, "targets.yaml")
	settings := map[string]any{
		"global":   map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"alerting": map[string]any{"alertmanagers": []any{map[string]any{"static_configs": []any{map[string]any{"targets": []any{alertmanager}}}}}},
		"scrape_configs": []any{
			map[string]any{"job_name": "isowatch", "static_configs": []any{map[string]any{"targets": []any{w.address}}}},
			map[string]any{"job_name": "more", "file_sd_configs": []any{map[string]any{"files": []any{w.targets}, "refresh_interval": "1s"}}},
		},
	}
	if rules != "" {
		settings["rule_files"] = []any{rules}
	}
	prometheus := run(t, w.dir, program(t, "prometheus"), "--config.file="+write(t, w.dir, "prometheus.yml", settings),
		"--storage.tsdb.path="+filepath.Join(w.dir, "tsdb"), "--web.listen-address="+w.prometheus)
	for _, cmd := range []*exec.Cmd{w.monitor, prometheus} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	within(t, time.Minute, "a scrape", func() bool { return len(w.query(`isowatch_findings_total{source="orders"} == 0`)) > 0 })
	return w
}

// query are the labels of the series of an instant query.
func (w *watched) query(expr string) (series []map[string]string) {
	for _, s := range w.values(expr) {
		series = append(series, s.labels)
	}
	return series
}

// sample is one series of the answer to an instant query.
type sample struct {
	labels map[string]string
	value  string
}

// values are the answer to an instant query.
func (w *watched) values(expr string) (series []sample) {
	w.t.Helper()
	status, body := get(w.t, "http://"+w.prometheus+"/api/v1/query?query="+url.QueryEscape(expr))
	if status == 0 || status == http.StatusServiceUnavailable {
		return nil // it starts
	}
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error != "" {
		w.t.Fatalf("%s: %v %s", expr, err, body)
	}
	for _, r := range answer.Data.Result {
		if v, ok := r.Value[1].(string); ok && v != "NaN" {
			series = append(series, sample{r.Metric, v})
		}
	}
	return series
}

// transaction sends a record of one that ran just now.
func (w *watched) transaction(ops string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	w.record(fmt.Sprint("T", w.sent), "committed", time.Now(), ops)
}

// record sends one of a transaction that ended then.
func (w *watched) record(txn, status string, end time.Time, ops string) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.in, `{"txn":%q,"source":"orders","start":%d,"end":%d,"status":%q,"ops":[%s]}`+"\n", txn, end.UnixNano()-1e6, end.UnixNano(), status, ops); err != nil {
		w.t.Error(err)
	}
}

// lostUpdate is forbidden, and writeSkew is allowed.
func (w *watched) lostUpdate(key string) {
	w.transaction(fmt.Sprintf(`{"op":"r","key":%q,"value":0},{"op":"w","key":%q,"value":1}`, key, key))
	w.transaction(fmt.Sprintf(`{"op":"r","key":%q,"value":0},{"op":"w","key":%q,"value":2}`, key, key))
}

func (w *watched) writeSkew(x, y string) {
	w.transaction(fmt.Sprintf(`{"op":"w","key":%q,"value":1},{"op":"w","key":%q,"value":1}`, x, y))
	w.transaction(fmt.Sprintf(`{"op":"r","key":%q,"value":1},{"op":"r","key":%q,"value":1},{"op":"w","key":%q,"value":2}`, x, y, x))
	w.transaction(fmt.Sprintf(`{"op":"r","key":%q,"value":1},{"op":"r","key":%q,"value":1},{"op":"w","key":%q,"value":2}`, x, y, y))
}

// groupJob is the job of the member of a group in TestPanels.
const groupJob = "shop"

// groupMember starts a member of a group over the NATS server of another monitor, and lets Prometheus scrape it.
func (w *watched) groupMember() (address string) {
	w.t.Helper()
	broker, address, monitor, dir := freeAddress(w.t), freeAddress(w.t), w.monitor.Path, w.t.TempDir()
	_, number, _ := strings.Cut(broker, ":")
	for name, args := range map[string][]string{
		"broker": {"--http", "off", "--nats-port", number},
		"member": {"--http", address, "--nats", "nats://" + broker, "--stream", "ISOWATCH", "--group", groupJob, "--group-state", "nats://" + broker + "/STATE", "--group-member", "a"},
	} {
		own := filepath.Join(dir, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			w.t.Fatal(err)
		}
		cmd := run(w.t, own, append([]string{monitor, "run", "--output", "log", "--data", filepath.Join(own, "data")}, args...)...)
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
	}
	write(w.t, w.dir, filepath.Base(w.targets), []any{map[string]any{"targets": []any{address}, "labels": map[string]any{"job": groupJob}}})
	within(w.t, time.Minute, "the member watches the unit, and is scraped", func() bool {
		return len(w.query(`isowatch_group_units{state="owned"} == 1`)) > 0
	})
	return address
}

// TestPanels runs each query of the dashboard on a Prometheus that scrapes a monitor under load, and a member of a group. Each
// returns data, and so do the choices of its variables.
func TestPanels(t *testing.T) {
	program(t, "prometheus")
	w := watch(t, freeAddress(t), "") // an Alertmanager that is not there
	member := w.groupMember()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
				w.lostUpdate(fmt.Sprint("lost", i))
				w.writeSkew(fmt.Sprint("x", i), fmt.Sprint("y", i))
			}
		}
	}()
	b := readBoard(t)
	of := func(job string) *strings.Replacer {
		return strings.NewReplacer("$job", job, "$instance", ".*", "$source", ".*", "$__rate_interval", "10s", "$__range", "1h")
	}
	values, row := of("isowatch"), ""
	want := mustRead(t, resultsPath)
	if *rewrite {
		time.Sleep(30 * time.Second) // every series is there
	}
	var page resultsPage
	page.begin()
	for _, p := range b.Panels {
		page.panel(p.Title, p.Description, p.Type == "row")
		if p.Type == "row" {
			row = p.Title
		}
		if row == "A group of monitors" {
			values = of(groupJob)
		}
		for _, q := range p.Targets {
			expr := values.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: a variable that nobody sets in %s", p.Title, q.Expr)
			}
			w.values(of(".*").Replace(q.Expr)) // a member of a group beside a monitor: no query fails
			var text string
			var series []sample
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Second) { // some series come later than others
				series = w.values(expr)
				text = page.result(q.Expr, q.LegendFormat, series, map[string]string{w.address: "watch:8080", member: "member:8080"})
				if len(series) > 0 && (*rewrite || bytes.Contains(shapeOf(want), shapeOf([]byte(text)))) || time.Now().After(end) {
					break
				}
			}
			if len(series) == 0 {
				t.Errorf("%s has no data: %s", p.Title, expr)
			}
			page.WriteString(text)
			page.queries++
		}
	}
	if page.queries < 30 {
		t.Errorf("%d queries", page.queries)
	}
	if *rewrite {
		if err := os.WriteFile(resultsPath, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got, want := shapeOf(page.Bytes()), shapeOf(want); !bytes.Equal(got, want) {
		t.Errorf("%s shows other queries or series: go test -run TestPanels -rewrite\n%s", resultsPath, firstDifference(string(got), string(want)))
	}
	choices := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := choices.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Fatalf("%s: %q", v.Name, v.Definition)
		}
		if series := w.query(of("isowatch").Replace(m[1])); len(series) == 0 || series[0][m[2]] == "" {
			t.Errorf("%s: nothing to choose from %s", v.Name, v.Definition)
		}
	}
}

// woken are the notifications that a receiver of Alertmanager's got: the alerts of each, by name.
type woken struct {
	mu  sync.Mutex
	got map[string][][]string
}

func (w *woken) of(receiver string) [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got[receiver])
}

// sampleAlertmanager starts an Alertmanager with the sample's configuration, whose receivers are the test's, and
// whose waits are short.
func sampleAlertmanager(t *testing.T) (address string, w *woken) {
	t.Helper()
	w = &woken{got: map[string][][]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n struct {
			Receiver string
			Alerts   []struct{ Labels map[string]string }
		}
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		var names []string
		for _, a := range n.Alerts {
			names = append(names, a.Labels["alertname"])
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.got[n.Receiver] = append(w.got[n.Receiver], names)
	}))
	t.Cleanup(server.Close)
	var config map[string]any
	if err := yaml.Unmarshal(mustRead(t, "../compose/alertmanager.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	route := config["route"].(map[string]any)
	route["group_wait"], route["group_interval"] = "2s", "1s"
	for _, r := range config["receivers"].([]any) {
		r.(map[string]any)["webhook_configs"] = []any{map[string]any{"url": server.URL, "send_resolved": false}}
	}
	dir := t.TempDir()
	address = freeAddress(t)
	cmd := run(t, dir, program(t, "prometheus-alertmanager", "alertmanager"), "--config.file="+write(t, dir, "am.yml", config),
		"--storage.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "Alertmanager is ready", func() bool { status, _ := get(t, "http://"+address+"/-/ready"); return status == http.StatusOK })
	return address, w
}

type amAlert struct {
	Labels, Annotations map[string]string
	Status              struct{ State string }
}

func alertsOf(t *testing.T, address string) map[string]amAlert {
	t.Helper()
	var list []amAlert
	if status, body := get(t, "http://"+address+"/api/v2/alerts"); status != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil {
		t.Fatalf("%d %s", status, body)
	}
	all := map[string]amAlert{}
	for _, a := range list {
		all[a.Labels["alertname"]] = a
	}
	return all
}

// TestOneWakesOnce: an anomaly is told of by the sink and by a rule, and a monitor that is gone by several
// rules. With the sample's configuration each wakes a person once, and every alert links to a page.
func TestOneWakesOnce(t *testing.T) {
	program(t, "prometheus")
	am, woken := sampleAlertmanager(t)
	w := watch(t, am, quickRules(t))
	w.lostUpdate("x")
	within(t, time.Minute, "the anomaly is told of twice, and inhibited once", states(t, am, map[string]string{"IsolationViolated": "active", "IsowatchAnomaly": "suppressed"}))
	all := alertsOf(t, am)
	for name, holds := range map[string]string{
		"IsolationViolated": all["IsolationViolated"].Annotations["finding"], "IsowatchAnomaly": "1 group of 1 finding.", // of its source and anomaly
	} {
		link := all[name].Annotations["page_url"]
		if status, page := get(t, link); status != http.StatusOK || !strings.Contains(page, holds) {
			t.Errorf("%s links to %q: status %d, or a page without %q", name, link, status, holds)
		}
	}
	time.Sleep(5 * time.Second) // what is not inhibited goes out within 3 s
	if got := fmt.Sprint(woken.of("person")); got != "[[IsolationViolated]]" {
		t.Errorf("a person was woken by %s", got)
	}

	w.monitor.Process.Kill()
	within(t, time.Minute, "the dead monitor is told of, and what else is known of it is inhibited", states(t, am, map[string]string{"IsowatchDown": "active", "IsowatchAnomaly": "suppressed"}))
	time.Sleep(5 * time.Second)
	if got := fmt.Sprint(woken.of("person")); got != "[[IsolationViolated] [IsowatchDown]]" {
		t.Errorf("a person was woken by %s", got)
	}
	for _, names := range woken.of("inbox") {
		t.Logf("the inbox got %v", names)
	}
}

// TestOneFaultOfTwoAnomaliesWakesOnce: a session reads what it has replaced, and replaces it once more. That is
// a stale read and a lost update, of the same transactions.
func TestOneFaultOfTwoAnomaliesWakesOnce(t *testing.T) {
	program(t, "prometheus")
	am, woken := sampleAlertmanager(t)
	w := watchExpecting(t, "strong-session-serializable", am, "")
	at := time.Now()
	for i := range 2 {
		if _, err := fmt.Fprintf(w.in, `{"txn":"T%d","source":"orders","session":"s","seq":%[1]d,"start":%d,"end":%d,"status":"committed","ops":[{"op":"r","key":"x","value":0},{"op":"w","key":"x","value":%[1]d}]}`+"\n",
			i+1, at.UnixNano()+int64(i)*1e6, at.UnixNano()+int64(i)*1e6+1000); err != nil {
			t.Fatal(err)
		}
	}
	within(t, time.Minute, "a person is woken", func() bool { return len(woken.of("person")) > 0 })
	time.Sleep(5 * time.Second) // another group goes out within 3 s
	if got := fmt.Sprint(woken.of("person")); got != "[[IsolationViolated IsolationViolated]]" {
		t.Errorf("a person was woken by %s", got)
	}
}

// quickRules are the rules, which wait for seconds.
func quickRules(t *testing.T) (file string) {
	t.Helper()
	var rules map[string]any
	if err := yaml.Unmarshal(mustRead(t, rulesPath), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules["groups"].([]any) {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			if rule := r.(map[string]any); rule["for"] != nil {
				rule["for"] = "3s" // minutes in the files
			}
		}
	}
	return write(t, t.TempDir(), "rules.yml", rules)
}

// states says whether alerts are in the states named.
func states(t *testing.T, am string, want map[string]string) func() bool {
	return func() bool {
		all := alertsOf(t, am)
		for name, state := range want {
			if all[name].Status.State != state {
				return false
			}
		}
		return true
	}
}

// TestWithdrawnWakesNobodyAgain: a later record takes a finding back. The sink's alert is over at once; the
// rule's counts it for 15 minutes more, and stays inhibited.
func TestWithdrawnWakesNobodyAgain(t *testing.T) {
	program(t, "prometheus")
	am, woken := sampleAlertmanager(t)
	w := watch(t, am, quickRules(t))
	at := time.Now()
	const update = `{"op":"r","key":"k","value":0},{"op":"w","key":"k","value":1}`
	w.record("T0", "committed", at, `{"op":"w","key":"k","value":0}`)
	w.record("T1", "unknown", at.Add(10*time.Millisecond), update)
	w.record("T2", "committed", at.Add(10*time.Millisecond), `{"op":"r","key":"k","value":0},{"op":"w","key":"k","value":2}`)
	w.record("T3", "committed", at.Add(20*time.Millisecond), `{"op":"r","key":"k","value":1}`)
	within(t, time.Minute, "the anomaly is told of twice", states(t, am, map[string]string{"IsolationViolated": "active", "IsowatchAnomaly": "suppressed"}))
	within(t, time.Minute, "a person is woken", func() bool { return len(woken.of("person")) == 1 })
	w.record("T1", "aborted", at.Add(10*time.Millisecond), update)
	within(t, time.Minute, "it is withdrawn, and the rule's alert still inhibited", func() bool {
		all := alertsOf(t, am)
		return all["IsolationWithdrawn"].Status.State == "active" && all["IsolationViolated"].Status.State == "" && all["IsowatchAnomaly"].Status.State == "suppressed"
	})
	time.Sleep(5 * time.Second) // what is not inhibited goes out within 3 s
	if got := fmt.Sprint(woken.of("person")); got != "[[IsolationViolated]]" {
		t.Errorf("a person was woken by %s", got)
	}
}
