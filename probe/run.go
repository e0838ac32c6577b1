package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/isowatch/isowatch/event"
)

// Fill makes the tables again, with the rows that the workload needs, and returns the record of
// the transaction that wrote it.
func Fill(ctx context.Context, db Database, w *Workload, o Options) (event.Record, error) {
	o, err := o.withDefaults()
	if err != nil {
		return event.Record{}, err
	}
	if err := w.Fits(db); err != nil {
		return event.Record{}, err
	}
	if err := db.Reset(ctx); err != nil {
		return event.Record{}, fmt.Errorf("making the tables: %w", err)
	}
	o.Think, o.Aborted = 0, 0
	c := newClient(db, w, o, 0, nil)
	c.name = "init"
	if err := c.link().open(ctx, &o); err != nil {
		return event.Record{}, fmt.Errorf("opening a session: %w", err)
	}
	defer c.link().close()
	r, _, err := c.transaction(ctx, template{}, func(tx *Tx) { w.fill(tx, o.Keys) })
	if err == nil && r.Status != event.Committed {
		err = errors.New("the transaction was refused")
	}
	if err != nil {
		return event.Record{}, fmt.Errorf("filling the tables: %w", err)
	}
	return r, nil
}

// Run runs the workload on tables that [Fill] made, until ctx or the duration ends;
// transactions that have begun are finished. It hands their records to emit, which
// must be safe for concurrent use. An error says that it could not begin: a database that
// is lost later is waited for.
func Run(ctx context.Context, db Database, w *Workload, o Options, emit func(event.Record)) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if err := w.Fits(db); err != nil {
		return err
	}
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	g, began := newGenerations(o.Keys), o.Now()
	clients := make([]*client, o.Sessions)
	for n := range clients {
		clients[n] = newClient(db, w, o, n, g)
		clients[n].pace = newPace(&o, began)
		if err := clients[n].link().open(ctx, &o); err != nil {
			for _, c := range clients[:n+1] {
				c.close()
			}
			return fmt.Errorf("opening a session: %w", err)
		}
	}
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() { c.run(ctx, emit) })
	}
	running.Wait()
	return nil
}
