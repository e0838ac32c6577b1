package picture

import (
	"math"
	"slices"
)

// upright puts the boxes in the order of their arrows, so that these run down the page. A write stands above the read that
// saw it. Boxes of a cycle follow each other as its arrows do. The boxes of a picture that leaves some out stay as they are.
func (d *drawing) upright() {
	if n := len(d.nodes); n == 0 || d.nodes[n-1].id == "" {
		return
	}
	var order []int
	for len(order) < len(d.nodes) {
		next := -1
		for i := range d.nodes {
			if !slices.Contains(order, i) && !slices.ContainsFunc(d.arrows, func(a arrow) bool { return a.to == i && !slices.Contains(order, a.from) }) {
				next = i
				break
			}
		}
		if next < 0 {
			if order = d.around(); order == nil {
				order = d.short()
			}
			break
		}
		order = append(order, next)
	}
	if order == nil {
		return
	}
	nodes := make([]node, len(order))
	for at, i := range order {
		nodes[at] = d.nodes[i]
	}
	d.nodes = nodes
	for i := range d.arrows {
		a := &d.arrows[i]
		a.from, a.to = slices.Index(order, a.from), slices.Index(order, a.to)
	}
}

// around orders the boxes of the cycle by its arrows, from the first box on. Others stay before or behind them. A proof by
// cases names its transactions in an order of its own. The order is nil unless the arrows are one cycle.
func (d *drawing) around() []int {
	next := map[int]int{}
	for _, a := range d.arrows {
		if _, twice := next[a.from]; twice {
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
	for range d.arrows {
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
// first. It is nil for more boxes than a ring has.
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
