package trial

import "slices"

// The budgets count steps. A step tries one transaction at one place, or looks at one state.
// Deciding takes some 50 ns a step of small histories.
const (
	budget    = 400_000   // of a whole history
	ofCore    = 100_000   // of each part that is tried while a core is shrunk
	ofCores   = 4_000_000 // of all that is done to find the cores of one level: 0.2 s
	maxNearby = 8         // of the transactions that used one cell, tried by themselves
)

// Core is a part that has no order.
type Core struct {
	Txns   []int    // indexes of the records
	Silent []Silent // reads of theirs that say nothing in it
	Rows   []string // keys at which others deleted rows: who inserts there conflicts with nobody
	base   Base     // who asked for less says nothing
}

// Decide looks for an order of the history at the level. Where there is none the core
// is why, nil if it is not known.
func (h *History) Decide(l Level) (Verdict, *Core) {
	v, _ := h.whole().solve(l, max(budget, 8*len(h.txns)))
	if v == Possible {
		return v, nil
	}
	if h.anyAsksLess(l.Base) {
		p := h.whole()
		p.asAsked = true
		if v, _ = p.solve(l, max(budget, 8*len(h.txns))); v == Possible {
			return AsAsked, nil
		}
	}
	left := ofCores
	if core := h.core(l, nil, &left); v == Impossible && core != nil {
		return v, core
	}
	for c := range h.cells {
		if left -= len(h.txns) / 4; left <= 0 {
			break
		}
		in := h.around(int32(c))
		if in == nil {
			continue
		}
		if core := h.core(l, in, &left); core != nil {
			return Impossible, core
		}
	}
	return Unknown, nil
}

// Core is why the history has no order at the level, as far as its reads count. nil if it is
// not known: there may be one.
func (h *History) Core(l Level) *Core {
	if l.Base < prefix && len(h.txns) > maxPasts {
		return nil
	}
	left := ofCores
	return h.core(l, nil, &left)
}

// around are the transactions that used the cell, nil if they are too many or all.
func (h *History) around(c int32) []bool {
	in, n := make([]bool, len(h.txns)), 0
	for i := range h.txns {
		t := &h.txns[i]
		for _, s := range t.observations {
			in[i] = in[i] || s.cell == c
		}
		for _, w := range t.writes {
			in[i] = in[i] || w.cell == c
		}
		if in[i] {
			n++
		}
	}
	if n > maxNearby || n < 2 || n == len(h.txns) {
		return nil
	}
	return in
}

// core leaves out some transactions, and at last one after the other, while there is no order.
// in nil stands for all. It returns nil when there may be an order from the beginning, and when
// left, in steps, is used up.
func (h *History) core(l Level, in []bool, left *int) *Core {
	if in == nil {
		in = make([]bool, len(h.txns))
		for i := range in {
			in[i] = true
		}
	}
	if !h.noOrder(l, in, left) {
		return nil
	}
	for size := max(1, len(in)/16); size > 0; size /= 2 {
		for end := len(in); end > 0; end -= size {
			from := max(0, end-size)
			was := slices.Clone(in[from:end])
			if !slices.Contains(was, true) {
				continue
			}
			clear(in[from:end])
			if !h.noOrder(l, in, left) {
				copy(in[from:end], was)
			}
			if *left <= 0 {
				return nil
			}
		}
	}
	p := h.part(in, l.Base)
	c := &Core{Silent: p.silent, Rows: p.rows(), base: l.Base}
	for _, i := range p.of {
		c.Txns = append(c.Txns, int(i))
	}
	return c
}

// noOrder says whether the part is known to have no order. It takes what that cost from left:
// the steps, and the pairs that are compared before.
func (h *History) noOrder(l Level, in []bool, left *int) bool {
	p := h.part(in, l.Base)
	p.asAsked = h.lacks != nil
	v, rest := p.solve(l, ofCore)
	*left -= ofCore - rest + len(h.txns) + len(p.of)*len(p.of)/4
	return v == Impossible
}

// Refutes says whether these transactions, the core of some level, have no order at l.
func (h *History) Refutes(c *Core, l Level) bool {
	in := make([]bool, len(h.txns))
	for _, i := range c.Txns {
		in[i] = true
	}
	p := h.part(in, c.base)
	p.asAsked = h.lacks != nil
	v, _ := p.solve(l, ofCore)
	return v == Impossible
}

// Torn says whether one of the transactions appended to a list twice. A read that shows a part
// of that is not of a committed state, and yet no dependency shows it. Monotonic atomic view
// and below may be Impossible for that alone.
func (h *History) Torn(c *Core) bool {
	for _, i := range c.Txns {
		for _, w := range h.txns[i].writes {
			if len(w.elems) > 1 {
				return true
			}
		}
	}
	return false
}
