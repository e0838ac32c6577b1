package probe

// nextRows creates, changes and deletes rows, and reads ranges of them.
func nextRows(c *client) (string, func(*Tx)) {
	return c.draw([]template{
		{4, "change", func(c *client) func(*Tx) {
			key, gone := register(c.rng.IntN(c.o.Keys)), c.rng.IntN(3) == 0
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
		{2, "put", func(c *client) func(*Tx) {
			key := register(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.read(key)
				tx.upsert(key, c.unique())
			}
		}},
		{1, "remove", func(c *client) func(*Tx) {
			key := register(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.scan("k", "l")
				tx.delete(key)
			}
		}},
		{1, "scan and put", func(c *client) func(*Tx) { // phantoms
			key := register(c.rng.IntN(c.o.Keys))
			return func(tx *Tx) {
				tx.scan("k", "l")
				tx.upsert(key, c.unique())
			}
		}},
		{2, "scan", func(c *client) func(*Tx) {
			from := c.rng.IntN(c.o.Keys / 2)
			to := from + c.o.Keys/2
			return func(tx *Tx) {
				tx.scan(register(from), register(to))
				tx.scan("k", "l")
			}
		}},
	})
}
