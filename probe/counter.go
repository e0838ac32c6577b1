package probe

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

func counter(n int) string { return fmt.Sprintf("c%03d", n) }

// fillCounters creates the counters. Where no statement creates one, an increment does.
func fillCounters(tx *Tx, keys int) {
	_, whole := tx.session.(*wholeSession)
	for n := range keys {
		if whole {
			tx.inc(counter(n), 0)
		} else {
			tx.create(counter(n))
		}
	}
}

// tellCounters tells what created the counters as increments by 0, which replaced nothing.
func tellCounters(ops []event.RecordOp) []event.RecordOp {
	for i := range ops {
		if o := &ops[i]; o.Kind == event.Insert {
			o.Kind, o.Data = event.Inc, event.AnyKind
		}
	}
	return ops
}

// counters adds to counters, moves between them, and reads them.
func counters() []template {
	return []template{
		{3, "add", onCounters, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			n := 1 + c.rng.Int64N(9)
			return func(tx *Tx) {
				tx.inc(counter(a), n)
				tx.counter(counter(b))
			}
		}},
		{2, "move", onCounters, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			n := 1 + c.rng.Int64N(9)
			return func(tx *Tx) {
				tx.inc(counter(a), -n)
				tx.inc(counter(b), n)
			}
		}},
		{3, "look", onCounters | looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.counter(counter(a))
				tx.counter(counter(b))
			}
		}},
	}
}
