package probe

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

func counter(n int) string { return fmt.Sprintf("c%03d", n) }

// fillCounters creates the counters where an increment does not.
func fillCounters(tx *Tx, keys int) {
	if _, whole := tx.session.(*wholeSession); whole {
		return
	}
	for n := range keys {
		tx.create(counter(n))
	}
}

// tellCounters leaves out what created the counters: each begins at 0, as one that
// nobody has created.
func tellCounters(ops []event.RecordOp) []event.RecordOp {
	if len(ops) > 0 && ops[0].Kind == event.Insert {
		return nil
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
