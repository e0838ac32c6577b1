package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// Workload is the work of the sessions.
type Workload struct {
	name string
	// fill is the one transaction that makes what is there before; keys is
	// Options.Keys.
	fill func(tx *Tx, keys int)
	// templates are the transactions of a session.
	templates func() []template
	// tell, unless nil, turns the operations as they were run into the operations of the
	// record.
	tell func(ops []event.RecordOp) []event.RecordOp
	// counted says that counters tell their versions.
	counted bool
}

// Workloads have unique values and tables that stay small for ever. The first is the default.
func Workloads() []*Workload {
	return []*Workload{
		{name: "mix", fill: fillRegisters, templates: mix},
		{name: "register", fill: fillRegisters, templates: registers},
		{name: "append", fill: fillNothing, templates: lists},
		{name: "rows", fill: fillNothing, templates: rows},
		{name: "bank", fill: fillBank, templates: bank},
		{name: "blind", fill: fillRegisters, templates: blind},
		{name: "counter", fill: fillCounters, templates: counters, tell: tellCounters, counted: true},
	}
}

// Repeating are workloads like ordinary applications: their values come again, and the
// tables of some grow.
func Repeating() []*Workload {
	return []*Workload{
		{name: "balances", fill: fillBalances, templates: balances},
		{name: "shop", fill: fillShop, templates: shop},
		{name: "tpcb", fill: fillTPCB, templates: tpcb, tell: tellTPCB},
	}
}

// ByName is the one of [Workloads] with that name.
func ByName(name string) (*Workload, error) {
	var known []string
	for _, w := range Workloads() {
		if w.name == name {
			return w, nil
		}
		known = append(known, w.name)
	}
	return nil, fmt.Errorf("no workload is called %q; there are %s", name, strings.Join(known, ", "))
}

// Name is the workload's.
func (w *Workload) Name() string { return w.name }

// Fits refuses a database that cannot run the workload. If a workload is a mixture, only a part
// of it may be run.
func (w *Workload) Fits(db Database) error {
	cannot := limitsOf(db)
	writes := func(t template) bool { return t.traits&looks == 0 && t.traits&cannot == 0 }
	if slices.ContainsFunc(w.templates(), writes) {
		return nil
	}
	var wants traits
	for _, t := range w.templates() {
		wants |= t.traits
	}
	return fmt.Errorf("the workload %s cannot run here: %s", w.name, (wants & cannot).why())
}

// template is a transaction that a session runs with a weight.
type template struct {
	weight int
	name   string
	traits traits
	body   func(c *client) func(*Tx)
}

// traits say what a transaction asks of a database.
type traits uint8

const (
	looks      traits = 1 << iota // it only reads
	computes                      // what it writes depends on what it has read
	onLists                       // it appends to lists
	onRows                        // it inserts, reads ranges, and may delete
	onCounters                    // it adds to counters
	passing                       // its keys are of a generation: see generations
	givesUp                       // it ends with a rollback
)

// why says what a database with these limits cannot do.
func (t traits) why() string {
	switch {
	case t&computes != 0:
		return "what it writes depends on what it has read, and this target takes whole transactions"
	case t&onLists != 0:
		return "the target has no lists"
	case t&onRows != 0:
		return "the target has no ranges and no deletes"
	default:
		return "the target has no counters"
	}
}

// draw chooses one of the templates that the database can run and that have the traits.
func (c *client) draw(need traits) (template, bool) {
	all := 0
	for _, t := range c.templates {
		if t.traits&need == need {
			all += t.weight
		}
	}
	if all == 0 {
		return template{}, false
	}
	at := c.rng.IntN(all)
	for _, t := range c.templates {
		if t.traits&need != need {
			continue
		}
		if at -= t.weight; at < 0 {
			return t, true
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

// pair are a number below n and the number that it always comes with. Two transactions soon
// have the same pair, in one order or the other.
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
