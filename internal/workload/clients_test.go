package workload

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isowatch/isowatch/event"
)

// live collects what clients publish in the given fake time.
func live(t *testing.T, bugs Bugs, cfg ClientsConfig, d time.Duration) ([]Txn, Stats) {
	t.Helper()
	var txns []Txn
	var stats Stats
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		store := NewStore(bugs)
		var mu sync.Mutex
		err := RunClients(ctx, store, cfg, func(txn Txn) error {
			mu.Lock()
			defer mu.Unlock()
			txns = append(txns, txn)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		stats = store.Stats()
	})
	return txns, stats
}

func TestClientsRecordTheirSessions(t *testing.T) {
	txns, stats := live(t, Bugs{}, ClientsConfig{Clients: 8, Aborted: 0.05, Unknown: 0.05, Prefix: "r1-", Seed: 1}, 2*time.Second)
	if len(txns) < 2000 || stats.Conflicts == 0 {
		t.Fatalf("%d transactions with %d conflicts", len(txns), stats.Conflicts)
	}
	type last struct{ seq, end int64 }
	sessions := map[string]last{}
	count := map[event.Status]int{}
	for _, txn := range txns { // a client publishes in its own order
		prev := sessions[txn.Session]
		if txn.Seq != prev.seq+1 || txn.Start <= prev.end || txn.End <= txn.Start {
			t.Fatalf("%s after seq %d, end %d", txn.Text(), prev.seq, prev.end)
		}
		sessions[txn.Session] = last{txn.Seq, txn.End}
		count[txn.Status]++
		for _, o := range txn.Ops {
			if o.Key[:3] != "r1-" || len(o.List) > orderLength+8 {
				t.Fatalf("%s: the key lacks the prefix or the list was not replaced", o.Text())
			}
		}
	}
	if len(sessions) != 8 || count[event.Unknown] == 0 || int64(count[event.Aborted]) <= stats.Conflicts/2 {
		t.Errorf("%d sessions, outcomes %v, %d conflicts", len(sessions), count, stats.Conflicts)
	}
	if stats.LostUpdates+stats.WriteSkews+stats.StaleReads+stats.DirtyReads != 0 {
		t.Errorf("a store without bugs reports %+v", stats)
	}
}

func TestClientsMeetEveryBug(t *testing.T) {
	_, stats := live(t, Bugs{LostUpdate: 0.02, WriteSkew: 0.02, StaleRead: 0.02, DirtyRead: 0.02}, ClientsConfig{Seed: 2}, 2*time.Second)
	if stats.LostUpdates == 0 || stats.WriteSkews == 0 || stats.StaleReads == 0 || stats.DirtyReads == 0 {
		t.Errorf("some bug never struck: %+v", stats)
	}
}

func TestClientsStopWhenPublishFails(t *testing.T) {
	want := errors.New("broker is gone")
	err := RunClients(t.Context(), NewStore(Bugs{}), ClientsConfig{Think: -1}, func(Txn) error { return want })
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

func TestClientsSurviveAClockSetBack(t *testing.T) {
	now := int64(1_000_000)
	n := 0
	var last Txn
	err := RunClients(t.Context(), NewStore(Bugs{}), ClientsConfig{Clients: 1, Think: -1, Now: func() int64 { now -= 100; return now }},
		func(txn Txn) error {
			if n++; n == 50 {
				return errors.New("enough")
			}
			if txn.Start <= last.End || txn.End <= txn.Start {
				t.Errorf("%s overlaps its session's %s", txn.Text(), last.Text())
			}
			last = txn
			return nil
		})
	if err == nil || n != 50 {
		t.Errorf("error %v after %d transactions", err, n)
	}
}
