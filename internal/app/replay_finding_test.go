package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

func TestReplayClosesFinding(t *testing.T) {
	skew := skewApart()
	clean := slices.Clone(skew)
	clean[3] = ran("T2", 2, 3, `{"op":"r","key":"x","value":[1]},{"op":"append","key":"y","value":1}`)
	for _, c := range []struct {
		name  string
		lines []string
		with  func(*config.Replay)
		state finding.State // "": it stays open
		why   string
	}{
		{"violated", skew, nil, finding.ResolvedViolated, ""},
		{"ok", clean, nil, finding.ResolvedOK, ""},
		{"a transaction is missing", clean[:3], nil, "", `transaction "T2" was not in what was read`},
		{"outside", skew, func(r *config.Replay) { r.To.Time = at(2).UnixNano() }, "", `transaction "T2" was not in what was read`},
		{"bad record", append([]string{"nonsense"}, clean...), nil, "", "1 bad record"},
		{"bad record beside a violation", append([]string{"nonsense"}, skew...), nil, finding.ResolvedViolated, ""},
		{"no times", append([]string{`{"txn":"U","status":"committed","ops":[]}`}, clean...), nil, "", "1 record has no times"},
		{"level that allows it", skew, func(r *config.Replay) {
			r.Watch.Expect = isolation.Level{Base: isolation.SnapshotIsolation}
		}, finding.ResolvedOK, ""},
		{"level that is not checked", clean, func(r *config.Replay) {
			r.Watch.Levels = levels(t, "linearizable")
		}, "", "linearizable is not decided by a range"},
		{"beginning of files", clean, func(r *config.Replay) { r.From = config.Bound{} }, "", "files do not tell"},
		{"declared beginning", clean, func(r *config.Replay) {
			r.From, r.Watch.Contract.Existing = config.Bound{}, false
		}, finding.ResolvedOK, ""},
		{"violation of others", append(slices.Clone(clean), skewOf("U")...), nil, "", "1 violation of serializable, but without a transaction that the finding names"},
		{"violations of both", append(slices.Clone(skew), skewOf("U")...), nil, finding.ResolvedViolated, ""},
		{"violation of another source", append(slices.Clone(clean), inSource("b", skew)...), nil, finding.ResolvedOK, ""},
		{"violation of another epoch", append(slices.Clone(clean), inEpoch("2", skew)...), nil, "", "1 violation of serializable, but without"},
		{"epoch of the finding", append(slices.Clone(clean), inEpoch("2", skew)...), func(r *config.Replay) { r.Epoch = "2" }, finding.ResolvedViolated, ""},
		{"no transaction of the epoch", clean, func(r *config.Replay) { r.Epoch = "2" }, "", `transaction "T2" was not in what was read`},
		{"violation that is allowed", skew, func(r *config.Replay) {
			r.Watch.Expect = isolation.Level{Base: isolation.ReadCommitted}
		}, finding.ResolvedOK, "1 violation of other levels, which read-committed allows"},
		{"nobody named", skew[:3], func(r *config.Replay) { r.Txns = nil }, "", "no transaction is named"},
		{"read without a writer", reading(clean, `{"op":"r","key":"k","value":"old"}`), nil, "", `transaction "T2" read a value of "k" that has no writer in the range, or several`},
		{"read of a writer", append(reading(clean, `{"op":"r","key":"k","value":"old"}`), ran("K", 0, 1, `{"op":"w","key":"k","value":"old"}`)), nil, finding.ResolvedOK, ""},
		{"read of several writers", append(reading(clean, `{"op":"r","key":"k","value":"old"}`),
			ran("K", 0, 1, `{"op":"w","key":"k","value":"old"}`), ran("L", 0, 1, `{"op":"w","key":"k","value":"old"}`)), nil, "", `a value of "k"`},
		{"element without a writer", append(reading(clean, `{"op":"r","key":"k","value":[7,8]}`), ran("K", 0, 1, `{"op":"append","key":"k","value":8}`)), nil, "", `a value of "k"`},
		{"element of a set without a writer", append(reading(clean, `{"op":"r","key":"k","kind":"set","value":[7]}`), ran("K", 0, 1, `{"op":"add","key":"k","value":8}`)), nil, "", `a value of "k"`},
		{"row without a writer", reading(clean, `{"op":"range","from":"k","to":"l","result":[{"key":"k1","value":1}]}`), nil, "", `a value of "k1"`},
		{"counter", append(reading(clean, `{"op":"r","key":"k","kind":"counter","value":1}`), ran("K", 0, 1, `{"op":"inc","key":"k","value":1}`)), nil, "", `a value of "k"`},
		{"nothing, where something was deleted", append(reading(clean, `{"op":"r","key":"k","found":false}`), ran("K", 0, 1, `{"op":"delete","key":"k"}`)), nil, "", `a value of "k"`},
		{"others' read without a writer", append(slices.Clone(clean), ran("K", 4, 5, `{"op":"r","key":"k","value":1}`)), nil, finding.ResolvedOK, ""},
		{"the same, where others are not named", append(slices.Clone(clean), ran("K", 4, 5, `{"op":"r","key":"k","value":1}`)),
			func(r *config.Replay) { r.Unnamed = 2 }, "", `2 edges lead to transactions that are not named, and some read of "k" has no writer in the range`},
		{"others that are not named", clean, func(r *config.Replay) { r.Unnamed = 2 }, finding.ResolvedOK, ""},
		{"bounded", []string{clean[0], clean[3], clean[1], ran("W1", 80, 81, "")}, func(r *config.Replay) {
			r.Bounded, r.Watch.Window = true, config.Window{Duration: time.Second}
		}, "", "has left the window: replay without --window"},
		{"records that contradict", append(slices.Clone(clean), ran("N1", 1, 2, `{"op":"r","key":"n","value":2}`)), nil, "", "1 record contradicts another"},
		{"missing record", append(slices.Clone(clean), inSession("s", 1, ran("A", 0, 1, "")), inSession("s", 3, ran("B", 2, 3, ""))), nil, "", "1 record of a session is missing"},
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
			if got.Closed == nil || got.Closed.State != c.state || got.Closed.ID != "f00d" || got.Closed.Kind != finding.KindHorizon {
				t.Fatalf("closed as %+v, undecided %q; want %s", got.Closed, got.Undecided, c.state)
			}
			if !got.Closed.Certain || got.Closed.Expected || !strings.Contains(got.Closed.Explanation, c.why) {
				t.Errorf("closed as %+v", got.Closed)
			}
			if got.Closed.State == finding.ResolvedViolated { // what it names is in what it shows
				if !slices.Equal(got.Closed.Refutes, []string{"repeatable-read", "update-serializable"}) || !strings.Contains(got.Closed.Explanation, "T2") {
					t.Errorf("closed as %+v", got.Closed)
				}
			}
		})
	}
}

