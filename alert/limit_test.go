package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/finding"
)

// reader is a sink that takes digests, and tells both in one line each.
type reader struct {
	recorder
	down bool
}

func newReader() *reader { return &reader{recorder: recorder{name: "s", began: time.Now()}} }

func (r *reader) Deliver(ctx context.Context, findings []Delivery) error {
	if r.down {
		return errDown
	}
	return r.recorder.Deliver(ctx, findings)
}

func (r *reader) Digest(_ context.Context, held []Held) error {
	if r.down {
		return errDown
	}
	var texts []string
	for _, h := range held {
		texts = append(texts, fmt.Sprintf("%d of %s (%s), %d withdrawn", h.Findings, h.Pattern, strings.Join(h.IDs, " "), h.Withdrawn))
	}
	r.Lock()
	defer r.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("%v: digest: %s", time.Since(r.began), strings.Join(texts, "; ")))
	return nil
}

// of is a finding of an anomaly by transactions of these names.
func of(id, anomaly string, names ...string) finding.Finding {
	f := finding.Finding{ID: id, Kind: finding.KindViolation, State: finding.Provisional, Revision: 1, Certain: true, Source: "db", Anomaly: anomaly, Title: anomaly, Names: map[string]string{}}
	for i, name := range names {
		txn := fmt.Sprint("T", i)
		f.Txns = append(f.Txns, txn)
		f.Names[txn] = name
	}
	return f
}

func later(f finding.Finding, state finding.State) finding.Finding {
	f.Revision++
	f.State = state
	return f
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		sink := newReader()
		limited := func() Sink { return NewLimiter(sink, LimitOptions{PerPattern: 2, Every: time.Minute}) }
		d := start(t, outbox, Options{}, limited())
		say := func(findings ...finding.Finding) {
			outbox.add(findings...)
			d.Notify()
			synctest.Wait()
		}
		say(of("a1", "G2", "pay", "audit"), of("a2", "G2", "audit", "pay"), of("a3", "G2", "pay", "audit", "pay"), of("b1", "G2", "other"))
		time.Sleep(20 * time.Second)
		say(of("a4", "G2", "pay", "audit"), of("c1", "G1a", "pay", "audit"), later(of("a1", "G2", "pay", "audit"), finding.Final))
		// What was held back and is withdrawn counts in the digest; what went out is withdrawn there.
		say(later(of("a3", "G2", "pay", "audit"), finding.Withdrawn), later(of("a2", "G2", "pay", "audit"), finding.Withdrawn))
		// A restart in between forgets nothing.
		d.Close()
		d = start(t, outbox, Options{}, limited())
		say(of("a5", "G2", "pay", "audit"))
		time.Sleep(50 * time.Second)
		say(of("a6", "G2", "pay", "audit"), later(of("a5", "G2", "pay", "audit"), finding.Withdrawn))
		d.Close()
		sink.want(t,
			"0s: a1 a2 b1",
			"20s: c1 a1",
			"20s: a2",
			"1m0s: digest: 3 of G2 of audit, pay (a3 a4 a5), 1 withdrawn",
			"1m10s: a6 a5",
		)
	})
}

// A sink that is down keeps the limiter as it was: nothing counts that did not go out.
// That a replay confirmed a finding is told, also where the finding was held back.
func TestLimiterConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newReader()
		l := NewLimiter(sink, LimitOptions{PerPattern: 1, Every: time.Minute})
		var findings []Delivery
		for _, id := range []string{"sent", "held"} {
			f := of(id, "horizon")
			f.Kind = finding.KindHorizon
			findings = append(findings, Delivery{Finding: f})
		}
		findings = append(findings, Delivery{Finding: later(findings[1].Finding, finding.ResolvedViolated)})
		if err := l.Deliver(t.Context(), findings); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(sink.taken, " "); got != "sent held" {
			t.Errorf("taken: %s", got)
		}
	})
}

func TestLimiterOfASinkThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newReader()
		l := NewLimiter(sink, LimitOptions{PerPattern: 1, Every: time.Minute})
		outbox := &memory{}
		outbox.add(of("a", "G2"), of("b", "G2"))
		sink.down = true
		before := string(stateOf(l))
		if err := l.Deliver(t.Context(), outbox.all); err == nil || string(stateOf(l)) != before {
			t.Errorf("%v, state %s", err, stateOf(l))
		}
		sink.down = false
		if err := l.Deliver(t.Context(), outbox.all); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		sink.down = true
		before = string(stateOf(l))
		if err := l.Flush(t.Context()); err == nil || string(stateOf(l)) != before || l.Due().IsZero() {
			t.Errorf("%v, state %s", err, stateOf(l))
		}
		sink.down = false
		if err := l.Flush(t.Context()); err != nil || !l.Due().IsZero() {
			t.Errorf("%v, due %v", err, l.Due())
		}
		sink.want(t, "0s: a", "1h0m0s: digest: 1 of G2 (b), 0 withdrawn")
	})
}

