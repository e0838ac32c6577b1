package solve

import "slices"

// reachable says which node reaches which, with a bit for each pair of nodes: n*n/8 bytes. Edges
// are added to it and taken from it, the latest first.
type reachable struct {
	words int
	rows  []uint64 // by node: what it reaches, itself too
	low   []int32  // by node: the words of its row before it are 0
	in    [][]Node // by node: where edges come from through which it is reached
	heads []Node   // of these edges, in order
	was   []uint64 // the words before they changed
	wasAt []uint32 // and where they are
	steps int64

	// By the latest edge its tail reaches the nodes in fresh that it did not reach before. They are a row, and
	// freshAt are its words that are not 0. All in changed reach these nodes now.
	fresh   []uint64
	freshAt []int32
	changed []Node
	asked   []int32 // by node: the stamp of the edge for which it was asked whether it changes
	stamp   int32
}

// mark is a state of reach that the search can come back to.
type mark struct{ edges, undo int }

func newReachable(n int) *reachable {
	c := &reachable{words: (n + 63) / 64, low: make([]int32, n), in: make([][]Node, n), asked: make([]int32, n)}
	c.rows, c.fresh = make([]uint64, n*c.words), make([]uint64, c.words)
	for v := range n {
		c.rows[v*c.words+v/64] |= 1 << (v % 64)
		c.low[v] = int32(v / 64)
	}
	return c
}

// has says whether u reaches v, or is v.
func (c *reachable) has(u, v Node) bool {
	return c.rows[int(u)*c.words+int(v)/64]>>(uint32(v)%64)&1 != 0
}

// add puts an edge in that closes no cycle.
func (c *reachable) add(u, v Node) {
	c.changed = c.changed[:0]
	if c.has(u, v) {
		return
	}
	c.in[v], c.heads = append(c.in[v], u), append(c.heads, v)
	c.refresh(u, v)
	c.take(u)
	c.stamp++
	for i := 0; i < len(c.changed); i++ {
		for _, w := range slices.Backward(c.in[c.changed[i]]) {
			if c.asked[w] == c.stamp {
				continue
			}
			if c.asked[w] = c.stamp; !c.has(w, v) {
				c.take(w)
			}
		}
	}
}

// refresh makes fresh what v reaches and u does not.
func (c *reachable) refresh(u, v Node) {
	for _, i := range c.freshAt {
		c.fresh[i] = 0
	}
	c.freshAt = c.freshAt[:0]
	mine, from := c.row(u), c.row(v)
	for i := int(c.low[v]); i < c.words; i++ {
		if w := from[i] &^ mine[i]; w != 0 {
			c.fresh[i], c.freshAt = w, append(c.freshAt, int32(i))
		}
	}
}

func (c *reachable) row(x Node) []uint64 { return c.rows[int(x)*c.words : int(x+1)*c.words] }

// take gives x all that is fresh. All else that the head of the edge reaches is reached from x already.
func (c *reachable) take(x Node) {
	c.low[x] = min(c.low[x], c.freshAt[0])
	row, at := c.row(x), uint32(int(x)*c.words)
	for _, i := range c.freshAt {
		if old, w := row[i], c.fresh[i]; w&^old != 0 {
			c.wasAt, c.was = append(c.wasAt, at+uint32(i)), append(c.was, old)
			row[i] = old | w
		}
	}
	c.changed = append(c.changed, x)
	c.steps += int64(len(c.freshAt)/64 + 1)
}

// keep makes the present state one that is not left any more.
func (c *reachable) keep() { c.was, c.wasAt = c.was[:0], c.wasAt[:0] }

func (c *reachable) mark() mark { return mark{len(c.heads), len(c.was)} }

// cut goes back to the mark.
func (c *reachable) cut(m mark) {
	for i := len(c.was) - 1; i >= m.undo; i-- {
		c.rows[c.wasAt[i]] = c.was[i]
	}
	for _, v := range c.heads[m.edges:] {
		c.in[v] = c.in[v][:len(c.in[v])-1]
	}
	c.was, c.wasAt, c.heads = c.was[:m.undo], c.wasAt[:m.undo], c.heads[:m.edges]
}
