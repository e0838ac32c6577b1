package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/isowatch/isowatch/alert"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
)

// slowSink notes what it is given, and by when each delivery has to end.
type slowSink struct {
	deadlines []time.Time
	owners    []map[string]string
}

func (s *slowSink) Name() string { return "slow" }

func (s *slowSink) note(ctx context.Context) error {
	at, _ := ctx.Deadline() // without one it is the year 1
	s.deadlines, s.owners = append(s.deadlines, at), append(s.owners, alert.Headers(ctx))
	return nil
}

func (s *slowSink) Deliver(ctx context.Context, _ []alert.Delivery) error { return s.note(ctx) }
func (s *slowSink) Flush(ctx context.Context) error                       { return s.note(ctx) }
func (s *slowSink) Restore([]byte) error                                  { return nil }
func (s *slowSink) State() ([]byte, error)                                { return nil, nil }
func (s *slowSink) Due() time.Time                                        { return time.Time{} }

// TestGate: a delivery begins only under the lease, gets no more time than what is left of it, and names who makes it. So does what a sink
// sends by itself.
func TestGate(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	events := make(chan group.Event, 100)
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: func(e group.Event) { events <- e }})
	t.Cleanup(func() { g.member.Stop() })
	e := <-events
	if e.Kind != group.Gained {
		t.Fatalf("%+v", e)
	}
	u := g.newUnit(e)
	if !g.member.Commit(u.name, u.term, []byte("state"), 7) {
		t.Fatal("the state is not written")
	}
	eventually(t, "the state is written", func() bool { return g.member.May(u.name, u.term, 7) > 0 })
	s := &slowSink{}
	sink := u.gated([]alert.Route{{Sink: s}})[0].Sink
	deliver := func(number uint64) error { return sink.Deliver(t.Context(), []alert.Delivery{{Seq: number}}) }
	flush := func() error { return sink.(alert.Keeper).Flush(t.Context()) }
	for _, send := range []func() error{func() error { return deliver(7) }, flush} {
		s.deadlines, s.owners = nil, nil
		if err := send(); err != nil || len(s.deadlines) != 1 {
			t.Fatalf("%d deliveries: %v", len(s.deadlines), err)
		}
		if left := time.Until(s.deadlines[0]); left <= 0 || left > 900*time.Millisecond {
			t.Errorf("a delivery has %v under a lease of a second", left)
		}
		if h := s.owners[0]; h[alert.HeaderMember] != "a" || h[alert.HeaderTerm] != "1" {
			t.Errorf("a delivery is by %v, want a in term 1", h)
		}
	}
	s.deadlines = nil
	if err := deliver(8); !errors.Is(err, errNotOwner) {
		t.Errorf("what the state does not have leaves: %v", err)
	}
	u.lost.Store(true)
	for _, send := range []func() error{func() error { return deliver(7) }, flush} {
		if err := send(); !errors.Is(err, errNotOwner) {
			t.Errorf("a lost unit delivers: %v", err)
		}
	}
	u.lost.Store(false)
	g.member.Stop() // nobody renews the lease
	for _, send := range []func() error{func() error { return deliver(7) }, flush} {
		if err := send(); !errors.Is(err, errNotOwner) {
			t.Errorf("a member without its lease delivers: %v", err)
		}
	}
	if len(s.deadlines) > 0 {
		t.Errorf("the sink was given %d deliveries that must not begin", len(s.deadlines))
	}
}

// stuckSink answers when its delivery is over.
type stuckSink struct{ slowSink }

func (s *stuckSink) Deliver(ctx context.Context, _ []alert.Delivery) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSlowReceiver: a delivery that is cut off at the end of the lease is told, once in a row.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	var log lockedBuffer
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	events := make(chan group.Event, 100)
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: func(e group.Event) { events <- e }})
	t.Cleanup(func() { g.member.Stop() })
	u := g.newUnit(<-events)
	sink := u.gated([]alert.Route{{Sink: &stuckSink{}}})[0].Sink
	for range 2 {
		eventually(t, "most of the lease is left", func() bool { return u.may(0) > g.config.Group.Lease*6/10 })
		if err := sink.Deliver(t.Context(), []alert.Delivery{{}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "Raise --group-lease"); n != 1 || !strings.Contains(log.String(), "sink=slow") {
		t.Errorf("it is told %d times: %s", n, log.String())
	}
	cut, stop := context.WithCancel(t.Context())
	stop() // the member ends: that is no receiver's fault
	before := log.String()
	other := u.gated([]alert.Route{{Sink: &stuckSink{}}})[0].Sink
	if err := other.Deliver(cut, []alert.Delivery{{}}); err == nil || log.String() != before {
		t.Errorf("%v: %s", err, log.String())
	}
}

// TestUnwatchedMetric: the metrics tell for how long nobody has watched a unit, and that it moves.
func TestUnwatchedMetric(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	g.frame = &App{}
	g.member = drive.Start(drive.Options{ID: "a", Lease: time.Second, Units: g.units, Store: g.store, Heed: func(group.Event) {}})
	t.Cleanup(func() { g.member.Stop() })
	eventually(t, "the unit is a's", func() bool { all := g.member.Units(); return len(all) == 1 && all[0].Mine })
	g.lookAtUnits(time.Now().Add(-time.Hour))
	r := prometheus.NewRegistry()
	if err := r.Register(groupCollector{g}); err != nil {
		t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue()
		}
	}
	if n := got["isowatch_group_unwatched_seconds nats:S"]; n < 3600 || n > 3700 {
		t.Errorf("nobody has watched the unit for %v s, want an hour", n)
	}
	if got["isowatch_group_units moving"] != 1 || got["isowatch_group_units owned"] != 0 {
		t.Errorf("the metrics are %v", got)
	}
}
