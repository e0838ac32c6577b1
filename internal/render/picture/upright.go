package picture

import "slices"

// upright puts the boxes in the order of their arrows, so that these run down the page. A write stands above the read that
// saw it. Boxes of a cycle stay as they are, and so do the boxes of a picture that leaves some out.
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
			return
		}
		order = append(order, next)
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
