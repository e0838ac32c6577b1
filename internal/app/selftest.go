package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
)

// selfTest plants two records again and again, and waits for the finding. One transaction aborted, and
// the other one read its value. They take the way of all input: they are decoded, checked and
// committed. The finding comes out of the outbox, as for any sink. The self-test is an input and a sink
// of its own.
type selfTest struct {
	every time.Duration
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	planted  time.Time // when that was which is looked for
	id       string    // of the transaction that read; "": it is found, or given up
	took     time.Duration
	found    time.Time // when the latest was; zero: none was
	failures int64
	failing  bool // the latest was given up
}

func newSelfTest(every time.Duration, now func() time.Time, log *slog.Logger) *selfTest {
	return &selfTest{every: every, now: now, log: log}
}

// Run implements [ingest.Source].
func (s *selfTest) Run(ctx context.Context, from map[string]ingest.Cursor, out chan<- ingest.Chunk) error {
	next := max(1, from[config.SelfTestSource].Next)
	send := func(messages ...ingest.Message) {
		out <- ingest.Chunk{Partition: config.SelfTestSource, Messages: messages, Cursor: ingest.Cursor{Next: next}, CaughtUp: true}
	}
	planting, idle := time.NewTicker(s.every), time.NewTicker(probeIdle)
	defer planting.Stop()
	defer idle.Stop()
	for {
		m := s.plant(next)
		next++
		send(m)
		for due := false; !due; {
			select {
			case <-ctx.Done():
				return nil
			case <-planting.C:
				due = true
			case <-idle.C:
				send()
			}
		}
	}
}

// plant makes a message of two records. It gives up the pair planted before, unless that was found.
func (s *selfTest) plant(offset int64) ingest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp()
	s.planted = s.now()
	at := s.planted.UnixNano()
	key := fmt.Sprintf("planted-%d-%d", at, offset) // no other process has this key either
	s.id = key + "-read"
	r := event.Record{
		ID: key + "-written", Source: config.SelfTestSource, Status: event.Aborted, Flags: event.HasTimes, Start: at - 3, End: at - 1,
		Ops: []event.RecordOp{{Kind: event.Write, Key: key, Value: "1"}},
	}
	lines := append(event.AppendJSON(nil, &r), '\n')
	r.ID, r.Status, r.Start, r.End = s.id, event.Committed, at-2, at
	r.Ops[0].Kind = event.Read
	return ingest.Message{Offset: offset, Time: at, Value: event.AppendJSON(lines, &r)}
}

func (s *selfTest) giveUp() {
	if s.id == "" {
		return
	}
	s.failures++
	if !s.failing {
		s.log.Error(
			"the self-test failed: its planted anomaly was not found",
			"planted",
			s.planted.UTC().Format(time.RFC3339),
			"waited",
			s.now().Sub(s.planted).Round(time.Millisecond),
		)
	}
	s.failing = true
}

// Name implements [alert.Sink].
func (s *selfTest) Name() string { return config.SelfTestSource }

// Deliver implements [alert.Sink].
func (s *selfTest) Deliver(_ context.Context, findings []alert.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range findings {
		for _, txn := range findings[i].Finding.Txns {
			if txn == s.id {
				s.finds()
			}
		}
	}
	return nil
}

func (s *selfTest) finds() {
	s.found = s.now()
	s.id, s.took = "", s.found.Sub(s.planted)
	if s.failing {
		s.log.Info("the self-test succeeds again", "took", s.took.Round(time.Millisecond))
	}
	s.failing = false
}

func (s *selfTest) collect(counter, gauge emit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gauge("self_test_seconds", s.took.Seconds())
	at := int64(0)
	if !s.found.IsZero() {
		at = s.found.UnixNano()
	}
	gauge("self_test_last_success_timestamp_seconds", seconds(at))
	counter("self_test_failures_total", float64(s.failures))
}

// plantedIn is how many records of the self-test were taken in since the store was made.
func plantedIn(s *engine.Status) int64 {
	for i := range s.Sources {
		if x := s.Sources[i]; x.Source == config.SelfTestSource {
			return x.Counters.Committed + x.Counters.Aborted
		}
	}
	return 0
}

// withoutSelfTest is s without the source and the records of the self-test, which belong to no
// database. The process began with before of its records.
func withoutSelfTest(s *engine.Status, before int64) *engine.Status {
	for i := range s.Sources {
		if s.Sources[i].Source == config.SelfTestSource {
			rest := *s
			rest.Records -= plantedIn(s) - before
			rest.Sources = append(append([]*engine.SourceStatus(nil), s.Sources[:i]...), s.Sources[i+1:]...)
			return &rest
		}
	}
	return s
}

// openSelfTest makes the input, if the self-test is asked for.
func (a *App) openSelfTest() {
	if a.selfTest != nil {
		a.addInput(config.SelfTestSource, config.SelfTestSource, a.selfTest, false).only = true
	}
}
