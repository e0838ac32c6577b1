package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/isowatch/isowatch/probe"
)

// outages tells when a server gives no answer, and when it does again: a line each, however many
// sessions notice it.
type outages struct {
	ctx     context.Context // of the workload: a failure after its end is not an outage
	say     func(format string, args ...any)
	now     func() time.Time
	began   time.Time
	timeout time.Duration // of a transaction
	// quiet is how long no transaction may fail before an outage counts as over. Sessions that wait
	// for their turn notice lost connections late.
	quiet time.Duration

	mu      sync.Mutex
	running map[string]*outage // by endpoint; "" is the database
}

type outage struct {
	since time.Time // of the first error
	last  time.Time // error
	ended time.Time // the first answer after it; zero: there was none
}

func newOutages(ctx context.Context, t *terminal, o *probe.Options) *outages {
	x := &outages{ctx: ctx, say: t.say, now: time.Now, began: time.Now(), timeout: transactionWait, quiet: time.Second, running: map[string]*outage{}}
	if o.Rate > 0 {
		x.quiet += time.Duration(float64(o.Sessions) / o.Rate * float64(time.Second))
	}
	return x
}

// Begins implements [probe.Observer].
func (x *outages) Begins() {}

// Ends implements [probe.Observer].
func (x *outages) Ends() {}

// Phase implements [probe.Observer].
func (x *outages) Phase(endpoint string, p probe.Phase, _ time.Duration, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o, now := x.running[endpoint], x.now()
	switch {
	case err != nil && x.ctx.Err() == nil:
		if o == nil {
			o = &outage{since: now}
			x.running[endpoint] = o
			x.say("%v: %s does not answer: %s", now.Sub(x.began).Round(time.Second), server(endpoint), x.why(err))
		}
		o.last, o.ended = now, time.Time{}
	case err == nil && o != nil && p != probe.Connect: // a server that takes connections may do no more
		if o.ended.IsZero() {
			o.ended = now
		}
		if now.Sub(o.last) >= x.quiet {
			x.over(endpoint, o)
		}
	}
}

// end tells of outages that are over, at the end of the workload.
func (x *outages) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for endpoint, o := range x.running {
		if !o.ended.IsZero() {
			x.over(endpoint, o)
		}
	}
}

func (x *outages) over(endpoint string, o *outage) {
	delete(x.running, endpoint)
	x.say("%v: %s answers again, after %v", o.ended.Sub(x.began).Round(time.Second), server(endpoint), o.ended.Sub(o.since).Round(10*time.Millisecond))
}

func server(endpoint string) string {
	if endpoint == "" {
		return "the database"
	}
	return "the endpoint " + printable(endpoint)
}

// why is an error for people.
func (x *outages) why(err error) string {
	var dial *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("nothing came within %v", x.timeout)
	case errors.Is(err, driver.ErrBadConn):
		return "the connection is gone"
	case errors.As(err, &dial):
		return oneLine(dial)
	}
	return oneLine(err)
}
