package probe

import "fmt"

// opening is the balance of each account at the beginning.
const opening = 100

func account(n int) string { return fmt.Sprintf("accounts/%d", n) }

func fillBalances(tx *Tx, keys int) {
	for n := range keys {
		tx.upsert(account(n), text(opening))
	}
}

// balances moves small amounts between accounts. A balance is stored as it is, so
// that the same one comes again and again, as in an ordinary application.
func balances() []template {
	return []template{
		{4, "transfer", 0, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			amount := 1 + c.rng.Int64N(5)
			return func(tx *Tx) {
				from, to := tx.number(account(a)), tx.number(account(b))
				if from < amount {
					return
				}
				tx.update(account(a), text(from-amount))
				tx.update(account(b), text(to+amount))
			}
		}},
		{1, "total", looks, func(c *client) func(*Tx) {
			return func(tx *Tx) {
				for n := range c.o.Keys {
					tx.read(account(n))
				}
			}
		}},
		{1, "look", looks, func(c *client) func(*Tx) {
			a, b := c.two(c.o.Keys)
			return func(tx *Tx) {
				tx.read(account(a))
				tx.read(account(b))
			}
		}},
	}
}
