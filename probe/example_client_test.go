package probe_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/isowatch/isowatch/check"
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// shelf is a database of registers, which runs one transaction after the other.
type shelf struct {
	mu     sync.Mutex
	values map[string]string // by key, as JSON
}

// Transact implements probe.Client.
func (s *shelf) Transact(_ context.Context, ops []event.RecordOp) ([]event.RecordOp, event.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case event.Write:
			s.values[o.Key] = o.Value
		case event.Read:
			if value, found := s.values[o.Key]; found {
				o.Value = value
			} else {
				o.Flags |= event.NotFound
			}
		}
	}
	return ops, event.Committed, nil
}

// Close implements probe.Client.
func (s *shelf) Close() error { return nil }

// A program has its own database probed through an interface of two methods.
func ExampleClients() {
	database := &shelf{values: map[string]string{}}
	clients := &probe.Clients{
		Prefix:  "e1/", // another one in each run
		Limit:   probe.Limits{NoLists: true, NoRows: true, NoCounters: true},
		Connect: func(context.Context) (probe.Client, error) { return database, nil },
	}
	workload, err := probe.ByName("register")
	if err != nil {
		panic(err)
	}
	options := probe.Options{Epoch: "e1", Sessions: 2, Keys: 4, Rate: 500, Duration: 200 * time.Millisecond, Seed: 1}
	first, err := probe.Fill(context.Background(), clients, workload, options)
	if err != nil {
		panic(err)
	}
	fmt.Println(first.Session, first.Status, first.Ops[0].Kind, first.Ops[0].Key, first.Ops[0].Value)

	var mu sync.Mutex // sessions run beside each other
	records := []event.Record{first}
	if err := probe.Run(context.Background(), clients, workload, options, func(r event.Record) {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, r) // a monitor reads event.AppendJSON(nil, &r)
	}); err != nil {
		panic(err)
	}
	result, err := check.History(records, check.Expect("serializable"))
	if err != nil {
		panic(err)
	}
	fmt.Println(len(records) > 1, result.Verdict())
	// Output:
	// init committed w e1/k000 -1
	// true ok
}
