package probe

import "fmt"

func listKey(generation int64, n int) string { return fmt.Sprintf("l%d.%d", generation, n) }

// list is the key of a list of the transaction's generation.
func (c *client) list(n int) string { return listKey(c.generation, n) }

// lists appends to lists and reads them.
func lists() []template {
	return []template{
		{3, "append", onLists | passing, func(c *client) func(*Tx) { // write skew
			a, b := c.pair(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.append(c.list(b), c.unique())
			}
		}},
		{2, "append twice", onLists | passing, func(c *client) func(*Tx) { // reads of what is not the last
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.append(c.list(a), c.unique())
				tx.append(c.list(b), c.unique())
				tx.append(c.list(a), c.unique())
				tx.list(c.list(b))
			}
		}},
		{1, "append and look", onLists | passing, func(c *client) func(*Tx) { // lost updates
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.append(c.list(a), c.unique())
				tx.list(c.list(b))
			}
		}},
		{2, "look at lists", onLists | passing | looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(c.list(a))
				tx.list(c.list(b))
			}
		}},
	}
}
