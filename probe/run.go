package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
)

// reopenPause is between two attempts to open a session anew.
const reopenPause = 200 * time.Millisecond

// Fill makes the tables anew, with what the workload needs there, and returns the
// record of the transaction that wrote it.
func Fill(ctx context.Context, db Database, w *Workload, o Options) (event.Record, error) {
	o, err := o.withDefaults()
	if err != nil {
		return event.Record{}, err
	}
	if err := db.Reset(ctx); err != nil {
		return event.Record{}, fmt.Errorf("probe: making the tables: %w", err)
	}
	o.Think, o.Aborted = 0, 0
	c := newClient(db, w, o, 0)
	c.name = "init"
	if c.session, err = db.Open(ctx); err != nil {
		return event.Record{}, fmt.Errorf("probe: opening a session: %w", err)
	}
	defer c.drop()
	r, _, err := c.transaction(ctx, "", func(tx *Tx) { w.fill(tx, o.Keys) })
	if err != nil {
		return event.Record{}, fmt.Errorf("probe: filling the tables: %w", err)
	}
	return r, nil
}

// Run runs the workload on tables that [Fill] made, until ctx or the duration ends;
// transactions that have begun are finished. It hands their records to emit, which
// must be safe for concurrent use. An error says that it could not begin.
func Run(ctx context.Context, db Database, w *Workload, o Options, emit func(event.Record)) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	clients := make([]*client, o.Sessions)
	for n := range clients {
		clients[n] = newClient(db, w, o, n)
		if clients[n].session, err = db.Open(ctx); err != nil {
			for _, c := range clients[:n] {
				c.session.Close()
			}
			return fmt.Errorf("probe: opening a session: %w", err)
		}
	}
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() { c.run(ctx, emit) })
	}
	running.Wait()
	return nil
}

// client is one single-threaded user of the database: a session of the records,
// whatever becomes of its connection.
type client struct {
	db      Database
	work    *Workload
	o       Options
	n       int // of o.Sessions
	rng     *rand.Rand
	session Session

	operated time.Duration // of its transaction's operations

	name   string
	seq    int64
	end    int64 // of its latest transaction, ns since the Unix epoch
	values int64 // unique ones that it has made
	recent []string
}

func newClient(db Database, w *Workload, o Options, n int) *client {
	return &client{db: db, work: w, o: o, n: n, rng: rand.New(rand.NewPCG(o.Seed, uint64(n))), name: "s" + strconv.Itoa(n)}
}

func (c *client) run(ctx context.Context, emit func(event.Record)) {
	defer c.drop()
	due := c.o.Now().Add(c.between())
	for ctx.Err() == nil {
		if wait := due.Sub(c.o.Now()); wait > 0 {
			c.o.Sleep(ctx, wait)
			continue
		}
		due = due.Add(c.between())
		if now := c.o.Now(); due.Before(now) {
			due = now // what was missed is not made good
		}
		if c.session == nil && !c.reopen(ctx) {
			continue
		}
		name, body := c.work.next(c)
		c.o.Observer.Begins()
		// A transaction that has begun is finished, within its time-out.
		if r, began, _ := c.transaction(context.WithoutCancel(ctx), name, body); began {
			emit(r)
		}
		c.o.Observer.Ends()
	}
}

// between is the time between the starts of two transactions, from half to one and a
// half of the mean.
func (c *client) between() time.Duration {
	if c.o.Rate == 0 {
		return 0
	}
	mean := float64(c.o.Sessions) / c.o.Rate * float64(time.Second)
	return time.Duration(mean * (0.5 + c.rng.Float64()))
}

// reopen takes the place of a connection that is gone, or waits a while.
func (c *client) reopen(ctx context.Context) bool {
	var s Session
	err := c.timed(Connect, func() (err error) { s, err = c.db.Open(ctx); return err })
	if err != nil {
		c.o.Sleep(ctx, reopenPause)
		return false
	}
	c.session = s
	return true
}

// transaction runs one and records it, unless it has not even begun. err says why it is
// not committed.
func (c *client) transaction(ctx context.Context, name string, body func(*Tx)) (r event.Record, began bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	start := max(c.o.Now().UnixNano(), c.end) // a clock that was set back must not let it overlap itself
	if err := c.timed(Begin, func() error { return c.session.Begin(ctx) }); err != nil {
		c.drop()
		return event.Record{}, false, err
	}
	tx := &Tx{ctx: ctx, session: c.session, pause: func() { c.think(ctx) }}
	from := time.Now()
	body(tx)
	c.operated = time.Since(from)
	status, err := c.conclude(tx)
	c.end = max(c.o.Now().UnixNano(), start)
	c.seq++
	r = event.Record{
		ID: c.name + "-" + strconv.FormatInt(c.seq, 10), Source: c.o.Source, Epoch: c.o.Epoch, Session: c.name, Name: name,
		Isolation: c.o.Isolation, Status: status, Flags: event.HasSeq | event.HasTimes, Seq: c.seq, Start: start, End: c.end, Ops: tx.answered,
	}
	if r.Source == "" {
		r.Source = event.DefaultSource
	}
	if c.work.tell != nil {
		r.Ops = c.work.tell(r.Ops)
	}
	return r, true, err
}

// errGivenUp: the client did not want to commit.
var errGivenUp = errors.New("given up")

// conclude ends the transaction and says what is known of it.
func (c *client) conclude(tx *Tx) (event.Status, error) {
	if tx.err == nil && c.rng.Float64() < c.o.Aborted {
		tx.err = errGivenUp
	}
	if tx.err != nil {
		var gone error
		if tx.ctx.Err() != nil || c.session.Rollback(tx.ctx) != nil {
			gone = tx.err
			c.drop()
		}
		c.o.Observer.Phase(Operations, c.operated, gone)
		return event.Aborted, tx.err // nobody asked for the commit
	}
	c.o.Observer.Phase(Operations, c.operated, nil)
	tx.pause()
	from := time.Now()
	status, err := c.session.Commit(tx.ctx)
	var gone error
	if status == event.Unknown {
		gone = err
		c.drop()
	}
	c.o.Observer.Phase(Commit, time.Since(from), gone)
	return status, err
}

// drop ends the connection, if there is one.
func (c *client) drop() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

func (c *client) think(ctx context.Context) {
	if c.o.Think > 0 {
		c.o.Sleep(ctx, time.Duration(c.rng.Int64N(2*int64(c.o.Think))))
	}
}
