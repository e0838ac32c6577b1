package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/prometheus/client_golang/prometheus"
)

// memory is an outbox whose cursors survive a dispatcher, as a store's do.
type memory struct {
	sync.Mutex
	all     []Delivery
	cursors map[string]uint64
	kept    map[string][]byte
	broken  error
}

func (m *memory) add(findings ...finding.Finding) {
	m.Lock()
	defer m.Unlock()
	for _, f := range findings {
		text, err := json.Marshal(f)
		if err != nil {
			panic(err)
		}
		m.all = append(m.all, Delivery{uint64(len(m.all) + 1), f, text})
	}
}

func (m *memory) Pending(sink string, max int) ([]Delivery, error) {
	m.Lock()
	defer m.Unlock()
	pending := m.all[m.cursors[sink]:]
	return slices.Clone(pending[:min(max, len(pending))]), m.broken
}

func (m *memory) Kept(sink string) ([]byte, error) {
	m.Lock()
	defer m.Unlock()
	return m.kept[sink], m.broken
}

func (m *memory) Keep(sink string, state []byte) error {
	m.Lock()
	defer m.Unlock()
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[sink] = state
	return m.broken
}

func (m *memory) Advance(sink string, seq uint64, state []byte) error {
	if err := m.Keep(sink, state); err != nil {
		return err
	}
	m.Lock()
	defer m.Unlock()
	if m.cursors == nil {
		m.cursors = map[string]uint64{}
	}
	if seq <= m.cursors[sink] {
		return fmt.Errorf("cursor of %s moves from %d to %d", sink, m.cursors[sink], seq)
	}
	m.cursors[sink] = seq
	return nil
}

// recorder is a sink that answers as answer says and keeps what it took, with
// the time since its making.
type recorder struct {
	name   string
	answer func(ctx context.Context, findings []Delivery) error
	began  time.Time

	sync.Mutex
	calls []string // "1s: a b" or "1s: a b: error"
	taken []string
}

func newRecorder(name string, answer func(context.Context, []Delivery) error) *recorder {
	return &recorder{name: name, answer: answer, began: time.Now()}
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) Deliver(ctx context.Context, findings []Delivery) error {
	at := time.Since(r.began)
	var err error
	if r.answer != nil {
		err = r.answer(ctx, findings)
	}
	r.Lock()
	defer r.Unlock()
	var ids []string
	for _, d := range findings {
		ids = append(ids, d.Finding.ID)
	}
	call := fmt.Sprintf("%v: %s", at, strings.Join(ids, " "))
	if err != nil {
		r.calls = append(r.calls, call+": "+err.Error())
		return err
	}
	r.calls = append(r.calls, call)
	r.taken = append(r.taken, ids...)
	return nil
}

func (r *recorder) want(t *testing.T, calls ...string) {
	t.Helper()
	r.Lock()
	defer r.Unlock()
	if !slices.Equal(r.calls, calls) {
		t.Errorf("%s was called\n\t%s\nwant\n\t%s", r.name, strings.Join(r.calls, "\n\t"), strings.Join(calls, "\n\t"))
	}
}

func certain(ids ...string) (findings []finding.Finding) {
	for _, id := range ids {
		findings = append(findings, finding.Finding{ID: id, Kind: finding.KindViolation, Certain: true})
	}
	return findings
}

// failTimes fails the first n calls.
func failTimes(n int, err error) func(context.Context, []Delivery) error {
	return func(context.Context, []Delivery) error {
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

// midway is a jitter in the middle: delays are three quarters of their most.
func midway() float64 { return 0.5 }

func start(t *testing.T, outbox Outbox, o Options, sinks ...Sink) *Dispatcher {
	t.Helper()
	var routes []Route
	for _, sink := range sinks {
		routes = append(routes, Route{Sink: sink})
	}
	if o.Rand == nil {
		o.Rand = midway
	}
	d, err := NewDispatcher(outbox, routes, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var errDown = errors.New("down")

func TestInOrderAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a", "b")...) // there before the start
		sink := newRecorder("s", nil)
		d := start(t, outbox, Options{}, sink)
		synctest.Wait()
		time.Sleep(time.Hour)
		outbox.add(certain("c")...)
		d.Notify()
		d.Notify()
		synctest.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		sink.want(t, "0s: a b", "1h0m0s: c")

		// The next start goes on behind the cursor.
		outbox.add(certain("d")...)
		again := newRecorder("s", nil)
		d = start(t, outbox, Options{}, again)
		synctest.Wait()
		d.Close()
		again.want(t, "0s: d")
	})
}

func TestADeadSinkDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a")...)
		refusing := newRecorder("refusing", failTimes(1e9, errDown))
		hanging := newRecorder("hanging", func(ctx context.Context, _ []Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		})
		healthy := newRecorder("healthy", nil)
		d := start(t, outbox, Options{}, refusing, hanging, healthy)
		time.Sleep(time.Minute)
		outbox.add(certain("b")...)
		d.Notify()
		synctest.Wait()
		healthy.want(t, "0s: a", "1m0s: b")
		if len(refusing.calls) < 4 || len(refusing.taken)+len(hanging.taken) != 0 {
			t.Errorf("refusing sink was called %q", refusing.calls)
		}
		hanging.want(t, "0s: a: context deadline exceeded") // and is at it again, until 1m0.75s
		d.Close()
	})
}

