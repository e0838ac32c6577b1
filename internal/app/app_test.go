package app

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/finding"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// caught is a sink that keeps what it is given.
type caught chan alert.Delivery

func (caught) Name() string { return "caught" }

func (c caught) Deliver(_ context.Context, findings []alert.Delivery) error {
	for _, f := range findings {
		c <- f
	}
	return nil
}

func (c caught) next(t *testing.T) finding.Finding {
	t.Helper()
	select {
	case d := <-c:
		return d.Finding
	case <-time.After(15 * time.Second):
		t.Fatal("no finding within 15 s")
		return finding.Finding{}
	}
}

func liveService(t *testing.T) config.Service {
	s := config.DefaultService()
	s.Watch.Contract.Observed = false // values are declared to be unique: findings leave at once
	s.Data, s.HTTP.Address, s.Embedded.Port = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", 0
	return s
}

func start(t *testing.T, s config.Service, sinks ...alert.Sink) *App {
	t.Helper()
	o := Options{Config: s}
	for _, sink := range sinks {
		o.Sinks = append(o.Sinks, alert.Route{Sink: sink, Filter: alert.Everything()})
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	return a
}

func stop(t *testing.T, a *App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestDurability(t *testing.T) {
	for durability, want := range map[string]bool{config.Async: false, config.Fsync: true} {
		s := liveService(t)
		s.Durability = durability
		a := start(t, s)
		if got := a.storeOptions().Fsync; got != want {
			t.Errorf("%s: commits are synced: %v", durability, got)
		}
		stop(t, a)
	}
}

// embeddedStream talks to a's embedded NATS server until the test ends.
func embeddedStream(t *testing.T, a *App) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(a.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func send(t *testing.T, a *App, records ...string) {
	t.Helper()
	js := embeddedStream(t, a)
	for _, r := range records {
		if _, err := js.Publish(t.Context(), "isowatch.events.test", []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t *testing.T, a *App, path string) string {
	t.Helper()
	response, err := http.Get("http://" + a.HTTPAddr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, response.Status, err, text)
	}
	return string(text)
}

func stored(t *testing.T, dir string, kind Kind) []string {
	t.Helper()
	var list []string
	if err := ReadStored(t.Context(), dir, kind, func(r []byte) error {
		list = append(list, string(r))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// What the records cannot show is on the page, in the status and in the log, with what to do.
func TestAdviceIsShown(t *testing.T) {
	s := liveService(t)
	s.Watch.Contract.Observed = true
	a := start(t, s)
	send(t, a, `{"txn":"T1","status":"committed","ops":[{"op":"w","key":"stock/1","value":1}]}`,
		`{"txn":"T2","status":"committed","ops":[{"op":"w","key":"stock/1","value":1}]}`,
		`{"txn":"T3","status":"committed","ops":[{"op":"r","key":"stock/1","value":1},{"op":"r","key":"a","value":1,"kind":"counter"},{"op":"r","key":"b","value":1,"kind":"counter"}]}`)
	send(t, a, `{"txn":"T4","status":"committed","ops":[{"op":"r","key":"paid/1","value":1,"version":"7"},{"op":"w","key":"paid/1","value":2,"version":"8"}]}`,
		`{"txn":"T5","status":"committed","ops":[{"op":"r","key":"paid/1","value":2,"version":"8"},{"op":"w","key":"paid/1","value":1,"version":"9"}]}`)
	waitFor(t, "the records", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 5 })
	if page := get(t, a, "/"); strings.Contains(page, "paid/#") {
		t.Errorf("a version is asked for where each operation has one:\n%s", page)
	}
	for path, want := range map[string]string{
		"/":              "Values of keys stock/# repeat (two transactions wrote one value of a key), so that they do not say which transaction wrote them: 0 of 1 read is decided.",
		"/api/v1/status": `"repeating":[{"pattern":"stock/#",`,
	} {
		if page := get(t, a, path); !strings.Contains(page, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, page)
		}
	}
	a.engine.Status().Sources[0].TotalsOff = &window.TotalsOff{Reason: "so it is"}
	if page := get(t, a, "/"); !strings.Contains(page, "Totals of counters are not compared: so it is.") {
		t.Errorf("the page lacks it:\n%s", page)
	}
}

// What is decided of a healthy service is on its page, in its status and in its metrics, and
// why not the rest.
func TestDecidedIsShown(t *testing.T) {
	for _, observed := range []bool{false, true} { // T1 wrote y unread: observed, it may have been there
		s := liveService(t)
		s.Watch.Contract.DeletesUnseen, s.Watch.Contract.Observed = true, observed
		a := start(t, s)
		send(t, a, `{"txn":"T1","status":"committed","ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"y","value":1}]}`,
			`{"txn":"T2","status":"committed","ops":[{"op":"r","key":"y","value":1}]}`)
		waitFor(t, "the records", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 2 })
		shown := map[string]string{
			"/":              `<span class="badge cleared">✓ no violation found</span>`,
			"/api/v1/status": `"decided":0.5,"why":[{"cause":"found-nothing","reads":1,`,
			"/metrics":       `isowatch_decided_ratio{level="serializable",source="default"} 0.5`,
		}
		if observed {
			shown = map[string]string{
				"/":              "no violation found · 0% of reads decided",
				"/api/v1/status": `"cause":"written-meanwhile","reads":1,`,
				"/metrics":       `isowatch_decided_ratio{level="serializable",source="default"} 0` + "\n",
			}
		}
		for path, want := range shown {
			if page := get(t, a, path); !strings.Contains(page, want) {
				t.Errorf("%s without %q", path, want)
			}
		}
		stop(t, a)
	}
}

// One record's way from a client to everything that shows it.
func TestFromRecordToPages(t *testing.T) {
	s := liveService(t)
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewOne+"\n"+skewTwo, "nonsense")
	f := sink.next(t)
	if f.Anomaly != "G2-item" || f.FirstPosition != "nats:ISOWATCH/1" {
		t.Errorf("delivered %s at %s", f.Anomaly, f.FirstPosition)
	}
	waitFor(t, "the dead letter", func() bool { return len(stored(t, s.Data, DeadLetters)) == 1 })

	if text := get(t, a, "/-/ready"); text != "ready\n" {
		t.Errorf("ready: %q", text)
	}
	var list []finding.Finding
	if err := json.Unmarshal([]byte(get(t, a, "/api/v1/findings?anomaly=G2-item&limit=1")), &list); err != nil || len(list) != 1 || list[0].ID != f.ID {
		t.Errorf("listed %v, %v", list, err)
	}
	if text := get(t, a, "/api/v1/findings?kind=gap"); strings.TrimSpace(text) != "[]" {
		t.Errorf("a filter that matches nothing gives %s", text)
	}
	metrics := get(t, a, "/metrics")
	for _, want := range []string{
		`isowatch_findings_total{anomaly="G2-item",expected="false",source="default",title="write skew"} 1`,
		`isowatch_findings_total{anomaly="G0",expected="false",source="default",title="write cycle"} 0`,
		`isowatch_transactions_total{source="default",status="committed"} 2`,
		`isowatch_dead_letters_total{source="default"} 1`,
		`isowatch_source_up{input="nats:ISOWATCH"} 1`,
		`isowatch_verdict{level="serializable",source="default"} 2`,
		`isowatch_alert_notifications_total{sink="caught"} 1`,
		"go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("metrics without %s", want)
		}
	}
	for _, want := range []string{"write skew", "verdict", "violated", f.ID} {
		if page := get(t, a, "/"); !strings.Contains(page, want) {
			t.Errorf("page without %q", want)
		}
	}
	during := stored(t, s.Data, Findings)
	stop(t, a)
	after := stored(t, s.Data, Findings)
	if len(during) != 1 || len(after) != 1 || !strings.Contains(after[0], f.ID) || !strings.Contains(during[0], f.ID) {
		t.Errorf("stored beside the service %v, after it %v", during, after)
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 15 s", what)
		}
	}
}

// A restart knows what came before: the second half of a cycle completes it.
func TestRestartContinues(t *testing.T) {
	s := liveService(t)
	a := start(t, s)
	send(t, a, skewOne)
	waitFor(t, "the first record", func() bool { return a.Status().Records == 1 })
	stop(t, a)
	if err := a.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	sink := make(caught, 10)
	a = start(t, s, sink)
	send(t, a, skewTwo)
	if f := sink.next(t); strings.Join(f.Txns, " ") != "T2 T1" && strings.Join(f.Txns, " ") != "T1 T2" {
		t.Errorf("found %v", f.Txns)
	}
	if got := a.Status().Records; got != 1 {
		t.Errorf("the second run read %d records, want the new one", got)
	}
}

func TestWebhook(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a cut body fails below
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write(body)
		if r.Header.Get("X-Isowatch-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			body = []byte("wrong signature")
		}
		bodies <- string(body)
	}))
	defer server.Close()
	s := liveService(t)
	s.HTTP.Address = config.Off
	s.Sinks = []config.Sink{webhookTo(config.Webhook{URL: server.URL, Secret: config.Secret{File: secret}})}
	s.Watch.Expect = isolation.Level{Base: isolation.SnapshotIsolation}
	sink := make(caught, 10)
	a := start(t, s, sink)
	if a.HTTPAddr() != "" {
		t.Errorf("pages at %s", a.HTTPAddr())
	}
	// Write skew is allowed by the expected level and not alerted; the lost
	// update is not allowed.
	send(t, a, skewOne, skewTwo,
		`{"txn":"U0","status":"committed","ops":[{"op":"r","key":"r","found":false},{"op":"w","key":"r","value":1}]}`,
		`{"txn":"U1","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":2}]}`,
		`{"txn":"U2","status":"committed","ops":[{"op":"r","key":"r","value":1},{"op":"w","key":"r","value":3}]}`)
	if first, second := sink.next(t), sink.next(t); !first.Expected || second.Expected {
		t.Errorf("expected: %s %v, %s %v", first.Anomaly, first.Expected, second.Anomaly, second.Expected)
	}
	select {
	case body := <-bodies:
		if !strings.Contains(body, `"anomaly":"lost-update"`) || strings.Contains(body, "G2-item") {
			t.Errorf("posted %s", body)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("nothing was posted")
	}
}

