package probe

import "fmt"

// listLength is how many transactions a session makes before it turns to new lists:
// a list gets some 2 * sessions * listLength / keys elements, so its reads stay small.
const listLength = 40

// nextAppend appends to lists and reads them. They are named by a number and a
// generation, as "l4.0".
func nextAppend(c *client) (string, func(*Tx)) {
	list := func(n int) string { return fmt.Sprintf("l%d.%d", n, c.seq/listLength) }
	return c.draw([]template{
		{3, "append", func(c *client) func(*Tx) { // write skew
			a, b := c.pair(c.o.Keys)
			return func(tx *Tx) {
				tx.list(list(a))
				tx.append(list(b), c.unique())
			}
		}},
		{2, "append twice", func(c *client) func(*Tx) { // reads of what is not the last
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.append(list(a), c.unique())
				tx.append(list(b), c.unique())
				tx.append(list(a), c.unique())
				tx.list(list(b))
			}
		}},
		{1, "append and look", func(c *client) func(*Tx) { // lost updates
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(list(a))
				tx.append(list(a), c.unique())
				tx.list(list(b))
			}
		}},
		{2, "look", func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.list(list(a))
				tx.list(list(b))
			}
		}},
	})
}
