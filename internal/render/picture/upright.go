package picture

import (
	"math"
	"slices"
)

// upright puts the boxes in the order of their arrows, so that these run down the page. A write stands above the read that
// saw it. Boxes of a cycle follow each other as its arrows do.
func (d *drawing) upright() {
	order := d.down()
	if above := order; len(above) < len(d.nodes) {
		if order = d.around(); order == nil {
			order = d.short()
		}
		if order == nil {
			order = d.along(above)
		}
	}
	nodes, place := make([]node, len(order)), make([]int, len(order))
	for at, i := range order {
		nodes[at], place[i] = d.nodes[i], at
	}
	d.nodes = nodes
	for i := range d.arrows {
		a := &d.arrows[i]
		a.from, a.to = place[a.from], place[a.to]
	}
}

// down orders the boxes so that all arrows lead down. It ends before the first box of a cycle.
func (d *drawing) down() (order []int) {
	into, placed := make([]int, len(d.nodes)), make([]bool, len(d.nodes))
	for _, a := range d.arrows {
		into[a.to]++
	}
	for {
		next := -1
		for i := range d.nodes {
			if !placed[i] && into[i] == 0 {
				next = i
				break
			}
		}
		if next < 0 {
			return order
		}
		placed[next], order = true, append(order, next)
		for _, a := range d.arrows {
			if a.from == next {
				into[a.to]--
			}
		}
	}
}

// along follows the arrows from each box to one that has no place yet, as far as they lead. The order given stands before them.
func (d *drawing) along(order []int) []int {
	next, placed := make([][]int, len(d.nodes)), make([]bool, len(d.nodes))
	for _, i := range order {
		placed[i] = true
	}
	for _, a := range d.arrows {
		next[a.from] = append(next[a.from], a.to)
	}
	for first := range d.nodes {
		for at := first; !placed[at]; {
			placed[at], order = true, append(order, at)
			free := slices.IndexFunc(next[at], func(to int) bool { return !placed[to] })
			if free < 0 {
				break
			}
			at = next[at][free]
		}
	}
	return order
}

// around orders the boxes of the cycle by its arrows, from the first box on. Others stay before or behind them. A proof by
// cases names its transactions in an order of its own. The order is nil unless the arrows are one cycle.
func (d *drawing) around() []int {
	next := map[int]int{}
	for _, a := range d.arrows {
		if to, twice := next[a.from]; twice && to != a.to {
			return nil
		}
		next[a.from] = a.to
	}
	first := len(d.nodes)
	for from := range next {
		first = min(first, from)
	}
	var order []int
	for i := range first {
		order = append(order, i)
	}
	at := first
	for range next {
		order = append(order, at)
		at = next[at]
	}
	if at != first {
		return nil
	}
	for i := range d.nodes {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	if len(order) != len(d.nodes) {
		return nil
	}
	return order
}

// short is the order around a ring in which the arrows are shortest: to the next box, or to the one before. The first box stays the
// first. It is nil for more boxes than a ring has: all their orders take too long.
func (d *drawing) short() []int {
	n := len(d.nodes)
	if n > onRing {
		return nil
	}
	order, best := make([]int, n), []int(nil)
	for i := range order {
		order[i] = i
	}
	least := math.MaxInt
	var try func(from int)
	try = func(from int) {
		if from < n {
			for i := from; i < n; i++ {
				order[from], order[i] = order[i], order[from]
				try(from + 1)
				order[from], order[i] = order[i], order[from]
			}
			return
		}
		if long := d.length(order); long < least {
			least, best = long, slices.Clone(order)
		}
	}
	try(1)
	return best
}

// length is how far from their own way arrows lead on a ring in this order.
func (d *drawing) length(order []int) (long int) {
	n := len(order)
	for _, a := range d.arrows {
		switch ahead := (slices.Index(order, a.to) - slices.Index(order, a.from) + n) % n; ahead {
		case 1:
		case n - 1:
			long++
		default:
			long += 3
		}
	}
	return long
}