func webhookTo(w config.Webhook) config.Sink {
	s := config.NewSink()
	s.Webhook = &w
	return s
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*config.Service)
		want   string
		input  bool
	}{
		{"bad pattern", func(s *config.Service) { s.Inputs = []config.Input{{Tail: []string{"["}}} }, "pattern", false},
		{"no certificate", func(s *config.Service) {
			s.Inputs = []config.Input{{Kafka: &config.Kafka{Brokers: []string{"127.0.0.1:1"}, Topics: []string{"t"}, CertFile: "x"}}}
		}, "key-file", false},
		{"nats user", func(s *config.Service) {
			s.Inputs = []config.Input{{NATS: &config.NATS{URLs: []string{"nats://127.0.0.1:1"}, Stream: "S", PasswordFile: empty}}}
		}, "user", false},
		{"no such certificate", func(s *config.Service) { s.HTTP.CertFile, s.HTTP.KeyFile = "missing", "missing" }, "certificate", false},
		{"token not set", func(s *config.Service) { s.HTTP.Token.Env = "ISOWATCH_TEST_NOT_SET" }, "ISOWATCH_TEST_NOT_SET is not set", false},
		{"empty password", func(s *config.Service) { s.HTTP.User, s.HTTP.Password.File = "u", empty }, "empty", false},
		{"empty secret", func(s *config.Service) {
			s.Sinks = []config.Sink{webhookTo(config.Webhook{URL: "http://127.0.0.1:1/", Secret: config.Secret{File: empty}})}
		}, "empty", false},
		{"webhook", func(s *config.Service) {
			s.Sinks = []config.Sink{webhookTo(config.Webhook{URL: "nonsense"})}
		}, "webhook", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := liveService(t)
			c.change(&s)
			a, err := New(Options{Config: s})
			if err == nil {
				err = a.Start(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrInput) != c.input {
				t.Errorf("error %v, want %s, of the input: %v", err, c.want, c.input)
			}
			if a != nil && len(a.cleanups) > 0 {
				t.Errorf("%d things are left open", len(a.cleanups))
			}
		})
	}
	for want, change := range map[string]func(*config.Service){
		"--http": func(s *config.Service) { s.HTTP.Address = taken.Addr().String() },
		"--data": func(s *config.Service) { s.Data = empty },
		"--nats-port": func(s *config.Service) {
			s.Embedded.Port = taken.Addr().(*net.TCPAddr).Port
		},
	} {
		s := liveService(t)
		change(&s)
		a, err := New(Options{Config: s})
		if err == nil {
			err = a.Start(t.Context())
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want that of a setting, and %s", err, want)
		}
	}
	s := liveService(t)
	s.HTTP.Address, s.HTTP.Elsewhere = taken.Addr().String(), true
	if a := start(t, s); a.HTTPAddr() == "" || a.HTTPAddr() == taken.Addr().String() {
		t.Errorf("pages at %q", a.HTTPAddr())
	}
}

