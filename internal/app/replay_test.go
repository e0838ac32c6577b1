package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/ingest"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// at is a second of the day on which the tests' transactions run.
func at(second int) time.Time {
	return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
}

// ran is a transaction that ran from one second to another.
func ran(id string, from, to int, ops string) string {
	return fmt.Sprintf(`{"txn":%q,"status":"committed","start":%q,"end":%q,"ops":[%s]}`,
		id, at(from).Format(time.RFC3339), at(to).Format(time.RFC3339), ops)
}

// Two halves of a write skew, an hour of silence between them, and who reads on.
func skewApart() []string {
	return []string{
		ran("T1", 0, 1, `{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}`),
		ran("N1", 1, 2, `{"op":"r","key":"n","found":false}`),
		ran("W1", 3600, 3601, `{"op":"r","key":"w","found":false}`),
		ran("T2", 2, 3, `{"op":"r","key":"x","value":[]},{"op":"append","key":"y","value":1}`),
	}
}

func bound(t *testing.T, text string) config.Bound {
	t.Helper()
	if text == "" {
		return config.Bound{}
	}
	b, err := config.ParseBound(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func second(n int) string { return at(n).Format(time.RFC3339) }

func replayed(t *testing.T, c config.Replay) *Replayed {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := (&Replay{Config: c}).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func replayOf(files ...string) config.Replay {
	return config.Replay{Watch: config.DefaultWatch(config.LiveContract()), Files: files}
}

func written(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReplayRange(t *testing.T) {
	lines := skewApart()
	file := written(t, lines...)
	offset := func(n int) string { return fmt.Sprint(len(strings.Join(lines[:n], "\n")) + min(n, 1)) }
	for _, c := range []struct {
		name, from, to string
		txns           int64
		outcome        string
	}{
		{"all", "", "", 4, window.Violated},
		{"both halves", second(0), second(10), 3, window.Violated},
		{"ends in the range", second(1), second(10), 3, window.Violated},
		{"ended before", second(2), second(10), 2, window.Unknown},
		{"begins in the range", second(0), second(3), 3, window.Violated},
		{"begins at the end", second(0), second(2), 2, window.Unknown},
		{"from on", second(100), "", 1, window.Unknown},
		{"up to", "", second(100), 3, window.Violated},
		{"nothing", second(100), second(200), 0, window.Unknown},
		{"from a byte", offset(1), "", 3, window.Unknown},
		{"up to a byte", "", offset(3), 3, window.Unknown},
		{"between bytes", offset(1), offset(2), 1, window.Unknown},
		{"byte and time", "0", second(10), 3, window.Violated},
	} {
		r := replayOf(file)
		r.From, r.To = bound(t, c.from), bound(t, c.to)
		got := replayed(t, r)
		if got.Transactions != c.txns || got.Outcome() != c.outcome || got.Counters.DeadLetters != 0 {
			t.Errorf("%s: %d transactions, %s, %+v; want %d, %s", c.name, got.Transactions, got.Outcome(), got.Counters, c.txns, c.outcome)
		}
	}
}

// A range of a clean history gives no alarm, whatever the contract declares of the
// whole: what was written before it was not read.
func TestReplayRangeOfCleanHistory(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines, ran(fmt.Sprint("T", i), i, i+1, fmt.Sprintf(
			`{"op":"r","key":"l%d","value":[%s]},{"op":"append","key":"l%d","value":%d},{"op":"r","key":"r%d","value":%d},{"op":"w","key":"r%d","value":%d}`,
			i%3, elements(i, 3), i%3, i, i%7, i-7, i%7, i)))
	}
	lines = lines[7:]
	file := written(t, lines...)
	for from := 0; from < 200; from += 13 {
		for _, to := range []int{from + 5, from + 50, 300} {
			r := replayOf(file)
			r.Watch.Contract = config.WholeContract()
			r.From, r.To = bound(t, second(from)), bound(t, second(to))
			got := replayed(t, r)
			for _, f := range got.Findings {
				if f.Kind == isolation.KindViolation && f.Certain {
					t.Fatalf("from %d to %d: %+v", from, to, f)
				}
			}
			if o := got.Outcome(); o == window.Violated || o == window.OK {
				t.Fatalf("from %d to %d: %s", from, to, o)
			}
		}
	}
}

// elements of the list that transaction i reads: those before it, step apart.
func elements(i, step int) string {
	var list []string
	for k := i % step; k < i; k += step {
		list = append(list, fmt.Sprint(k))
	}
	return strings.Join(list, ",")
}

func TestReplaySourceAndKey(t *testing.T) {
	lines := skewApart()
	other := strings.NewReplacer(`"txn":"`, `"source":"b","txn":"B`, `"x"`, `"v"`)
	for _, line := range skewApart() {
		lines = append(lines, other.Replace(line))
	}
	file := written(t, lines...)
	for _, c := range []struct {
		source, key     string
		txns            int64
		findings, hides int
	}{
		{"", "", 8, 2, 0}, {"b", "", 4, 1, 0}, {"default", "", 4, 1, 0}, {"none", "", 0, 0, 0},
		{"", "v", 8, 1, 1}, {"", "y", 8, 2, 0}, {"b", "x", 4, 0, 1},
	} {
		r := replayOf(file)
		r.Source, r.Key = c.source, c.key
		got := replayed(t, r)
		if got.Transactions != c.txns || len(got.Findings) != c.findings || got.Hidden != c.hides {
			t.Errorf("source %q, key %q: %d transactions, %d findings, %d hidden", c.source, c.key, got.Transactions, len(got.Findings), got.Hidden)
		}
	}
}

func TestReplayClosesFinding(t *testing.T) {
	skew := skewApart()
	clean := slices.Clone(skew)
	clean[3] = ran("T2", 2, 3, `{"op":"r","key":"x","value":[1]},{"op":"append","key":"y","value":1}`)
	for _, c := range []struct {
		name  string
		lines []string
		with  func(*config.Replay)
		state isolation.State // "": it stays open
		why   string
	}{
		{"violated", skew, nil, isolation.ResolvedViolated, ""},
		{"ok", clean, nil, isolation.ResolvedOK, ""},
		{"a transaction is missing", clean[:3], nil, "", `transaction "T2" was not in what was read`},
		{"outside", skew, func(r *config.Replay) { r.To.Time = at(2).UnixNano() }, "", `transaction "T2" was not in what was read`},
		{"bad record", append([]string{"nonsense"}, clean...), nil, "", "1 bad record"},
		{"bad record beside a violation", append([]string{"nonsense"}, skew...), nil, isolation.ResolvedViolated, ""},
		{"no times", append([]string{`{"txn":"U","status":"committed","ops":[]}`}, clean...), nil, "", "1 record has no times"},
		{"level that allows it", skew, func(r *config.Replay) {
			r.Watch.Levels = []isolation.Level{{Base: isolation.SnapshotIsolation}}
		}, isolation.ResolvedOK, ""},
		{"level that is not checked", clean, func(r *config.Replay) {
			r.Watch.Levels = levels(t, "linearizable")
		}, "", "linearizable is not built yet"},
		{"beginning of files", clean, func(r *config.Replay) { r.From = config.Bound{} }, "", "files do not tell"},
		{"declared beginning", clean, func(r *config.Replay) {
			r.From, r.Watch.Contract.Existing = config.Bound{}, false
		}, isolation.ResolvedOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := replayOf(written(t, c.lines...))
			r.From, r.To = bound(t, second(-100)), bound(t, second(100))
			r.Finding, r.Txns = "f00d", []string{"T2", "T1"}
			if c.with != nil {
				c.with(&r)
			}
			got := replayed(t, r)
			if c.state == "" {
				if got.Closed != nil || !strings.Contains(got.Undecided, c.why) {
					t.Errorf("closed as %+v, undecided %q; want %q", got.Closed, got.Undecided, c.why)
				}
				return
			}
			if got.Closed == nil || got.Closed.State != c.state || got.Closed.ID != "f00d" || got.Closed.Kind != isolation.KindHorizon {
				t.Errorf("closed as %+v, undecided %q; want %s", got.Closed, got.Undecided, c.state)
			}
		})
	}
}

// natsStream is a server with a stream "S" of subjects s.*, and who writes to it.
func natsStream(t *testing.T) (url string, js jetstream.JetStream) {
	t.Helper()
	e, err := brokernats.StartEmbedded(t.Context(), brokernats.EmbeddedOptions{
		Dir: t.TempDir(), Port: -1, Stream: "S", Subjects: []string{"s.*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	conn, err := nats.Connect(e.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return e.URL(), js
}

func publish(t *testing.T, js jetstream.JetStream, subject string, records ...string) {
	t.Helper()
	for _, r := range records {
		if _, err := js.Publish(t.Context(), subject, []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayNATS(t *testing.T) {
	url, js := natsStream(t)
	publish(t, js, "s.a", skewApart()...)
	publish(t, js, "s.b", ran("B", 5, 6, ""))
	for _, c := range []struct {
		from, to string
		subject  string
		txns     int64
		outcome  string
	}{
		{"", "", "", 5, window.Violated},
		{"1", "5", "", 4, window.Violated},
		{"2", "", "", 4, window.Unknown},
		{"1", "4", "", 3, window.Unknown},
		{"", "", "s.b", 1, window.Unknown},
		{second(0), second(10), "", 4, window.Violated},
		{second(2), second(10), "", 3, window.Unknown},
		{second(3000), "", "", 1, window.Unknown},
	} {
		r := replayOf()
		r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
		if c.subject != "" {
			r.NATS.Subjects = []string{c.subject}
		}
		r.From, r.To = bound(t, c.from), bound(t, c.to)
		got := replayed(t, r)
		if got.Transactions != c.txns || got.Outcome() != c.outcome || len(got.Gaps) > 0 {
			t.Errorf("from %q to %q: %d transactions, %s, gaps %q; want %d, %s", c.from, c.to, got.Transactions, got.Outcome(), got.Gaps, c.txns, c.outcome)
		}
	}
}

// What was removed from the beginning may belong to the range: nothing is closed
// as ok then.
func TestReplayNATSTrimmed(t *testing.T) {
	url, js := natsStream(t)
	publish(t, js, "s.a", "nonsense", ran("T1", 0, 1, ""), ran("T2", 2, 3, ""))
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
	r.From, r.To, r.Finding = bound(t, second(0)), bound(t, second(10)), "f00d"
	if got := replayed(t, r); got.Undecided != "1 bad record" || len(got.Gaps) > 0 {
		t.Errorf("undecided %q, gaps %q", got.Undecided, got.Gaps)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{second(0), ""} {
		r.From = bound(t, from)
		got := replayed(t, r)
		if got.Closed != nil || got.Undecided != "1 piece of the input is lost" || len(got.Gaps) != 1 {
			t.Errorf("from %q: closed %+v, undecided %q, gaps %q", from, got.Closed, got.Undecided, got.Gaps)
		}
	}
	r.From = bound(t, "2")
	if got := replayed(t, r); got.Closed == nil || got.Closed.State != isolation.ResolvedOK {
		t.Errorf("closed %+v, undecided %q", got.Closed, got.Undecided)
	}
}

// A range of times is read until records have passed it; a client whose clock is
// wrong does not end it.
func TestReplayStopsBehindRange(t *testing.T) {
	url, js := natsStream(t)
	skew := skewApart()
	wrong := ran("wrong", 0, 1<<31, "")
	var after []string
	for i := range beyond {
		after = append(after, ran(fmt.Sprint("A", i), 1000, 1001, ""))
	}
	some := func(n int) string { return strings.Join(after[:n], "\n") }
	publish(t, js, "s.a", skew[0], wrong, some(beyond-2), skew[3], some(beyond-1), ran("late", 2, 3, ""), some(beyond), ran("too late", 2, 3, ""))
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
	r.From, r.To = bound(t, second(0)), bound(t, second(10))
	got := replayed(t, r)
	if got.Outcome() != window.Violated || got.Read != 3*beyond+1 {
		t.Errorf("%s, %d records read", got.Outcome(), got.Read)
	}
}

// What began before the range, and was recorded by operations, is no bad record.
func TestReplayBeginsAmidOperations(t *testing.T) {
	url, js := natsStream(t)
	now := time.Now()
	publish(t, js, "s.a", `{"type":"commit","txn":"cut"}`, "nonsense")
	time.Sleep(20 * time.Millisecond)
	from := time.Now()
	time.Sleep(20 * time.Millisecond)
	publish(t, js, "s.a",
		fmt.Sprintf(`{"type":"begin","txn":"T","start":%d}`, from.Add(-time.Second).UnixNano()),
		fmt.Sprintf(`{"type":"commit","txn":"T","end":%d}`, time.Now().UnixNano()))
	r := replayOf()
	r.Watch.Contract.ClockDrift = 0
	r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"}
	for _, c := range []struct {
		from time.Time
		bad  int64
	}{{from, 0}, {now.Add(-time.Second), 2}} {
		r.From = config.Bound{Kind: config.AtTime, Time: c.from.UnixNano()}
		if got := replayed(t, r); got.Transactions != 1 || got.Counters.DeadLetters != c.bad {
			t.Errorf("%d transactions, %d bad records, want %d", got.Transactions, got.Counters.DeadLetters, c.bad)
		}
	}
}

func TestReplayKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for i, record := range skewApart() { // T1, W1 in partition 0, N1, T2 in partition 1
		err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: []byte(record)}).FirstErr()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from, to string
		txns     int64
		outcome  string
	}{
		{"", "", 4, window.Violated},
		{"0:0,1:1", "0:1,1:2", 2, window.Violated},
		{"0:1", "", 3, window.Unknown},
		{"", "1:1", 3, window.Unknown},
		{second(0), second(10), 3, window.Violated},
		{second(0), second(2), 2, window.Unknown},
	} {
		r := replayOf()
		r.Bounded = c.to == "" // a partition that is not read yet holds the window
		r.Kafka = &config.Kafka{Brokers: cluster.ListenAddrs(), Topics: []string{"t"}}
		r.From, r.To = bound(t, c.from), bound(t, c.to)
		got := replayed(t, r)
		if got.Transactions != c.txns || got.Outcome() != c.outcome || len(got.Gaps) > 0 {
			t.Errorf("from %q to %q: %d transactions, %s, gaps %q; want %d, %s", c.from, c.to, got.Transactions, got.Outcome(), got.Gaps, c.txns, c.outcome)
		}
	}
}

func TestReplayUnreadable(t *testing.T) {
	url, _ := natsStream(t)
	for name, change := range map[string]func(*config.Replay){
		"no server": func(r *config.Replay) { r.NATS = &config.NATS{URLs: []string{"127.0.0.1:1"}, Stream: "S"} },
		"no stream": func(r *config.Replay) { r.NATS = &config.NATS{URLs: []string{url}, Stream: "NONE"} },
		"no file":   func(r *config.Replay) { r.Files = []string{filepath.Join(t.TempDir(), "none")} },
		"no brokers": func(r *config.Replay) {
			r.Kafka = &config.Kafka{Brokers: []string{"127.0.0.1:1"}, Topics: []string{"t"}}
		},
		"two files": func(r *config.Replay) {
			dir := t.TempDir()
			for _, name := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.Files, r.From = []string{filepath.Join(dir, "*")}, config.Bound{Kind: config.AtOffset, Offset: 1}
		},
	} {
		r := replayOf()
		change(&r)
		replay := Replay{Config: r, Patience: 200 * time.Millisecond}
		if _, err := replay.Run(t.Context()); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The command of a horizon finding names the service's inputs, and no secret.
func TestReplayCommand(t *testing.T) {
	s := config.DefaultService()
	nats := &config.NATS{
		URLs: []string{"nats://ann:s3cret@n1:4222", "s3cret@n2"}, Stream: "S", Subjects: []string{"a.>", "b.*"},
		CredsFile: "/s3cret", NKeyFile: "/s3cret", TokenFile: "/s3cret", User: "ann", PasswordFile: "/s3cret",
		CAFile: "/ca", CertFile: "/s3cret", KeyFile: "/s3cret",
	}
	kafka := &config.Kafka{
		Brokers: []string{"k1:9092", "k2:9092"}, Topics: []string{"t"}, TLS: true, CAFile: "/ca", CertFile: "/s3cret", KeyFile: "/s3cret",
		Mechanism: "PLAIN", User: "ann", PasswordFile: "/s3cret", PasswordEnv: "S3CRET",
	}
	s.Inputs = []config.Input{{NATS: nats}, {Kafka: kafka}, {Tail: []string{"/var/log/it's *.log"}}}
	s.Data = "/data"
	s.Watch.Lateness, s.Watch.Contract.ClockDrift = time.Second, time.Second
	s.Watch.Levels = []isolation.Level{{Base: isolation.SnapshotIsolation}}
	a := &App{config: s}
	a.current.Store(&a.config)
	const want = `monitor replay --data /data --nats nats://n1:4222,n2 --stream S --subjects 'a.>,b.*' --nats-ca-file /ca ` +
		`--kafka k1:9092,k2:9092 --topic t --kafka-tls --kafka-ca-file /ca --file '/var/log/it'\''s *.log' ` +
		`--levels snapshot-isolation,serializable --lateness 1s --contract clock-drift=1s`
	if got := a.replayCommand("default"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a.config = config.DefaultService()
	a.config.Inputs = []config.Input{{Stdin: true}}
	if got := a.replayCommand("default"); got != "" {
		t.Errorf("for standard input: %s", got)
	}
}

// A late record makes a horizon finding, and its command decides it.
func TestHorizonOfService(t *testing.T) {
	s := liveService(t)
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewApart()...)
	f := sink.next(t)
	if f.Kind != isolation.KindHorizon {
		t.Fatalf("finding %+v", f)
	}
	want := fmt.Sprintf("monitor replay --data %s --nats %s --stream ISOWATCH --source default --from %s --to %s --finding %s --txn T2 --txn T1",
		s.Data, a.NATSURL(), second(-95), at(3601+95).Add(1).Format(time.RFC3339Nano), f.ID)
	if f.Command != want {
		t.Errorf("got  %s\nwant %s", f.Command, want)
	}
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{a.NATSURL()}, Stream: config.DefaultStream}
	r.From, r.To = bound(t, second(-95)), bound(t, second(3601+95))
	r.Finding, r.Txns = f.ID, f.Txns
	if got := replayed(t, r); got.Closed == nil || got.Closed.State != isolation.ResolvedViolated {
		t.Errorf("closed %+v, undecided %q", got.Closed, got.Undecided)
	}
}

// storedFinding waits for the finding in a state.
func storedFinding(t *testing.T, dir, id string, state isolation.State) isolation.Finding {
	t.Helper()
	var f isolation.Finding
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		err := ReadStored(t.Context(), dir, Findings, func(text []byte) error {
			var one isolation.Finding
			err := json.Unmarshal(text, &one)
			if one.ID == id {
				f = one
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.State == state {
			return f
		}
	}
	t.Fatalf("%s is not %s but %+v", id, state, f)
	return f
}

// flagOf is the word behind a flag.
func flagOf(command, flag string) string {
	words := strings.Fields(command)
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// A replay closes the finding in the service that has it: once it no longer grows,
// over the whole range, and never from violated to ok. Sinks hear of it, and it
// stays closed over a restart.
func TestReplayClosesInService(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []string
		state   isolation.State
	}{
		{"violated", skewApart(), isolation.ResolvedViolated},
		{"ok", append(skewApart()[:3], ran("T2", 2, 3, `{"op":"r","key":"x","value":[]}`)), isolation.ResolvedOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := liveService(t)
			s.Watch.Idle = time.Second
			sink := make(caught, 10)
			a := start(t, s, sink)
			send(t, a, c.records...)
			f := sink.next(t)
			r := replayOf()
			r.NATS = &config.NATS{URLs: []string{a.NATSURL()}, Stream: config.DefaultStream}
			r.Finding, r.Txns, r.Data = f.ID, f.Txns, s.Data
			answer := func(state isolation.State) error {
				return CloseFinding(t.Context(), &r, &isolation.Finding{ID: f.ID, Source: "default", State: state, Explanation: "So it is."})
			}
			if f.State == isolation.Provisional {
				if err := answer(isolation.ResolvedOK); err == nil || !strings.Contains(err.Error(), "may still grow") && !strings.Contains(err.Error(), "not the whole range") {
					// It may have become final meanwhile, with a wider range.
					t.Errorf("before it is final: %v", err)
				}
			}
			f = storedFinding(t, s.Data, f.ID, isolation.Final)
			r.From, r.To = bound(t, flagOf(f.Command, "--from")), bound(t, flagOf(f.Command, "--to"))
			whole := r
			for what, change := range map[string]func(){
				"begins later":  func() { r.From.Time++ },
				"ends earlier":  func() { r.To.Time-- },
				"other levels":  func() { r.Watch.Levels = []isolation.Level{{Base: isolation.SnapshotIsolation}} },
				"no times":      func() { r.From = bound(t, "17") },
				"another id":    func() { f.ID = "0123" },
				"another state": func() {},
			} {
				id := f.ID
				change()
				state := isolation.ResolvedOK
				if what == "another state" {
					state = isolation.Withdrawn
				}
				if err := answer(state); err == nil {
					t.Errorf("%s: closed", what)
				}
				r, f.ID = whole, id
			}
			storedFinding(t, s.Data, f.ID, isolation.Final)

			got := replayed(t, r)
			if got.Closed == nil || got.Closed.State != c.state {
				t.Fatalf("closed %+v, undecided %q", got.Closed, got.Undecided)
			}
			for range 2 { // the second changes nothing
				if err := CloseFinding(t.Context(), &r, got.Closed); err != nil {
					t.Fatal(err)
				}
			}
			closed := storedFinding(t, s.Data, f.ID, c.state)
			if closed.Revision != f.Revision+1 || strings.Contains(closed.Explanation, "decides") ||
				!strings.HasPrefix(closed.Explanation, got.Closed.Explanation) || !slices.Equal(closed.Refutes, got.Closed.Refutes) {
				t.Errorf("closed %+v\nof %+v", closed, f)
			}
			told := sink.next(t)
			for told.ID != f.ID || told.State != c.state {
				told = sink.next(t)
			}
			if told.Revision != closed.Revision {
				t.Errorf("told %+v", told)
			}
			err := answer(isolation.ResolvedOK)
			if (err == nil) != (c.state == isolation.ResolvedOK) {
				t.Errorf("closed as ok: %v", err)
			}
			stop(t, a)
			if err := answer(c.state); !errors.Is(err, errNoService) {
				t.Errorf("without a service: %v", err)
			}
			if again := storedFinding(t, s.Data, f.ID, c.state); again.Revision != closed.Revision {
				t.Errorf("after a restart %+v", again)
			}
		})
	}
}

// A partition that is read to its end holds the window back no longer: memory is
// bounded by the window, and what comes later than it is behind the horizon.
func TestReplayBounded(t *testing.T) {
	skew := skewApart()
	for _, c := range []struct {
		name   string
		ended  bool // the first partition, before the second goes on
		counts int64
	}{{"both go on", false, 0}, {"one has ended", true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			first := records("kafka:t/0", 0, skew[0])
			first.CaughtUp = c.ended
			chunks := []ingest.Chunk{{Partition: "kafka:t/0"}, {Partition: "kafka:t/1"}, first, records("kafka:t/1", 0, skew[1], skew[2])}
			for range 3 { // steps of their own
				chunks = append(chunks, records("kafka:t/1", 2, strings.Repeat(" ", stepBytes)+ran("P", 3600, 3601, "")))
			}
			chunks = append(chunks, records("kafka:t/1", 9, skew[3]), ingest.Chunk{Partition: "kafka:t/0", CaughtUp: true}, ingest.Chunk{Partition: "kafka:t/1", CaughtUp: true})
			r := replayOf()
			r.Kafka, r.Bounded = &config.Kafka{Brokers: []string{"k"}, Topics: []string{"t"}}, true
			p := (&Replay{Config: r}).begin()
			p.inputs = []*replayInput{{name: "kafka:", source: &scripted{chunks: chunks, wait: true}, topics: []string{"t"}}}
			got, err := p.run(t.Context())
			if err != nil || got.Counters.Horizon != c.counts {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
}

// A topic that was not heard of yet is still to be read.
func TestReplayTopicsInTurn(t *testing.T) {
	skew := skewApart()
	first, second := records("kafka:t/0", 0, skew[0]), records("kafka:u/0", 0, skew[3])
	first.CaughtUp, second.CaughtUp = true, true
	r := replayOf()
	r.Kafka = &config.Kafka{Brokers: []string{"k"}, Topics: []string{"t", "u"}}
	p := (&Replay{Config: r}).begin()
	p.inputs = []*replayInput{{
		name: "kafka:", topics: []string{"t", "u"},
		source: &scripted{chunks: []ingest.Chunk{{Partition: "kafka:t/0"}, first, {Partition: "kafka:u/0"}, second}, wait: true},
	}}
	got, err := p.run(t.Context())
	if err != nil || got.Outcome() != window.Violated {
		t.Errorf("%v, %+v", err, got)
	}
	if !p.inputs[0].ended {
		t.Error("the input is not known to be read")
	}
}
