//go:build integration

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/probe"
)

const (
	// rounds are how often each schedule is stepped through, roundEvery is between two of them.
	rounds     = 12
	roundEvery = 500 * time.Millisecond
	// firstRound is after so much healthy use. Who ran when the records began may have no record, and
	// have written what one who aborted wrote: lateness and max-transaction are over by then.
	firstRound = 5 * time.Second
	// healthyEvery is between two healthy transactions of a source: its stream goes on.
	healthyEvery = 100 * time.Millisecond
	// leastCommitted is how many transactions of a workload of the probe must have committed.
	leastCommitted = 50
)

// TestStepped takes two connections through schedules step by step, at each setting: by what it
// read and wrote itself, the test knows that the anomaly has happened. Each is alerted by its name
// while the stream runs, where a stronger setting was expected, and none where the promise was.
// Beside it the settings that [TestLive] does not run have the probe's workloads.
func TestStepped(t *testing.T) {
	began := time.Now()
	servers := startStepped(t)
	p, url := startPublisher(t, numberFrom(t, seedEnv, 1))
	program := buildMonitor(t)
	expect := map[string]string{}
	all := steppedStreams(t, servers, p)
	for _, s := range all {
		expect[s.source()] = s.promise
		expect[s.strongerSource()] = s.stronger
	}
	healthy := probed(t, servers)
	for _, s := range healthy {
		expect[s.source] = s.promise
	}
	prompt := &monitor{name: "prompt", lateness: time.Second, maxTransaction: 3 * time.Second, hook: newWebhook(t)}
	startMonitor(t, prompt, program, url, "watch: {lateness: 1s, max-transaction: 3s}", expect)
	declared := &monitor{name: "declared", lateness: time.Second, maxTransaction: 3 * time.Second, hook: newWebhook(t)}
	startMonitor(t, declared, program, url, "watch: {lateness: 1s, max-transaction: 3s, contract: {capture: complete, unmonitored-writers: no, deletes: recorded}}", expect)
	t.Logf("started after %v", time.Since(began).Round(time.Millisecond))

	// Behind the last round an alert may take as long as one that waits for others to come.
	behind := prompt.lateness + prompt.maxTransaction + 2*deliverySlack
	var running sync.WaitGroup
	for _, s := range all {
		running.Go(func() {
			if err := s.run(behind); err != nil {
				t.Errorf("%s: %v", s.source(), err)
			}
		})
	}
	for i, h := range healthy {
		running.Go(func() {
			o := probe.Options{Source: h.source, Sessions: 4, Keys: 10, Rate: 20, Aborted: 0.03, Duration: firstRound + rounds*roundEvery + behind, Seed: uint64(i) + 1}
			var committed atomic.Int64
			err := probe.Run(t.Context(), h.db, h.workload, o, func(r event.Record) {
				if r.Status == event.Committed {
					committed.Add(1)
				}
				p.publish(h.source, event.AppendJSON(nil, &r))
			})
			if n := committed.Load(); err != nil || n < leastCommitted {
				t.Errorf("%s: %d transactions have committed: %v", h.source, n, err)
			}
		})
	}
	running.Wait()
	end := time.Now()
	sent := p.finish(t)
	for _, s := range all {
		s.file.close(t)
	}
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("streams of %d records ended after %v", sent, time.Since(began).Round(time.Millisecond))
	for _, m := range []*monitor{prompt, declared} {
		m.awaitQuiet(t, sent, end)
		judgeStepped(t, m, all, healthy, end)
	}
}

