package probe

import "fmt"

const (
	stocked = 30 // of each product at the beginning, and after a delivery
	// remembered are the orders of its own that a session still looks at.
	remembered = 8
)

// Statuses of an order, as JSON.
const (
	placed  = `"placed"`
	paid    = `"paid"`
	shipped = `"shipped"`
)

func product(n int) string { return fmt.Sprintf("products/%d", n) }

func fillShop(tx *Tx, keys int) {
	for n := range keys {
		tx.upsert(product(n), text(stocked))
	}
}

// shop is a small shop as an object-relational mapper runs it: stock is read,
// changed in the program and written back; stock and statuses repeat.
func shop() []template {
	return []template{
		{4, "browse", looks, func(c *client) func(*Tx) {
			from := c.rng.IntN(c.o.Keys)
			return func(tx *Tx) {
				for n := range 3 {
					tx.read(product((from + n) % c.o.Keys))
				}
			}
		}},
		{3, "order", 0, order},
		{2, "pay", 0, func(c *client) func(*Tx) { return turn(c.someOrder(), placed, paid) }},
		{1, "ship", 0, func(c *client) func(*Tx) { return turn(c.someOrder(), paid, shipped) }},
		{1, "cancel", 0, func(c *client) func(*Tx) {
			key, a := c.someOrder(), c.rng.IntN(c.o.Keys)
			return func(tx *Tx) {
				if status, _ := tx.read(key); status == placed {
					tx.delete(key)
					tx.update(product(a), text(tx.number(product(a))+1))
				}
			}
		}},
		{1, "deliver", 0, func(c *client) func(*Tx) {
			a := c.rng.IntN(c.o.Keys)
			return func(tx *Tx) {
				if tx.number(product(a)) < stocked/2 {
					tx.update(product(a), text(stocked))
				}
			}
		}},
	}
}

// order takes one each of two products.
func order(c *client) func(*Tx) {
	a, b := c.two(c.o.Keys)
	c.values++
	key := orderKey(c.n, c.values)
	c.recent = append(c.recent, key)
	if len(c.recent) > remembered {
		c.recent = c.recent[1:]
	}
	return func(tx *Tx) {
		left, right := tx.number(product(a)), tx.number(product(b))
		if left < 1 || right < 1 {
			return
		}
		tx.update(product(a), text(left-1))
		tx.update(product(b), text(right-1))
		tx.insert(key, placed)
	}
}

// turn takes an order from one status to the next.
func turn(key, from, to string) func(*Tx) {
	return func(tx *Tx) {
		if status, _ := tx.read(key); status == from {
			tx.update(key, to)
		}
	}
}

func orderKey(session int, n int64) string { return fmt.Sprintf("orders/%d-%d", session, n) }

// someOrder is one of the session's own of late, or what may be another one's: they
// all make about as many.
func (c *client) someOrder() string {
	if len(c.recent) > 0 && c.rng.IntN(2) == 0 {
		return c.recent[c.rng.IntN(len(c.recent))]
	}
	return orderKey(c.rng.IntN(c.o.Sessions), max(1, c.values-c.rng.Int64N(remembered)))
}