func TestRemedies(t *testing.T) {
	a := &App{config: config.Service{Data: "dir"}}
	for err, want := range map[error]string{
		store.ErrHole: "Move dir/store away", store.ErrLocked: "other process", store.ErrFormat: "Run that build", context.Canceled: "",
		io.EOF: "damaged. Move dir/store away", fs.ErrPermission: "right to read and write", syscall.ENOSPC: "Make room",
	} {
		if got := a.remedy(err); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("remedy for %v: %q", err, got)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Watch.Contract = config.WholeContract()
	s.Sources = []config.Source{{Name: DemoSource, Watch: s.Watch}}
	a := start(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	summary, err := RunDemo(ctx, a, &told{unanswered: map[string]bool{}})
	if err != nil {
		t.Fatal(err)
	}
	if summary.Transactions < 50 {
		t.Errorf("summary %+v", summary)
	}
	// A finding that waits is stored and not counted; it becomes due as time goes on.
	waitFor(t, "findings counted as they are stored", func() bool {
		var now DemoSummary
		now.count(a)
		var counted int64
		for _, f := range now.Findings {
			counted += f.Alerted + f.Expected
		}
		due := slices.DeleteFunc(stored(t, s.Data, Findings), func(text string) bool { return strings.Contains(text, `"state":"waiting"`) })
		return counted == int64(len(due))
	})
	if x := a.Status().Sources; len(x) != 1 || x[0].Source != DemoSource || x[0].Counters.Clamped > 0 {
		t.Errorf("sources %+v", x)
	}
	if !bytes.Contains([]byte(get(t, a, "/metrics")), []byte(`source="bank"`)) {
		t.Error("no metrics of the demo's source")
	}
}

// After the end of a standard input another one continues the history. One that
// was left in the middle cannot be continued.
func TestStandardInputs(t *testing.T) {
	s := liveService(t)
	s.HTTP.Address, s.Inputs = config.Off, []config.Input{{Stdin: true}}
	run := func(input io.Reader, done bool) error {
		a, err := New(Options{Config: s, Stdin: input})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			return err
		}
		if done {
			wait(t, "the end of the input", a.Done())
		} else {
			waitFor(t, "the record", func() bool { return a.Status().Records > 0 })
		}
		stop(t, a)
		return nil
	}
	for _, one := range []string{skewOne, skewTwo} {
		if err := run(strings.NewReader(one), true); err != nil {
			t.Fatal(err)
		}
	}
	if got := stored(t, s.Data, Findings); len(got) != 1 || !strings.Contains(got[0], `"G2-item"`) {
		t.Errorf("found %v", got)
	}
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, strings.Replace(skewOne, "T1", "T3", 1)+"\n")
	if err := run(in, false); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(""), true); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "left in the middle") {
		t.Errorf("after an input that was left in the middle: %v", err)
	}
}

