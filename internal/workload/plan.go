package workload

import "fmt"

// step is one thing that a live client does in a transaction.
type step struct {
	kind stepKind
	key  string
	slot int // of an order
}

type stepKind uint8

const (
	stepRead   stepKind = iota // read an account
	stepUpdate                 // read an account and write it
	stepList                   // read an order
	stepAppend                 // append to an order
)

// plan draws a transaction: its template's name and its steps.
func (c *liveClient) plan() (string, []step) {
	account := func(kind stepKind) step { return step{kind: kind, key: c.account()} }
	switch u := c.rng.IntN(100); {
	case u < 30:
		from := account(stepUpdate)
		c.recent = from.key
		return "transfer", []step{from, account(stepUpdate)}
	case u < 50:
		return "approve", []step{account(stepRead), account(stepRead), account(stepUpdate)}
	case u < 70:
		first := account(stepRead)
		if c.recent != "" {
			first.key = c.recent
		}
		return "audit", []step{first, account(stepRead), account(stepRead)}
	case u < 85:
		one, two := c.order(stepAppend), c.order(stepAppend)
		seen := one
		seen.kind = stepList
		return "checkout", []step{seen, one, two}
	default:
		return "track", []step{c.order(stepList), c.order(stepList), account(stepRead)}
	}
}

func (c *liveClient) account() string {
	return fmt.Sprintf("%saccount/%d", c.cfg.Prefix, c.rng.IntN(c.cfg.Accounts))
}

func (c *liveClient) order(kind stepKind) step {
	slot := c.rng.IntN(len(c.orders))
	key := fmt.Sprintf("%sorder/%d.%d", c.cfg.Prefix, slot, c.orders[slot].Load())
	return step{kind: kind, key: key, slot: slot}
}

// run does s in tx and returns the operations with their results.
func (c *liveClient) run(tx *Tx, s step) []Op {
	switch s.kind {
	case stepRead:
		return []Op{tx.Read(s.key)}
	case stepUpdate:
		return []Op{tx.Read(s.key), tx.Write(s.key, c.store.NextValue())}
	case stepAppend:
		return []Op{tx.Append(s.key, c.store.NextValue())}
	}
	o := tx.ReadList(s.key)
	if len(o.List) >= orderLength {
		// Only the client that finds the current list full replaces it.
		used := c.orders[s.slot].Load()
		if s.key == fmt.Sprintf("%sorder/%d.%d", c.cfg.Prefix, s.slot, used) {
			c.orders[s.slot].CompareAndSwap(used, used+1)
		}
	}
	return []Op{o}
}