func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a")...)
		sink := newRecorder("s", failTimes(6, errDown))
		d := start(t, outbox, Options{FirstDelay: 4 * time.Second, MaxDelay: 20 * time.Second}, sink)
		time.Sleep(time.Hour)
		d.Notify() // does not cut a delay short, but this one is over
		outbox.add(certain("b")...)
		d.Notify()
		synctest.Wait()
		// Delays of 4, 8, 16, 20, 20, 20 s, each at three quarters.
		sink.want(t, "0s: a: down", "3s: a: down", "9s: a: down", "21s: a: down", "36s: a: down",
			"51s: a: down", "1m6s: a", "1h0m0s: b")
		d.Close()
	})
}

func TestDelayIsBounded(t *testing.T) {
	o := Options{FirstDelay: time.Second, MaxDelay: time.Minute}.withDefaults()
	for failures := range 100 {
		for _, r := range []float64{0, 0.999999} {
			o.Rand = func() float64 { return r }
			w := &worker{Dispatcher: &Dispatcher{options: o}, failures: failures}
			most := min(time.Minute, time.Second<<min(failures, 10))
			if got := w.delay(errDown); got < most/2 || got > most {
				t.Fatalf("delay after %d failures at jitter %v: %v, want %v to %v", failures, r, got, most/2, most)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a")...)
		busy := &RetryError{Err: errDown, After: 90 * time.Second}
		sink := newRecorder("s", failTimes(1, fmt.Errorf("wrapped: %w", busy)))
		d := start(t, outbox, Options{}, sink)
		time.Sleep(time.Hour)
		sink.want(t, "0s: a: wrapped: down", "1m30s: a")
		d.Close()
	})
}

// One finding that the receiver rejects does not hold up those behind it, nor
// take those beside it along.
func TestRejectedFindingIsFoundAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a", "bad", "c")...)
		sink := newRecorder("s", func(_ context.Context, findings []Delivery) error {
			for _, d := range findings {
				if d.Finding.ID == "bad" {
					return ErrRejected
				}
			}
			return nil
		})
		var logged bytes.Buffer
		reg := prometheus.NewRegistry()
		o := Options{FirstDelay: 4 * time.Second, Metrics: NewMetrics(reg), Log: slog.New(slog.NewTextHandler(&logged, nil))}
		d := start(t, outbox, o, sink)
		time.Sleep(time.Hour)
		outbox.add(certain("d", "e")...)
		d.Notify()
		synctest.Wait()
		rejected := ": " + ErrRejected.Error()
		sink.want(t, "0s: a bad c"+rejected, "3s: a",
			"3s: bad"+rejected, "6s: bad"+rejected, "12s: bad"+rejected, "24s: bad"+rejected, "48s: bad"+rejected,
			"48s: c", "1h0m0s: d e")
		if !strings.Contains(logged.String(), "finding=bad") {
			t.Errorf("the log does not name the finding: %s", &logged)
		}
		expect(t, reg, "isowatch_alert_findings_rejected_total", `
			isowatch_alert_findings_rejected_total{sink="s"} 1`)
		d.Close()
	})
}

// single is a sink that takes one finding at a time.
type single struct{ *recorder }

func (single) BatchMax() int { return 1 }

// TestOneAtATime: each finding that such a sink takes moves the cursor, and ends the delays of those before.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		outbox.add(certain("a", "b", "c")...)
		calls := 0
		sink := single{newRecorder("s", func(context.Context, []Delivery) error {
			if calls++; calls == 2 || calls == 4 {
				return errors.New("busy")
			}
			return nil
		})}
		d := start(t, outbox, Options{}, sink)
		synctest.Wait()
		if n, _ := outbox.Pending("s", 10); len(n) != 2 {
			t.Errorf("%d findings are pending behind the first failure, want 2", len(n))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		sink.want(t, "0s: a", "0s: b: busy", "750ms: b", "750ms: c: busy", "1.5s: c") // a second failure in a row waits 1.5s
		d.Close()
	})
}

func TestManyFindingsGoInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outbox := &memory{}
		var want []string
		for i := range 2*readMax + 50 {
			want = append(want, fmt.Sprint(i))
		}
		outbox.add(certain(want...)...)
		largest := 0
		sink := newRecorder("s", func(_ context.Context, findings []Delivery) error {
			largest = max(largest, len(findings))
			return nil
		})
		d := start(t, outbox, Options{}, sink)
		synctest.Wait()
		d.Close()
		if !slices.Equal(sink.taken, want) || largest != batchMax {
			t.Errorf("%d of %d taken in batches of up to %d", len(sink.taken), len(want), largest)
		}
	})
}
