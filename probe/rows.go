package probe

import "fmt"

// row is the key of a row. All of them are from "r" on and before "s".
func row(n int) string { return fmt.Sprintf("r%03d", n) }

func passingRow(generation int64, n int) string { return fmt.Sprintf("p%d.%d", generation, n) }

// phantoms reads the rows of a generation, and writes one of them.
func phantoms() []template {
	rows := func(c *client, tx *Tx) { tx.scan(fmt.Sprintf("p%d.", c.generation), fmt.Sprintf("p%d/", c.generation)) }
	return []template{
		{4, "scan and insert", onRows | passing, func(c *client) func(*Tx) { // write skew through ranges
			n := c.rng.IntN(c.o.Keys)
			return func(tx *Tx) {
				rows(c, tx)
				tx.upsert(passingRow(c.generation, n), c.unique())
			}
		}},
		{4, "scan rows", onRows | passing | looks, func(c *client) func(*Tx) {
			return func(tx *Tx) {
				rows(c, tx)
				rows(c, tx)
			}
		}},
	}
}

// rows creates, changes and deletes rows, and reads ranges of them.
func rows() []template {
	return []template{
		{4, "change", onRows | computes, func(c *client) func(*Tx) {
			key, gone := row(c.rng.IntN(c.o.Keys)), c.rng.IntN(3) == 0
			return func(tx *Tx) {
				switch _, found := tx.read(key); {
				case !found:
					tx.insert(key, c.unique())
				case gone:
					tx.delete(key)
				default:
					tx.update(key, c.unique())
				}
			}
		}},
		{2, "put", onRows, func(c *client) func(*Tx) {
			key := row(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.read(key)
				tx.upsert(key, c.unique())
			}
		}},
		{1, "remove", onRows, func(c *client) func(*Tx) {
			key := row(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.scan("r", "s")
				tx.delete(key)
			}
		}},
		{1, "scan and put", onRows, func(c *client) func(*Tx) { // phantoms
			key := row(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.scan("r", "s")
				tx.upsert(key, c.unique())
			}
		}},
		{2, "scan", onRows | looks, func(c *client) func(*Tx) {
			from := c.rng.IntN(c.o.Keys / 2)
			to := from + c.o.Keys/2
			return func(tx *Tx) {
				tx.scan(row(from), row(to))
				tx.scan("r", "s")
			}
		}},
	}
}
