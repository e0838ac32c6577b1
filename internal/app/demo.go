package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isowatch/isowatch/event"
	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/workload"
)

// DemoSource is the source of the demo's records.
const DemoSource = "bank"

// DemoSummary counts the findings of the demo.
type DemoSummary struct {
	Transactions int64 // taken in
	Findings     []AnomalyCount
}

// AnomalyCount counts findings.
type AnomalyCount struct {
	Anomaly           string
	Alerted, Expected int64 // Expected: the expected level allows them
}

// Planted is a transaction that suffered a bug of the demo's database.
type Planted struct {
	Bug   string // "lost update", "write skew", "dirty read" or "stale read"
	Txn   string
	Key   string // the key that it read or wrote wrongly
	Other string // the transaction whose write of Key was overlooked, or seen before its commit
}

// DemoStory is told what the demo's database does, before the records show it. It must be safe for
// concurrent use.
type DemoStory interface {
	Plant(Planted)
	Unanswered(txn string) // nobody but the database knows whether it committed
}

// demoBugs are chances that make a finding every second or two at the pace of
// demoClients: enough to see soon, few enough to read.
func demoBugs() workload.Bugs {
	return workload.Bugs{LostUpdate: 0.012, WriteSkew: 0.6, StaleRead: 0.003, DirtyRead: 0.04, Apparent: true}
}

// firstBugs are the demo's bugs until one was planted. They have no stale read, which the usual levels
// allow: so a reader meets a violation first.
func firstBugs() workload.Bugs {
	b := demoBugs()
	b.StaleRead = 0
	return b
}

func demoClients() workload.ClientsConfig {
	return workload.ClientsConfig{
		Clients: 12, Accounts: 24, Think: 12 * time.Millisecond, Aborted: 0.02, Unknown: 0.01,
		Seed: uint64(time.Now().UnixNano()),
	}
}

// RunDemo runs clients that publish to the embedded server of a until ctx ends,
// then lets the app catch up. If ctx has a deadline, no bug is planted in the last seconds, so that
// each is found.
func RunDemo(ctx context.Context, a *App, story DemoStory) (DemoSummary, error) {
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
	d := demo{story: story, store: workload.NewStore(firstBugs())}
	if end, ok := ctx.Deadline(); ok {
		enough := time.AfterFunc(time.Until(end)-DemoPatience(&a.config.Watch), d.calm)
		defer enough.Stop()
	}
	var published atomic.Int64
	err = workload.RunClients(ctx, d.store, demoClients(), func(t workload.Txn) error {
		t.Source, t.TraceID = DemoSource, demoTrace(t.ID)
		d.tell(&t)
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
	s.count(a)
	return s, nil
}

// demoTrace is the id of a trace that nobody has recorded, in the form of W3C's Trace Context: links of --trace-url can be looked at.
func demoTrace(txn string) string {
	h := fnv.New128a()
	io.WriteString(h, txn)
	return hex.EncodeToString(h.Sum(nil))
}

// demo is a database, and the story of its bugs.
type demo struct {
	story   DemoStory
	store   *workload.Store
	planted atomic.Bool // a bug, so far
}

// tell tells of a transaction whose record is about to be published. Wrong reads of an aborted one
// harm nobody.
func (d *demo) tell(t *workload.Txn) {
	if t.Status == event.Unknown {
		d.story.Unanswered(t.ID)
	}
	b := t.Bug
	if b.Name == "" || t.Status == event.Aborted {
		return
	}
	d.story.Plant(Planted{b.Name, t.ID, b.Key, b.Other})
	if !d.planted.Swap(true) {
		d.store.Suffer(demoBugs())
	}
}

// calm plants no more bugs. Transactions that have begun keep theirs.
func (d *demo) calm() {
	d.planted.Store(true)
	d.store.Suffer(workload.Bugs{Apparent: true})
}

// DemoPatience is the longest time from a bug to its finding. Some findings wait until no record that
// is on its way can explain them.
func DemoPatience(w *config.Watch) time.Duration {
	return w.Lateness + w.MaxTransaction + time.Second
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
		c := AnomalyCount{Anomaly: anomaly}
		for i := range status.Sources {
			found := status.Sources[i].Findings[anomaly]
			c.Alerted, c.Expected = c.Alerted+found.Violating, c.Expected+found.Expected
		}
		if c.Alerted+c.Expected > 0 {
			s.Findings = append(s.Findings, c)
		}
	}
}
