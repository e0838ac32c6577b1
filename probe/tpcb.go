package probe

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// A branch has tellersOf tellers and accountsOf accounts; there is one for every 10 of
// Options.Keys.
const (
	tellersOf  = 5
	accountsOf = 100
)

func branches(keys int) int { return max(1, keys/10) }

func fillTPCB(tx *Tx, keys int) {
	for b := range branches(keys) {
		tx.create(fmt.Sprintf("branches/%d", b))
		for n := range tellersOf {
			tx.create(fmt.Sprintf("tellers/%d", b*tellersOf+n))
		}
		for n := range accountsOf {
			tx.create(account(b*accountsOf + n))
		}
	}
}

// tpcb is the transaction of TPC-B, and one that audits a branch. The database changes the
// balances (bal = bal + delta). They are recorded as the values that they became: blind writes
// of values that repeat.
func tpcb() []template {
	return []template{
		{4, "tpcb", 0, func(c *client) func(*Tx) {
			teller := c.rng.IntN(branches(c.o.Keys) * tellersOf)
			branch := teller / tellersOf
			to := account(branch*accountsOf + c.rng.IntN(accountsOf))
			delta := 1 + c.rng.Int64N(99) // never 0: MariaDB takes an update that changes nothing for none
			if c.rng.IntN(2) == 0 {
				delta = -delta
			}
			c.values++
			history := fmt.Sprintf("history/%d-%d", c.n, c.values)
			return func(tx *Tx) {
				for _, key := range []string{to, fmt.Sprintf("tellers/%d", teller), fmt.Sprintf("branches/%d", branch)} {
					tx.inc(key, delta)
					tx.counter(key)
				}
				tx.insert(history, text(delta))
			}
		}},
		{1, "audit", looks, func(c *client) func(*Tx) {
			branch := c.rng.IntN(branches(c.o.Keys))
			return func(tx *Tx) {
				tx.counter(fmt.Sprintf("branches/%d", branch))
				for n := range tellersOf {
					tx.counter(fmt.Sprintf("tellers/%d", branch*tellersOf+n))
				}
			}
		}},
	}
}

// tellTPCB tells counters as registers: an increment and the read behind it are the
// write of what was read.
func tellTPCB(ops []event.RecordOp) []event.RecordOp {
	told := ops[:0]
	for i, op := range ops {
		switch {
		case op.Kind == event.Inc && i+1 == len(ops): // given up before the read: nobody knows the value
			continue
		case op.Kind == event.Inc:
			op.Kind, op.Value = event.Write, ops[i+1].Value
		case op.Kind == event.Insert && op.Data == event.Counter:
			op.Kind = event.Write
		}
		op.Data = event.AnyKind
		told = append(told, op)
	}
	return told
}