// judgeStepped holds what a monitor alerted against what the test knows.
func judgeStepped(t *testing.T, m *monitor, all []*stepped, healthy []healthyStream, end time.Time) {
	t.Helper()
	took, faults := m.hook.deliveries()
	for _, fault := range faults {
		t.Errorf("%s: %s", m.name, fault)
	}
	of := map[string][]alerted{}
	for _, f := range took {
		of[f.Source] = append(of[f.Source], f)
	}
	for _, f := range unexcused(took, m.metric("isowatch_late_records_total", "source"), m.metric("isowatch_findings_withdrawn_total", "cause"), 0) {
		t.Errorf("%s: withdrawn of %s: %s", m.name, f.Source, excerpt(f.Explanation))
	}
	silent := func(source, promise string) {
		if list := of[source]; len(list) > 0 {
			t.Errorf("%s: %s keeps %s, alerts: %s, as\n%s", m.name, source, promise, summary(list), excerpt(list[0].Explanation))
		}
	}
	for _, h := range healthy {
		silent(h.source, h.promise)
	}
	for _, s := range all {
		silent(s.source(), s.promise)
		took := of[s.strongerSource()]
		promised, _, err := isolation.ParseExpected(s.promise)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range took {
			if why := f.isWrong(promised); why != "" {
				t.Errorf("%s: %s: %s, as\n%s", m.name, s.strongerSource(), why, excerpt(f.Explanation))
			}
		}
		missed := map[string]int{}
		for _, x := range s.happened {
			if x.declared && m.name != "declared" {
				continue
			}
			if !slices.ContainsFunc(took, func(f alerted) bool {
				return f.at.Before(end) && f.Anomaly == x.name && !slices.ContainsFunc(x.txns, func(id string) bool { return !slices.Contains(f.Txns, id) })
			}) {
				missed[x.name]++
			}
		}
		t.Logf("%s: %s: %d anomalies happened, alerts: %s", m.name, s.strongerSource(), len(s.happened), summary(took))
		for name, n := range missed {
			t.Errorf("%s: %s: %d of %s were not alerted by name while it ran", m.name, s.strongerSource(), n, name)
		}
	}
}

// anomaly is one that the test knows has happened.
type anomaly struct {
	name string   // which the alert has
	txns []string // who take part
	// declared says that it is none unless every writer is recorded: a transaction without a record may
	// have written the value that was read.
	declared bool
}

// schedule steps through one anomaly, and says who took part.
type schedule func(s *stepped) []anomaly

// stepped is a stream of schedules at one setting.
type stepped struct {
	setting
	publisher *publisher
	schedules []schedule
	people    []*person // the last one is healthy
	replica   []*person // of a replica; none: there is none
	hold      replicaHold

	file        *file
	values, ids int64
	happened    []anomaly
}

func (s *stepped) source() string { return "stepped-" + s.product + "-" + s.name }
func (s *stepped) strongerSource() string {
	return s.source() + ".as." + strings.ReplaceAll(s.stronger, "/", "-")
}

// run steps through the schedules, and goes on with healthy transactions for that long.
func (s *stepped) run(behind time.Duration) (err error) {
	defer func() {
		if failed, is := recover().(stepError); is {
			err = failed.error
		}
	}()
	ctx := s.people[0].ctx
	key := s.fill(1)[0]
	for _, p := range s.replica {
		p.await(key)
	}
	next, due := 0, time.Now().Add(firstRound)
	for next < rounds || time.Now().Before(due.Add(behind)) {
		if next < rounds && time.Now().After(due) {
			for _, step := range s.schedules {
				s.happened = append(s.happened, step(s)...)
			}
			next, due = next+1, time.Now().Add(roundEvery)
		}
		x := s.people[len(s.people)-1].begin()
		x.read(key)
		x.write(key)
		x.commit()
		for _, p := range s.replica {
			x := p.begin()
			x.read(key)
			x.commit()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(healthyEvery):
		}
	}
	return nil
}

// fill makes n keys of their own, each with a value.
func (s *stepped) fill(n int) (keys []string) {
	x := s.people[0].begin()
	for range n {
		s.ids++
		key := fmt.Sprintf("k%d", s.ids)
		x.insert(key)
		keys = append(keys, key)
	}
	x.commit()
	return keys
}

// stepError ends a schedule.
type stepError struct{ error }

func must[T any](x T, err error) T {
	if err != nil {
		panic(stepError{err})
	}
	return x
}

// knows ends a schedule in which the anomaly did not happen.
func knows(happened bool, format string, args ...any) {
	if !happened {
		panic(stepError{fmt.Errorf("the database is better than its setting: "+format, args...)})
	}
}

// replicaPatience is how long a replica may be behind on a busy machine.
const replicaPatience = 30 * time.Second

// retryUntil calls try until it says yes.
func retryUntil(ctx context.Context, what string, try func() bool) {
	for deadline := time.Now().Add(replicaPatience); !try(); time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			panic(stepError{errors.New(what)})
		}
	}
}
