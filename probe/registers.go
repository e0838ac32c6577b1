package probe

import "fmt"

// register is the key of a register of mix, blind and rows. All of them are from
// "k" on and before "l".
func register(n int) string { return fmt.Sprintf("k%03d", n) }

// fillRegisters writes each register once, with values that no session writes.
func fillRegisters(tx *Tx, keys int) {
	for n := range keys {
		tx.upsert(register(n), text(int64(-n-1)))
	}
}

// nextMix reads and writes what it has read: on every level that a database offers
// the order of a register's versions is seen.
func nextMix(c *client) (string, func(*Tx)) {
	return c.draw([]template{
		{4, "update", func(c *client) func(*Tx) { // lost updates
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.update(register(a), c.unique())
				tx.read(register(b))
			}
		}},
		{3, "skew", func(c *client) func(*Tx) { // write skew
			a, b := c.pair(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
				tx.update(register(a), c.unique())
			}
		}},
		{1, "transfer", func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
				tx.update(register(a), c.unique())
				tx.update(register(b), c.unique())
			}
		}},
		{2, "look", func(c *client) func(*Tx) { // fractured reads, long forks
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
			}
		}},
	})
}

// nextBlind writes registers that it has not read.
func nextBlind(c *client) (string, func(*Tx)) {
	return c.draw([]template{
		{3, "write", func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.upsert(register(a), c.unique())
				tx.upsert(register(b), c.unique())
			}
		}},
		{2, "write and look", func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.upsert(register(a), c.unique())
				tx.read(register(b))
			}
		}},
		{3, "look", func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
			}
		}},
	})
}