// skewOf is a write skew of two transactions whose names begin so, over keys of theirs.
func skewOf(who string) []string {
	return []string{
		ran(who+"1", 0, 1, fmt.Sprintf(`{"op":"r","key":"y%[1]s","value":[]},{"op":"append","key":"x%[1]s","value":1}`, who)),
		ran(who+"2", 0, 1, fmt.Sprintf(`{"op":"r","key":"x%[1]s","value":[]},{"op":"append","key":"y%[1]s","value":1}`, who)),
	}
}

// reading are the records, the last of which begins with the operation.
func reading(lines []string, op string) []string {
	lines = slices.Clone(lines)
	last := len(lines) - 1
	lines[last] = strings.Replace(lines[last], `"ops":[`, `"ops":[`+op+",", 1)
	return lines
}

func inSource(name string, lines []string) []string { return withField("source", name, lines) }
func inEpoch(name string, lines []string) []string  { return withField("epoch", name, lines) }

func withField(field, value string, lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, fmt.Sprintf(`{%q:%q,`, field, value)+line[1:])
	}
	return all
}

func inSession(name string, seq int, line string) string {
	return fmt.Sprintf(`{"session":%q,"seq":%d,`, name, seq) + line[1:]
}

// A late record makes a horizon finding, and its command decides it.
func TestHorizonOfService(t *testing.T) {
	s := liveService(t)
	sink := make(caught, 10)
	a := start(t, s, sink)
	send(t, a, skewApart()...)
	f := sink.next(t)
	if f.Kind != finding.KindHorizon {
		t.Fatalf("finding %+v", f)
	}
	want := fmt.Sprintf("monitor replay --data %s --nats %s --stream ISOWATCH --contract value-identity=unique --source default --from %s --to %s --finding %s --txn T2 --txn T1",
		s.Data, a.NATSURL(), second(-95), at(3601+95).Add(1).Format(time.RFC3339Nano), f.ID)
	if f.Command != want {
		t.Errorf("got  %s\nwant %s", f.Command, want)
	}
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{a.NATSURL()}, Stream: config.DefaultStream}
	r.From, r.To = bound(t, second(-95)), bound(t, second(3601+95))
	r.Finding, r.Txns = f.ID, f.Txns
	if got := replayed(t, r); got.Closed == nil || got.Closed.State != finding.ResolvedViolated {
		t.Errorf("closed %+v, undecided %q", got.Closed, got.Undecided)
	}
}

