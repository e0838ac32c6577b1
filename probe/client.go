package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/isowatch/isowatch/event"
)

// client is one single-threaded user of the database: a session of the records,
// whatever becomes of its connections.
type client struct {
	work      *Workload
	templates []template // which the database can run
	o         Options
	n         int // of o.Sessions
	rng       *rand.Rand
	links     []link
	at        int // the one that it visits

	operated time.Duration // of its transaction's operations

	pace pace

	passing    *generations // nil: none are used
	generation int64        // of the keys that its transaction uses

	name   string
	seq    int64
	end    int64 // of its latest transaction, ns since the Unix epoch
	values int64 // unique ones that it has made
	recent []string
}

func newClient(db Database, w *Workload, o Options, n int, g *generations) *client {
	cannot := limitsOf(db)
	return &client{
		work: w, o: o, n: n, rng: rand.New(rand.NewPCG(o.Seed, uint64(n))), links: linksOf(db), passing: g, name: "s" + strconv.Itoa(n),
		templates: slices.DeleteFunc(w.templates(), func(t template) bool { return t.traits&cannot != 0 }),
	}
}

// link is where its session visits now.
func (c *client) link() *link { return &c.links[c.at] }

func (c *client) run(ctx context.Context, emit func(event.Record)) {
	defer c.close()
	for ctx.Err() == nil {
		if wait := c.pace.next(c.o.Now()) + c.late(); wait > 0 {
			c.o.Sleep(ctx, wait)
		}
		if ctx.Err() == nil && !c.step(ctx, emit) {
			c.o.Sleep(ctx, shortPause)
		}
	}
}

// step runs one transaction, unless no endpoint can be reached.
func (c *client) step(ctx context.Context, emit func(event.Record)) bool {
	if !c.visit(ctx) {
		return false
	}
	var need traits
	if c.link().readOnly {
		need = looks
	}
	t, ok := c.draw(need)
	if !ok {
		return false
	}
	// A transaction that has begun is finished, within its time-out.
	ctx = context.WithoutCancel(ctx)
	if t.traits&passing != 0 {
		c.generation = c.passing.enter()
		defer func() {
			if dead, is := c.passing.leave(c.generation, !c.link().readOnly); is {
				c.forget(ctx, dead)
			}
		}()
	}
	c.o.Observer.Begins()
	r, began, _ := c.transaction(ctx, t, t.body(c))
	if began {
		emit(r)
	}
	c.o.Observer.Ends()
	return true
}

// visit goes on to the next endpoint that can be reached.
func (c *client) visit(ctx context.Context) bool {
	for range c.links {
		c.at = (c.at + 1) % len(c.links)
		if c.link().ready(ctx, &c.o, c.rng) {
			return true
		}
	}
	return false
}

// transaction runs one and records it, unless it has not even begun. err says why it is
// not committed.
func (c *client) transaction(ctx context.Context, t template, body func(*Tx)) (r event.Record, began bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	start := max(c.o.Now().UnixNano(), c.end) // a clock that was set back must not let it overlap itself
	session := c.link().session
	if err := c.timed(Begin, func() error { return session.Begin(ctx) }); err != nil {
		c.link().fail(&c.o, c.rng)
		return event.Record{}, false, err
	}
	c.link().pause = 0
	tx := &Tx{ctx: ctx, session: session, id: c.name + "-" + strconv.FormatInt(c.seq+1, 10), pause: func() { c.think(ctx) }, counted: c.work.counted}
	from := time.Now()
	body(tx)
	c.operated = time.Since(from)
	status, err := c.conclude(tx)
	if whole, is := session.(*wholeSession); is {
		tx.answered = whole.answers
	}
	c.end = max(c.o.Now().UnixNano(), start)
	c.seq++
	return c.record(tx, t.name, status, start), true, err
}

// record is the transaction as it is recorded.
func (c *client) record(tx *Tx, name string, status event.Status, start int64) event.Record {
	r := event.Record{
		ID: tx.id, Source: c.o.Source, Epoch: c.o.Epoch, Session: c.name, Name: name, Labels: c.link().labels, Isolation: c.o.Isolation,
		Status: status, Flags: event.HasSeq | event.HasTimes, Seq: c.seq, Start: start, End: c.end, Ops: tx.answered,
	}
	if r.Source == "" {
		r.Source = event.DefaultSource
	}
	if l := c.link(); l.readOnly && l.Stale {
		r.Flags |= event.Stale
	}
	if c.work.tell != nil {
		r.Ops = c.work.tell(r.Ops)
	}
	return r
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
		if tx.ctx.Err() != nil || tx.session.Rollback(tx.ctx) != nil {
			gone = tx.err
			c.drop()
		}
		c.observe(Operations, c.operated, gone)
		return event.Aborted, tx.err // nobody asked for the commit
	}
	c.observe(Operations, c.operated, nil)
	tx.pause()
	from := time.Now()
	status, err := tx.session.Commit(tx.ctx)
	var gone error
	if status == event.Unknown {
		gone = err
		c.drop()
	}
	c.observe(Commit, time.Since(from), gone)
	return status, err
}

// drop ends the connection to the endpoint that it visits, if there is one.
func (c *client) drop() { c.link().close() }

func (c *client) close() {
	for i := range c.links {
		c.links[i].close()
	}
}

func (c *client) think(ctx context.Context) {
	if c.o.Think > 0 {
		c.o.Sleep(ctx, time.Duration(c.rng.Int64N(2*int64(c.o.Think))))
	}
}
