package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isowatch/isowatch/event"
)

// ClientsConfig says how clients use a [Store]. Zero fields take the default named.
type ClientsConfig struct {
	Clients  int           // default 16
	Accounts int           // registers; default 40
	Orders   int           // lists in use at a time; default 20
	Think    time.Duration // mean pause before each operation; default 1 ms, negative: none
	Aborted  float64       // share that the client gives up before commit; default 0
	Unknown  float64       // share of commits whose answer is lost; default 0
	Prefix   string        // of all ids, sessions and keys, to keep runs apart; default none
	Seed     uint64        // of the clients' choices; their interleaving is the machine's
	// Now is the clients' wall clock, ns since the Unix epoch; default the machine's.
	Now func() int64
}

func (c ClientsConfig) withDefaults() ClientsConfig {
	setInt(&c.Clients, 16)
	setInt(&c.Accounts, 40)
	setInt(&c.Orders, 20)
	if c.Think == 0 {
		c.Think = time.Millisecond
	}
	if c.Now == nil {
		c.Now = func() int64 { return time.Now().UnixNano() }
	}
	return c
}

// orderLength is how many elements a list gets before a new one replaces it.
const orderLength = 16

// RunClients runs concurrent clients on store until ctx ends. Each records its
// own transactions, with its own clock, and hands them to publish, which must
// be safe for concurrent use. It returns nil when ctx ended, else the first
// error of publish; all clients have stopped by then.
func RunClients(ctx context.Context, store *Store, cfg ClientsConfig, publish func(Txn) error) error {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	orders := make([]atomic.Int64, cfg.Orders) // lists used up, by slot
	var wg sync.WaitGroup
	for n := range cfg.Clients {
		c := &liveClient{
			cfg: cfg, store: store, orders: orders,
			name: fmt.Sprintf("%sclient-%d", cfg.Prefix, n),
			rng:  rand.New(rand.NewPCG(cfg.Seed, uint64(n))),
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := publish(c.transaction(ctx)); err != nil {
					cancel(publishError{err})
					return
				}
			}
		})
	}
	wg.Wait()
	if failed, ok := context.Cause(ctx).(publishError); ok {
		return fmt.Errorf("workload: publish: %w", failed.err)
	}
	return nil
}

// publishError marks the cancellation that a failed publish causes.
type publishError struct{ err error }

func (e publishError) Error() string { return e.err.Error() }

// liveClient is one single-threaded client: one session.
type liveClient struct {
	cfg    ClientsConfig
	store  *Store
	orders []atomic.Int64
	name   string
	rng    *rand.Rand
	seq    int64
	end    int64  // of its last transaction
	recent string // the account it wrote last
}

// transaction runs one transaction of a random template and returns its record. It aborts when
// ctx ends in the middle of it.
func (c *liveClient) transaction(ctx context.Context) Txn {
	name, steps := c.plan()
	readOnly := true
	for _, s := range steps {
		readOnly = readOnly && s.kind != stepUpdate && s.kind != stepAppend
	}
	c.seq++
	txn := Txn{ID: fmt.Sprintf("%s/%d", c.name, c.seq), Name: name, Session: c.name, Seq: c.seq}
	txn.Start = max(c.cfg.Now(), c.end+1) // a clock set back must not make the client overlap itself
	tx := c.store.Begin(readOnly, c.rng)
	tx.ID = txn.ID
	for _, s := range steps {
		if !c.pause(ctx) {
			break
		}
		txn.Ops = append(txn.Ops, c.run(tx, s)...)
	}
	txn.Status = c.conclude(ctx, tx, readOnly)
	txn.Bug = tx.Bug()
	txn.End = max(c.cfg.Now(), txn.Start+1)
	c.end = txn.End
	return txn
}

// conclude ends tx and returns what the client knows of the outcome.
func (c *liveClient) conclude(ctx context.Context, tx *Tx, readOnly bool) event.Status {
	if ctx.Err() != nil || !readOnly && c.rng.Float64() < c.cfg.Aborted {
		tx.Abort()
		return event.Aborted
	}
	err := tx.Commit()
	switch {
	case !readOnly && c.rng.Float64() < c.cfg.Unknown:
		return event.Unknown // the answer was lost, whatever it was
	case err != nil:
		return event.Aborted
	default:
		return event.Committed
	}
}

// pause waits the think time; false: ctx ended.
func (c *liveClient) pause(ctx context.Context) bool {
	if c.cfg.Think < 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Duration(c.rng.Int64N(2*int64(c.cfg.Think) + 1)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
