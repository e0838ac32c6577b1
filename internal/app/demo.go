package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
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
}

// AnomalyCount counts findings.
type AnomalyCount struct {
	Anomaly string
	Count   int64
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
// then lets the app catch up. It tells planted of each transaction that suffered a bug of the
// database, before it publishes its record; several clients do so at the same time.
func RunDemo(ctx context.Context, a *App, planted func(bug, txn string)) (DemoSummary, error) {
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
	err = workload.RunClients(ctx, st, demoClients(), func(t workload.Txn) error {
		t.Source = DemoSource
		if t.Bug != "" {
			planted(t.Bug, t.ID)
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
	return s, nil
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