// storedFinding waits for the finding in a state.
func storedFinding(t *testing.T, dir, id string, state finding.State) finding.Finding {
	t.Helper()
	var f finding.Finding
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		err := ReadStored(t.Context(), dir, Findings, func(text []byte) error {
			var one finding.Finding
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
	t.Parallel()
	for _, c := range []struct {
		name    string
		records []string
		state   finding.State
	}{
		{"violated", skewApart(), finding.ResolvedViolated},
		{"ok", append(skewApart()[:3], ran("T2", 2, 3, `{"op":"r","key":"x","value":[]}`)), finding.ResolvedOK},
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
			epoch := ""
			answer := func(state finding.State) error {
				return CloseFinding(t.Context(), &r, &finding.Finding{ID: f.ID, Source: "default", Epoch: epoch, State: state, Txns: r.Txns, Refutes: []string{"serializable"}, Explanation: "So it is."})
			}
			if f.State == finding.Provisional {
				if err := answer(finding.ResolvedOK); err == nil || !strings.Contains(err.Error(), "may still grow") && !strings.Contains(err.Error(), "not the whole range") {
					// It may have become final meanwhile, with a wider range.
					t.Errorf("before it is final: %v", err)
				}
			}
			f = storedFinding(t, s.Data, f.ID, finding.Final)
			r.From, r.To = bound(t, flagOf(f.Command, "--from")), bound(t, flagOf(f.Command, "--to"))
			whole := r
			for what, change := range map[string]func(){
				"begins later":  func() { r.From.Time++ },
				"ends earlier":  func() { r.To.Time-- },
				"another level": func() { r.Watch.Expect = isolation.Level{Base: isolation.SnapshotIsolation} },
				"another one":   func() { r.Txns = []string{"T1", "T2"} },
				"not all named": func() { r.Unnamed = 1 },
				"another epoch": func() { epoch = "2" },
				"no times":      func() { r.From = bound(t, "17") },
				"another id":    func() { f.ID = "0123" },
				"another state": func() {},
			} {
				id := f.ID
				change()
				state := finding.ResolvedOK
				if what == "another state" {
					state = finding.Withdrawn
				}
				if err := answer(state); err == nil {
					t.Errorf("%s: closed", what)
				}
				r, f.ID, epoch = whole, id, ""
			}
			allowed := finding.Finding{ID: f.ID, Source: "default", State: finding.ResolvedViolated, Txns: r.Txns, Refutes: []string{"strong-serializable"}}
			if err := CloseFinding(t.Context(), &r, &allowed); !errors.Is(err, ErrStaysOpen) || !strings.Contains(err.Error(), "allowed by serializable") {
				t.Errorf("what the expected level allows: %v", err)
			}
			storedFinding(t, s.Data, f.ID, finding.Final)

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
			if closed.Revision != f.Revision+1 || !closed.Certain || closed.Expected || strings.Contains(closed.Explanation, "decides") ||
				!strings.HasPrefix(closed.Explanation, got.Closed.Explanation) || !slices.Equal(closed.Refutes, got.Closed.Refutes) {
				t.Errorf("closed %+v\nof %+v", closed, f)
			}
			told := sink.next(t)
			for told.ID != f.ID || told.State != c.state {
				told = sink.next(t)
			}
			if told.Revision != closed.Revision || !told.Certain {
				t.Errorf("told %+v", told)
			}
			err := answer(finding.ResolvedOK)
			if (err == nil) != (c.state == finding.ResolvedOK) {
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

// What the service lost, here with a stream that was deleted and created again, is in no
// replay: what the late record did not find may have been there.
func TestReplayAfterLoss(t *testing.T) {
	t.Parallel()
	s := liveService(t)
	s.Watch.Idle, s.Watch.Lateness, s.Watch.MaxTransaction = time.Second, time.Second, time.Second
	sink := make(caught, 10)
	a := start(t, s, sink)
	skew := skewApart()
	send(t, a, skew[:3]...)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if sources := a.Status().Sources; len(sources) == 1 && sources[0].Counters.Committed == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", a.Status().Sources)
		}
	}
	js := embeddedStream(t, a)
	stream, err := js.Stream(t.Context(), config.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), config.DefaultStream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), stream.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	if f := sink.next(t); f.Kind != finding.KindGap {
		t.Fatalf("finding %+v", f)
	}
	send(t, a, skew[3])
	f := sink.next(t)
	if f.Kind != finding.KindHorizon {
		t.Fatalf("finding %+v", f)
	}
	f = storedFinding(t, s.Data, f.ID, finding.Final)
	r := replayOf()
	r.NATS = &config.NATS{URLs: []string{a.NATSURL()}, Stream: config.DefaultStream}
	r.Finding, r.Txns, r.Data = f.ID, f.Txns, s.Data
	r.From, r.To = bound(t, flagOf(f.Command, "--from")), bound(t, flagOf(f.Command, "--to"))
	closed := finding.Finding{ID: f.ID, Source: "default", State: finding.ResolvedOK, Txns: f.Txns}
	if err := CloseFinding(t.Context(), &r, &closed); !errors.Is(err, ErrStaysOpen) || !strings.Contains(err.Error(), "the service lost input") {
		t.Errorf("closed: %v", err)
	}
	storedFinding(t, s.Data, f.ID, finding.Final)
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
				chunks = append(chunks, records("kafka:t/1", 2, strings.Repeat(" ", whole.StepBytes)+ran("P", 3600, 3601, "")))
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
