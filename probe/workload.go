package probe

import (
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// Workload is what sessions do.
type Workload struct {
	name string
	// fill is the one transaction that makes what is there before; keys is
	// Options.Keys.
	fill func(tx *Tx, keys int)
	// next is a session's next transaction, and the name of its template.
	next func(c *client) (name string, body func(*Tx))
	// tell, unless nil, turns the operations as they were run into those of the record.
	tell func(ops []event.RecordOp) []event.RecordOp
}

// Workloads are all there are.
func Workloads() []*Workload {
	return []*Workload{
		{name: "mix", fill: fillRegisters, next: nextMix},
		{name: "blind", fill: fillRegisters, next: nextBlind},
		{name: "append", fill: fillNothing, next: nextAppend},
		{name: "rows", fill: fillNothing, next: nextRows},
		{name: "balances", fill: fillBalances, next: nextBalances},
		{name: "counters", fill: fillCounters, next: nextCounters, tell: tellCounters},
		{name: "shop", fill: fillShop, next: nextShop},
		{name: "tpcb", fill: fillTPCB, next: nextTPCB, tell: tellTPCB},
	}
}

// ByName is the workload of that name.
func ByName(name string) (*Workload, error) {
	var known []string
	for _, w := range Workloads() {
		if w.name == name {
			return w, nil
		}
		known = append(known, w.name)
	}
	return nil, fmt.Errorf("probe: no workload is called %q; there are %s", name, strings.Join(known, ", "))
}

// Name is the workload's.
func (w *Workload) Name() string { return w.name }

// template is a transaction that a session runs with a weight.
type template struct {
	weight int
	name   string
	body   func(c *client) func(*Tx)
}

// draw chooses one of them.
func (c *client) draw(templates []template) (name string, body func(*Tx)) {
	all := 0
	for _, t := range templates {
		all += t.weight
	}
	at := c.rng.IntN(all)
	for _, t := range templates {
		if at -= t.weight; at < 0 {
			return t.name, t.body(c)
		}
	}
	panic("probe: weights that do not add up")
}

// two are different numbers below n.
func (c *client) two(n int) (int, int) {
	a, b := c.rng.IntN(n), c.rng.IntN(n-1)
	if b >= a {
		b++
	}
	return a, b
}

// pair are a number below n and the one that it always comes with: two transactions
// soon have the same, in one order or the other.
func (c *client) pair(n int) (int, int) {
	a := c.rng.IntN(n &^ 1)
	return a, a ^ 1
}

// unique is a value that no other session writes, and this one never again.
func (c *client) unique() string {
	c.values++
	return text(c.values*int64(c.o.Sessions+1) + int64(c.n) + 1) // 0 to Sessions is the filling's
}

func fillNothing(*Tx, int) {}
