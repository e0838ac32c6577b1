package verify

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// way is one way out of a choice: first wrote the key before then did; of a read, then
// read what first had left.
type way struct {
	key         string
	first, then int
	read        bool
}

func waysOf(c *finding.Choice) []way {
	if len(c.Writers) == 0 {
		return []way{{c.Key, c.A, c.B, false}, {c.Key, c.B, c.A, false}}
	}
	var all []way
	for _, t := range c.Writers {
		all = append(all, way{c.Key, t, c.A, true})
	}
	return all
}

// orders are the orders of a witness's transactions that are left: known edges, and the edges
// of the ways that were taken.
type orders struct {
	witness *finding.Witness
	level   encoding
	out     [][]int // by node
	taken   []way
}

// maxWays bounds the ways that are tried.
const maxWays = 20_000

// checkOrders: whichever ways are taken out of the choices, a cycle is closed at the level.
func checkOrders(w *finding.Witness) error { return checkOrdersIn(w, maxWays) }

func checkOrdersIn(w *finding.Witness, budget int) error {
	level, err := encodingOf(w.Level)
	if err != nil {
		return err
	}
	o := orders{witness: w, level: level, out: make([][]int, 2*len(w.Txns))}
	for t := range w.Txns {
		if begin, commit := level.nodes(t); begin != commit {
			o.out[begin] = append(o.out[begin], commit)
		}
	}
	for i := range w.Edges {
		o.add(&w.Edges[i])
	}
	open := make([]*finding.Choice, len(w.Choices))
	for i := range w.Choices {
		open[i] = &w.Choices[i]
	}
	switch {
	case o.none(open, &budget):
		return nil
	case budget < 0:
		return fmt.Errorf("the choices have too many ways out to try them all at %s", w.Level)
	}
	return fmt.Errorf("the choices leave an order that %s allows", w.Level)
}

// none says whether every way out of the choices closes a cycle; false also when the
// budget is spent.
func (o *orders) none(open []*finding.Choice, budget *int) bool {
	for i := 0; i < len(open); i++ {
		free := o.free(open[i], budget)
		switch {
		case *budget < 0:
			return false
		case len(free) == 0:
			return true
		case len(free) == 1:
			o.take(free[0])
			open = slices.Delete(slices.Clone(open), i, i+1)
			i = -1 // what was free may be so no more
		}
	}
	if len(open) == 0 {
		return false
	}
	if o.noneFirst(open) {
		return true
	}
	for _, x := range o.free(open[0], budget) {
		branch := o.clone()
		branch.take(x)
		if !branch.none(open[1:], budget) {
			return false
		}
	}
	return true
}

// noneFirst says whether some transactions cannot be put into any order, whichever ways are taken. A
// transaction stands behind those with an edge to it, and behind a writer of the value that it read. A set
// has no first one if it holds such a one for each. O(the square of the nodes, with edges and ways).
func (o *orders) noneFirst(open []*finding.Choice) bool {
	waits, placed := make([]int, len(o.out)), make([]bool, len(o.out))
	for _, out := range o.out {
		for _, to := range out {
			waits[to]++
		}
	}
	for more := true; more; {
		more = false
		for n, out := range o.out {
			if placed[n] || waits[n] > 0 || slices.ContainsFunc(open, func(c *finding.Choice) bool { return o.unread(c, n, placed) }) {
				continue
			}
			placed[n], more = true, true
			for _, to := range out {
				waits[to]--
			}
		}
	}
	return slices.Contains(placed, false)
}

// unread says whether n is the begin of the choice's reader, and no possible writer is placed.
func (o *orders) unread(c *finding.Choice, n int, placed []bool) bool {
	begin, _ := o.level.nodes(c.A)
	return begin == n && len(c.Writers) > 0 && !slices.ContainsFunc(c.Writers, func(t int) bool {
		_, commit := o.level.nodes(t)
		return placed[commit]
	})
}

// free are the ways out of the choice that close no cycle.
func (o *orders) free(c *finding.Choice, budget *int) []way {
	var free []way
	for _, x := range waysOf(c) {
		*budget--
		es := o.edgesOf(x)
		if !slices.ContainsFunc(es, func(e finding.Dependency) bool { return o.closes(&e) }) {
			free = append(free, x)
		}
	}
	return free
}

func (o *orders) take(x way) {
	es := o.edgesOf(x)
	for i := range es {
		o.add(&es[i])
	}
	o.taken = append(o.taken, x)
}

func (o *orders) add(e *finding.Dependency) {
	if from, to, ok := o.level.arc(e); ok {
		o.out[from] = append(o.out[from], to)
	}
}

func (o *orders) clone() *orders {
	c := *o
	c.out = make([][]int, len(o.out))
	for i := range o.out {
		c.out[i] = slices.Clone(o.out[i])
	}
	c.taken = slices.Clone(o.taken)
	return &c
}

// closes says whether the edge leads to where it comes from.
func (o *orders) closes(e *finding.Dependency) bool {
	from, to, _ := o.level.arc(e) // a way out of a choice always orders something
	seen := make([]bool, len(o.out))
	seen[to] = true
	for todo := []int{to}; len(todo) > 0; {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; at == from {
			return true
		}
		for _, next := range o.out[at] {
			if !seen[next] {
				seen[next], todo = true, append(todo, next)
			}
		}
	}
	return false
}

// edgesOf are the edges that follow from a way out, together with the ways that were taken
// before.
func (o *orders) edgesOf(x way) []finding.Dependency {
	label := finding.WW
	if x.read {
		label = finding.WR
	}
	es := []finding.Dependency{{From: x.first, To: x.then, Label: label}}
	if !x.read {
		for _, r := range o.readersOf(x) {
			es = append(es, finding.Dependency{From: r, To: x.then, Label: finding.RW})
		}
		for _, r := range o.behind(x) {
			es = append(es, finding.Dependency{From: r, To: x.then, Label: finding.WW})
		}
	}
	for _, t := range o.taken { // a read of first, and an order behind first
		if t.key != x.key || t.first != x.first || t.read == x.read {
			continue
		}
		reader, writer := x.then, t.then
		if t.read {
			reader, writer = t.then, x.then
		}
		if reader != writer {
			es = append(es, finding.Dependency{From: reader, To: writer, Label: finding.RW})
		}
	}
	return es
}

// behind are the transactions that say that they replaced the version that first had left.
// Another writer comes between only at prefix, or if then too says that it replaced that
// version.
func (o *orders) behind(x way) (all []int) {
	left, ok := finalWrite(&o.witness.Txns[x.first], x.key)
	if !ok || left.Value == "" || o.level.chain || replacedBy(&o.witness.Txns[x.then], x.key) == left.Value {
		return nil
	}
	for r := range o.witness.Txns {
		if replacedBy(&o.witness.Txns[r], x.key) == left.Value {
			all = append(all, r)
		}
	}
	return all
}

// readersOf are the transactions that read what first left in a register, where nobody
// else can have left it.
func (o *orders) readersOf(x way) []int {
	left, ok := finalWrite(&o.witness.Txns[x.first], x.key)
	if !ok { // both appended: nothing is said of their readers here
		return nil
	}
	var readers []int
	for r := range o.witness.Txns {
		read, ok := externalRead(&o.witness.Txns[r], x.key)
		if ok && r != x.then && read.Flags&event.NotFound == 0 && read.Value == left.Value && !repeated(o.witness, r, x.key) {
			readers = append(readers, r)
		}
	}
	return readers
}
