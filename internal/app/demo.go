package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/finding"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/isowatch/isowatch/isolation"
)

// DemoSource is the source of the demo's records.
const DemoSource = "bank"

// DemoSummary is what the demo's database did and what was found of it.
type DemoSummary struct {
	workload.Stats
	Transactions int64 // taken in
	Findings     []AnomalyCount
	Planted      []PlantedBugs // by bug
}

// PlantedBugs are the transactions that suffered one bug of the demo's database.
type PlantedBugs struct {
	Bug            string
	Planted, Found int           // Found: a finding names the transaction
	First          time.Duration // when the first that was found was planted, from the demo's begin
	Took           time.Duration // from its end until it was found
}

// plantedBug is a transaction that suffered a bug.
type plantedBug struct {
	bug, txn string
	end      time.Time
}

// AnomalyCount counts findings.
type AnomalyCount struct {
	Anomaly string
	Count   int64
}

// Bugs is in how many transactions the database went wrong.
func (s *DemoSummary) Bugs() (n int) {
	for _, p := range s.Planted {
		n += p.Planted
	}
	return n
}

// demoBugs are chances that make a finding every second or two at the pace of
// demoClients: enough to see soon, few enough to read.
func demoBugs() workload.Bugs {
	return workload.Bugs{LostUpdate: 0.012, WriteSkew: 0.02, StaleRead: 0.003, DirtyRead: 0.04}
}

func demoClients() workload.ClientsConfig {
	return workload.ClientsConfig{
		Clients: 12, Accounts: 24, Think: 12 * time.Millisecond, Aborted: 0.02, Unknown: 0.01,
		Seed: uint64(time.Now().UnixNano()),
	}
}

// RunDemo runs clients that publish to the embedded server of a until ctx ends,
// then lets the app catch up.
func RunDemo(ctx context.Context, a *App) (DemoSummary, error) {
	var s DemoSummary
	conn, err := brokernats.Connect(brokernats.Options{URLs: []string{a.NATSURL()}, Name: "demo clients", Logger: a.log})
	if err != nil {
		return s, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return s, fmt.Errorf("demo: %w", err)
	}
	st := workload.NewStore(demoBugs())
	var published atomic.Int64
	began := time.Now()
	var mu sync.Mutex
	var bugs []plantedBug
	err = workload.RunClients(ctx, st, demoClients(), func(t workload.Txn) error {
		t.Source = DemoSource
		if t.Bug != "" {
			mu.Lock()
			bugs = append(bugs, plantedBug{t.Bug, t.ID, time.Unix(0, t.End)})
			mu.Unlock()
		}
		publishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err := js.Publish(publishing, "isowatch.events."+DemoSource, workload.AppendJSON(nil, &t))
		if err == nil {
			published.Add(1)
		}
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return s, err
	}
	a.settle(published.Load(), 10*time.Second)
	s.Stats = st.Stats()
	s.count(a)
	return s, s.compare(a, began, bugs)
}

// compare says which of the planted bugs findings name.
func (s *DemoSummary) compare(a *App, began time.Time, bugs []plantedBug) error {
	found := map[string]time.Time{} // when a finding first named the transaction
	_, err := engine.Reader{Store: a.store}.List("", func(f *finding.Finding) bool {
		at, err := time.Parse(time.RFC3339, f.FoundAt)
		if f.Kind != finding.KindViolation || f.State == finding.Withdrawn || err != nil {
			return true
		}
		for _, id := range f.Txns {
			if first, ok := found[id]; !ok || at.Before(first) {
				found[id] = at
			}
		}
		return true
	})
	slices.SortFunc(bugs, func(x, y plantedBug) int { return x.end.Compare(y.end) })
	for _, b := range bugs {
		i := slices.IndexFunc(s.Planted, func(p PlantedBugs) bool { return p.Bug == b.bug })
		if i < 0 {
			i = len(s.Planted)
			s.Planted = append(s.Planted, PlantedBugs{Bug: b.bug})
		}
		p := &s.Planted[i]
		p.Planted++
		if at, ok := found[b.txn]; ok {
			if p.Found++; p.Found == 1 {
				p.First, p.Took = b.end.Sub(began), max(0, at.Sub(b.end))
			}
		}
	}
	return err
}

// settle waits until as many records were taken in as were published, at most as long
// as it is told.
func (a *App) settle(published int64, most time.Duration) {
	const pause = 50 * time.Millisecond
	for waited := time.Duration(0); waited < most && a.Status().Records < published; waited += pause {
		time.Sleep(pause)
	}
}

func (s *DemoSummary) count(a *App) {
	status := a.Status()
	s.Transactions = status.Records
	for _, anomaly := range isolation.AnomalyNames() {
		var n int64
		for i := range status.Sources {
			found := status.Sources[i].Findings[anomaly]
			n += found.Violating + found.Expected
		}
		if n > 0 {
			s.Findings = append(s.Findings, AnomalyCount{anomaly, n})
		}
	}
}
