package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
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

// Two halves of a write skew that ran beside each other, an hour of silence between their records,
// and who reads on.
func skewApart() []string {
	return []string{
		strings.Replace(ran("T1", 0, 1, `{"op":"r","key":"y","value":[]},{"op":"append","key":"x","value":1}`), ":01Z", ":02.05Z", 1),
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
	c := config.LiveContract()
	c.UnmonitoredWriters, c.DeletesUnseen, c.Observed = false, false, false // reads of nothing show something
	return config.Replay{Watch: config.DefaultWatch(c), Files: files}
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
		{"ended before", second(3), second(10), 1, window.Unknown},
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
				if f.Kind == finding.KindViolation && f.Certain {
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

// Where all records are of one source, one that names another is bad, as it is for the service.
func TestReplayOwnInputs(t *testing.T) {
	file := written(t, append(skewApart(), strings.Replace(ran("B1", 1, 2, `{"op":"w","key":"z","value":1}`), `{`, `{"source":"b",`, 1),
		strings.Replace(ran("A1", 1, 2, `{"op":"w","key":"z","value":1}`), `{`, `{"source":"a",`, 1))...)
	for own, want := range map[bool]string{true: "5 transactions, 1 bad", false: "6 transactions, 0 bad"} {
		bad := 0
		c := replayOf(file)
		c.DefaultSource, c.OwnInputs = "a", own
		r, err := (&Replay{Config: c, DeadLetter: func(string, string) { bad++ }}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d transactions, %d bad", r.Transactions, bad); got != want {
			t.Errorf("own inputs: %v: %s, want %s", own, got, want)
		}
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

func TestReplayUnreadable(t *testing.T) {
	t.Parallel()
	url, js := natsStream(t)
	publish(t, js, "s.a", skewApart()...)
	addrs, client := kafkaTopic(t, 1)
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(skewApart()[0])}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*config.Replay){
		"no server": func(r *config.Replay) { r.NATS = &config.NATS{URLs: []string{"127.0.0.1:1"}, Stream: "S"} },
		"no stream": func(r *config.Replay) { r.NATS = &config.NATS{URLs: []string{url}, Stream: "NONE"} },
		"no file":   func(r *config.Replay) { r.Files = []string{filepath.Join(t.TempDir(), "none")} },
		"no brokers": func(r *config.Replay) {
			r.Kafka = &config.Kafka{Brokers: []string{"127.0.0.1:1"}, Topics: []string{"t"}}
		},
		"behind the stream's end": func(r *config.Replay) {
			r.NATS, r.From = &config.NATS{URLs: []string{url}, Stream: "S"}, bound(t, "99999999")
		},
		"behind the topic's end": func(r *config.Replay) {
			r.Kafka, r.From = &config.Kafka{Brokers: addrs, Topics: []string{"t"}}, bound(t, "0:99999999")
		},
		"behind the file's end": func(r *config.Replay) {
			r.Files, r.From = []string{written(t, skewApart()...)}, bound(t, "99999999")
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
		if _, err := replay.Run(t.Context()); !errors.Is(err, ErrInput) || strings.HasPrefix(name, "behind") && !strings.Contains(err.Error(), "99999 is after the end of ") {
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
	again := replayable{inputs: s.AllInputs(), data: s.Data}
	const want = `monitor replay --data /data --nats nats://n1:4222,n2 --stream S --subjects 'a.>,b.*' --nats-ca-file /ca ` +
		`--kafka k1:9092,k2:9092 --topic t --kafka-tls --kafka-ca-file /ca --file '/var/log/it'\''s *.log' ` +
		`--levels snapshot-isolation,serializable --lateness 1s --contract clock-drift=1s`
	if got := again.command("default", s.WatchOf("default")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s = config.DefaultService()
	s.Inputs = []config.Input{{Stdin: true}}
	again = replayable{inputs: s.AllInputs()}
	if got := again.command("default", s.WatchOf("default")); got != "" {
		t.Errorf("for standard input: %s", got)
	}
}