// However many patterns and findings there are, what is remembered is bounded, and every
// finding goes out or is counted.
func TestLimiterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newReader()
		l := NewLimiter(sink, LimitOptions{PerPattern: 1, Every: time.Minute})
		outbox := &memory{}
		for i := range 5000 {
			outbox.add(of(fmt.Sprintf("%024d", i), "G2", fmt.Sprint("name", i%2500)))
		}
		for len(outbox.all) > 0 {
			n := min(batchMax, len(outbox.all))
			if err := l.Deliver(t.Context(), outbox.all[:n]); err != nil {
				t.Fatal(err)
			}
			outbox.all = outbox.all[n:]
		}
		if n := len(stateOf(l)); n > 600_000 || len(l.state.Buckets) > maxPatterns+1 || len(l.state.IDs) > maxHeldIDs {
			t.Errorf("%d bytes, %d patterns, %d ids", n, len(l.state.Buckets), len(l.state.IDs))
		}
		held := 0
		for _, b := range l.state.Buckets {
			if b.Held != nil {
				held += b.Held.Findings
			}
		}
		if len(sink.taken)+held != 5000 {
			t.Errorf("%d went out and %d are held, of 5000", len(sink.taken), held)
		}
		time.Sleep(time.Minute)
		if err := l.Flush(t.Context()); err != nil || len(l.state.Buckets) > maxPatterns {
			t.Errorf("%v, %d patterns left", err, len(l.state.Buckets))
		}
	})
}

// A state that cannot be read, of another kind of sink for example, is none.
func TestForeignState(t *testing.T) {
	for _, state := range []string{"", "{", "[]", `{"buckets":3}`, `{"alerts":null,"ids":null}`, "null"} {
		l := NewLimiter(newReader(), LimitOptions{PerPattern: 1, Every: time.Minute})
		readable := state == "" || state[0] == 'n' || strings.Contains(state, "null,")
		if err := l.Restore([]byte(state)); (err == nil) != readable {
			t.Errorf("%q: %v", state, err)
		}
		if err := l.Deliver(t.Context(), []Delivery{{Finding: of("a", "G2")}}); err != nil || !l.Due().IsZero() {
			t.Errorf("%q: %v, due %v", state, err, l.Due())
		}
		a, err := NewAlertmanager(AlertmanagerOptions{URLs: []string{"http://127.0.0.1:1"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Restore([]byte(state)); (err == nil) != (readable || state == `{"buckets":3}`) {
			t.Errorf("%q: %v", state, err)
		}
		if !a.Due().IsZero() {
			t.Errorf("%q: alerts due %v", state, a.Due())
		}
	}
}

// Whatever comes in whatever groups, every finding goes out by itself or is in exactly
// one digest, also over restarts at any place.
func FuzzLimiter(f *testing.F) {
	f.Add([]byte("aabbccddee"))
	f.Add([]byte{0, 1, 2, 255, 3, 3, 3, 254, 3, 253})
	f.Fuzz(func(t *testing.T, script []byte) {
		now := time.Unix(1_700_000_000, 0)
		sink := &counting{}
		options := LimitOptions{PerPattern: 2, Every: time.Minute, Now: func() time.Time { return now }}
		l := NewLimiter(sink, options)
		var pending []Delivery
		made := 0
		deliver := func() {
			if err := l.Deliver(context.Background(), pending); err != nil {
				t.Fatal(err)
			}
			pending = nil
		}
		for _, b := range script {
			switch {
			case b == 255:
				deliver()
				state := stateOf(l)
				l = NewLimiter(sink, options)
				l.Restore(state)
			case b == 254:
				now = now.Add(7 * time.Second)
			case b >= 240:
				deliver()
			default:
				made++
				pending = append(pending, Delivery{Finding: of(fmt.Sprint(made), fmt.Sprint("A", b%5))})
			}
			if due := l.Due(); !due.IsZero() && !due.After(now) {
				if err := l.Flush(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		deliver()
		now = now.Add(time.Hour)
		if err := l.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if sink.sent+sink.held != made || !l.Due().IsZero() {
			t.Errorf("%d sent, %d in digests, of %d; due %v", sink.sent, sink.held, made, l.Due())
		}
	})
}

type counting struct {
	sync.Mutex
	sent, held int
}

func (*counting) Name() string { return "counting" }

func (c *counting) Deliver(_ context.Context, findings []Delivery) error {
	c.sent += len(findings)
	return nil
}

func (c *counting) Digest(_ context.Context, held []Held) error {
	for _, h := range held {
		c.held += h.Findings
	}
	_, err := json.Marshal(held)
	return err
}

// stateOf returns what the sink remembers.
func stateOf(k Keeper) []byte {
	state, err := k.State()
	if err != nil {
		panic(err)
	}
	return state
}

// A state that cannot be read is told once, with the sink's name, and the sink works.
func TestForgottenStateIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{kept: map[string][]byte{"reader": []byte(`{"buckets":3}`)}}
		outbox.add(certain("a", "b")...)
		sink := newRecorder("reader", nil)
		var logged bytes.Buffer
		d := start(t, outbox, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))}, NewLimiter(digested{sink}, LimitOptions{PerPattern: 9, Every: time.Minute}))
		synctest.Wait()
		d.Close()
		sink.want(t, "0s: a b")
		if n := strings.Count(logged.String(), "is dropped"); n != 1 || !strings.Contains(logged.String(), "sink=reader") {
			t.Errorf("told %d times:\n%s", n, &logged)
		}
	})
}

// digested is a sink that takes digests.
type digested struct{ Sink }

func (digested) Digest(context.Context, []Held) error { return nil }

// TestLimiterBatches: a limited sink takes as few findings at a time as the sink behind it.
func TestLimiterBatches(t *testing.T) {
	w, err := NewWebhook(WebhookOptions{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if n := NewLimiter(w, LimitOptions{PerPattern: 1, Every: time.Minute, Now: time.Now}).BatchMax(); n != 1 {
		t.Errorf("%d findings at a time, want 1: a request has one", n)
	}
}
