package probe

import (
	"fmt"
	"slices"
)

// register is the key of a register of mix, register and blind.
func register(n int) string { return fmt.Sprintf("k%03d", n) }

// fillRegisters writes each register once, with values that no session writes.
func fillRegisters(tx *Tx, keys int) {
	for n := range keys {
		tx.upsert(register(n), text(int64(-n-1)))
	}
}

// mix decides most at least cost: mostly registers, some lists, and some ranges of rows. No row
// is deleted. Between read committed and snapshot isolation, nobody could tell which version an
// empty read has seen. A healthy database would end unknown.
func mix() []template {
	return slices.Concat(weighted(6, registers()), weighted(1, lists()), weighted(1, phantoms()))
}

// weighted are the templates, some times as often.
func weighted(times int, of []template) []template {
	for i := range of {
		of[i].weight *= times
	}
	return of
}

// registers are mini-transactions: they write keys that they have read, at most two. So the
// order of a register's versions is seen on every level that a database offers.
func registers() []template {
	return []template{
		{4, "update", 0, func(c *client) func(*Tx) { // lost updates
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.update(register(a), c.unique())
				tx.read(register(b))
			}
		}},
		{3, "skew", 0, func(c *client) func(*Tx) { // write skew
			a, b := c.pair(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
				tx.update(register(a), c.unique())
			}
		}},
		{1, "transfer", 0, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
				tx.update(register(a), c.unique())
				tx.update(register(b), c.unique())
			}
		}},
		{1, "give up", givesUp, func(c *client) func(*Tx) { // reads of what was never committed
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.update(register(a), c.unique())
				tx.read(register(b))
				tx.giveUp()
			}
		}},
		{2, "look", looks, func(c *client) func(*Tx) { // fractured reads, long forks
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
			}
		}},
	}
}

// blind writes registers that it has not read.
func blind() []template {
	return []template{
		{3, "write", 0, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.upsert(register(a), c.unique())
				tx.upsert(register(b), c.unique())
			}
		}},
		{2, "write and look", 0, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.upsert(register(a), c.unique())
				tx.read(register(b))
			}
		}},
		{3, "look", looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(register(a))
				tx.read(register(b))
			}
		}},
	}
}