// A broker is away for longer than the idle time-out, while another input goes
// on. What its clients send when it is back is not late.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), -1
	broker := func() *brokernats.Embedded {
		e, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
			Dir: filepath.Join(dir, "nats"), Port: port, Stream: "S", Subjects: []string{"s"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	publish := func(e *brokernats.Embedded, record string) {
		conn, err := nats.Connect(e.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	began := time.Now().Add(-time.Hour)
	ended := func(id string, minutes time.Duration) string {
		end := began.Add(minutes * time.Minute).UnixNano()
		return fmt.Sprintf(`{"txn":%q,"status":"committed","start":%d,"end":%d,"ops":[{"op":"w","key":%q,"value":1}]}`+"\n", id, end-1, end, id)
	}

	server := broker()
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	s := liveService(t)
	s.Inputs = []config.Input{{NATS: &config.NATS{URLs: []string{server.URL()}, Stream: "S"}}, {Tail: []string{file.Name()}}}
	s.Watch.Idle = time.Second
	a := start(t, s)
	committed := func() int64 {
		if x := a.Status().Sources; len(x) == 1 {
			return x[0].Counters.Committed
		}
		return 0
	}
	publish(server, ended("N1", 0))
	file.WriteString(ended("F1", 0))
	waitFor(t, "the first records", func() bool { return committed() == 2 })
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the news that the broker is away", func() bool {
		w := a.Status().Waiting
		return len(w) == 1 && w[0].Partition == "nats:S" && strings.Contains(get(t, a, "/"), "<dd>nats:S, silent for ")
	})
	if text := get(t, a, "/metrics"); !strings.Contains(text, "\nisowatch_waiting_partitions 1\n") {
		t.Error("the metrics do not tell")
	}
	time.Sleep(2 * s.Watch.Idle)
	file.WriteString(ended("F2", 30))
	waitFor(t, "the record of the file", func() bool { return committed() == 3 })
	publish(broker(), ended("N2", 1))
	waitFor(t, "the record of the broker", func() bool { return committed() == 4 })
	if n := a.Status().Sources[0].Counters.Late; n != 0 {
		t.Errorf("%d records are late", n)
	}
}
