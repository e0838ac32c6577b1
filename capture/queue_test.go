package capture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// gate is a sink that waits in its first write until it is opened.
type gate struct {
	memory
	entered, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{entered: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) Write(ctx context.Context, lines [][]byte) error {
	g.once.Do(func() { close(g.entered) })
	select {
	case <-g.open:
		return g.memory.Write(ctx, lines)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func blind(r *Recorder, s *Session, i int) {
	t := r.Begin(Begin{Session: s})
	t.Write(fmt.Sprintf("k/%d", i), i)
	t.End(Committed)
}

// A sink that stands still keeps nobody waiting: the queue fills, whole transactions
// are dropped, and the monitor is told how many, with sessions and without.
func TestFullQueue(t *testing.T) {
	for name, withSession := range map[string]bool{"sessions": true, "no sessions": false} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			const room = 8 << 10
			r, err := New(g, "bank", WithPlainValues(), WithQueue(room), WithMaxRecord(room))
			if err != nil {
				t.Fatal(err)
			}
			session := func() *Session {
				if withSession {
					return r.Session("short")
				}
				return nil
			}
			blind(r, session(), 0)
			<-g.entered
			var all sync.WaitGroup
			for client := range 4 {
				all.Go(func() {
					for i := range 500 {
						blind(r, session(), 1+500*client+i)
					}
				})
			}
			all.Wait() // and the sink is still there
			stats := r.Stats()
			if stats.Full == 0 || stats.Recorded+stats.Full != 2001 || stats.QueuedBytes > room || stats.Dropped() != stats.Full {
				t.Errorf("%+v", stats)
			}
			close(g.open)
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			stats = r.Stats()
			if marks := int64(g.records) - stats.Recorded; marks != 2 || stats.Delivered != int64(g.records) || stats.QueuedBytes != 0 {
				t.Errorf("%d records besides those of transactions, %+v", marks, stats)
			}
			report := check(t, g.text.String())
			if report.Counters.Gaps != stats.Full || report.Counters.DeadLetters != 0 {
				t.Errorf("the monitor counts %d gaps of %d", report.Counters.Gaps, stats.Full)
			}
			for _, f := range report.Findings {
				if f.Anomaly != "gap" {
					t.Errorf("a finding: %s", f.Explanation)
				}
			}
			if report.Outcome() != "unknown" || !strings.Contains(report.Reasons["serializable"], "missing records") {
				t.Errorf("%s: %v", report.Outcome(), report.Reasons)
			}
		})
	}
}

// What was lost is told before what comes next, and nothing comes until a quarter is free.
func TestQueue(t *testing.T) {
	var q queue
	q.init(1000, func(lost int64) [][]byte { return lines(fmt.Sprintf("%d lost", lost)) })
	put := func(n int, want bool) {
		t.Helper()
		if got := q.put([]byte(strings.Repeat("x", n-1))); got != want {
			t.Errorf("%d bytes are taken: %v, beside %d", n, got, q.bytes)
		}
	}
	sent := func(want string) {
		t.Helper()
		b, _ := q.take()
		var got []string
		for _, line := range b.lines() {
			got = append(got, strings.ReplaceAll(string(line), "xxxxxxxxx", "x"))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("sent %v, want %s", got, want)
		}
		q.done()
	}
	put(10, true)
	b, _ := q.take() // and is with the sink
	put(890, true)
	put(101, false)
	put(10, false) // there would be room
	q.lose(5)
	if b.ends[0] != 10 || len(b.ends) != 1 {
		t.Errorf("the batch that is being sent grows: %v", b.ends)
	}
	q.done()
	put(10, false) // 890 bytes are more than three quarters
	q.take()
	q.done()
	put(10, true)
	put(10, true)
	sent("8 lost,x,x")
	if q.size() != 0 || q.held() != 0 {
		t.Errorf("%d bytes, %d records are left", q.size(), q.held())
	}
	q.lose(1)
	q.tell()
	q.tell()
	sent("1 lost")
	if _, ended := q.take(); ended || !q.close() || q.close() {
		t.Error("it ends before it is closed")
	}
	if _, ended := q.take(); !ended {
		t.Error("it does not end")
	}
}

// A session that goes on shows its own gap too.
func TestDropOfASession(t *testing.T) {
	lines := recorded(t, func(r *Recorder) {
		s := r.Session("worker")
		blind(r, s, 0)
		txn := r.Begin(Begin{Session: s})
		txn.Write("k", strings.Repeat("x", 5000))
		txn.End(Committed)
		blind(r, s, 1)
		if stats := r.Stats(); stats.TooLong != 1 || stats.Recorded != 2 {
			t.Errorf("%+v", stats)
		}
	}, WithPlainValues(), WithMaxRecord(4000))
	var seqs []string
	for _, rec := range decoded(t, lines) {
		seqs = append(seqs, fmt.Sprint(strings.Split(rec.Session, "/")[0], rec.Seq))
	}
	got := strings.Join(seqs, " ")
	for _, want := range []string{"worker1", "worker3", "capture1 ", "capture3"} {
		if !strings.Contains(got+" ", want) {
			t.Errorf("%s: no %s", got, want)
		}
	}
	if strings.Contains(got, "worker2") || strings.Contains(got, "capture2") {
		t.Errorf("%s", got)
	}
}

// failing is a sink that fails some times, and rejects the lines that it is asked to.
type failing struct {
	memory
	times  int
	reject int
	closed error
}

func (f *failing) Write(ctx context.Context, lines [][]byte) error {
	if f.times > 0 {
		f.times--
		return errors.New("away")
	}
	if n := f.reject; n > 0 {
		f.reject = 0
		_ = f.memory.Write(ctx, lines[n:])
		return &Rejected{Lines: n, Err: errors.New("too long")}
	}
	return f.memory.Write(ctx, lines)
}

func (f *failing) Close() error { return f.closed }

func TestSinkThatFails(t *testing.T) {
	f := &failing{times: 2, reject: 1, closed: errors.New("at the end")}
	r, err := New(f, "bank", WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	blind(r, nil, 0)
	if err := r.Close(t.Context()); err == nil || err.Error() != "at the end" {
		t.Errorf("Close: %v", err)
	}
	stats := r.Stats()
	if stats.Failures != 2 || stats.TooLong != 1 || stats.Delivered != 2 || r.Err() != nil {
		t.Errorf("%+v, %v", stats, r.Err())
	}
	if report := check(t, f.text.String()); report.Counters.Gaps != 1 {
		t.Errorf("%+v", report.Counters)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	blind(r, nil, 1)
	if stats := r.Stats(); stats.Full != 1 {
		t.Errorf("after Close: %+v", stats)
	}
}

// Close gives up when its context ends, says what is lost and why, and ends the sink.
func TestCloseGivesUp(t *testing.T) {
	g := newGate()
	r, err := New(g, "bank", WithPlainValues())
	if err != nil {
		t.Fatal(err)
	}
	blind(r, nil, 0)
	<-g.entered
	blind(r, nil, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "records that were not delivered: 2") {
		t.Errorf("Close: %v", err)
	}
	<-r.sender.done
}
