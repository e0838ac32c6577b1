package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/finding"
)

// taken is a side that was taken.
type taken struct {
	side
	key string
}

// deduction is one of the argument that the choices cannot be made.
type deduction struct {
	choice *finding.Choice
	closed [][]*finding.Dependency // by side: the cycle that it closes, nil for none
	left   int                     // the side that is left, where all others close one; -1 for none
	taken  []finding.Dependency    // its edges
	// branches argue each side that closes no cycle at once, where there are several.
	branches [][]deduction
	// behind are nodes that each stand behind another one. The choice is nil then. closed has one of the
	// cycles that an order can close, and class is the class of them all.
	behind []behind
	class  class
}

// argue shows that every way out of the choices closes a cycle; nil when one does
// not, or the budget is spent.
func (w *witness) argue(g *arcGraph, open []*finding.Choice, budget *int) []deduction {
	var steps []deduction
	for progress := true; progress; {
		progress = false
		for i, c := range open {
			if *budget--; *budget < 0 {
				return nil
			}
			*budget -= len(sidesOf(c)) - 2
			s, ways := deduction{choice: c, left: -1}, 0
			for j, x := range sidesOf(c) {
				es := w.edgesOf(g, c.Key, x)
				cycle := g.cycle(es)
				if s.closed = append(s.closed, cycle); cycle == nil {
					ways++
					s.left, s.taken = j, es
				}
			}
			if ways == 0 {
				return append(steps, s)
			}
			if ways > 1 {
				continue
			}
			g.take(c, s.left, s.taken)
			steps = append(steps, s)
			open = slices.Delete(slices.Clone(open), i, i+1)
			progress = true
			break
		}
	}
	if len(open) == 0 {
		return nil
	}
	if all := g.noneFirst(open); len(all) > 0 {
		return append(steps, deduction{closed: [][]*finding.Dependency{w.cycleBehind(all)}, left: -1, behind: all, class: g.classBehind(all)})
	}
	s := deduction{choice: open[0], left: -1}
	if *budget -= len(sidesOf(open[0])) - 2; *budget < 0 {
		return nil
	}
	for i, x := range sidesOf(open[0]) {
		es := w.edgesOf(g, open[0].Key, x)
		s.closed, s.branches = append(s.closed, g.cycle(es)), append(s.branches, nil)
		if s.closed[i] != nil {
			continue
		}
		branch := g.clone()
		branch.take(open[0], i, es)
		if s.branches[i] = w.argue(branch, slices.Clone(open[1:]), budget); s.branches[i] == nil {
			return nil
		}
	}
	return append(steps, s)
}

// take takes the i-th side of the choice, with its edges.
func (g *arcGraph) take(c *finding.Choice, i int, es []finding.Dependency) {
	for j := range es {
		g.add(&es[j])
	}
	g.taken = append(g.taken, taken{sidesOf(c)[i], c.Key})
}

// maxArgument bounds the sides that are looked at.
const maxArgument = 20_000

// argument is why the choices cannot be made at the level, nil if they can.
func (w *witness) argument(l Level) []deduction {
	if b := l.Underlying(); !b.Chooses() && (!b.Selects() || b.Limits()) {
		return nil
	}
	w = plainly(w)
	open := make([]*finding.Choice, len(w.Choices))
	for i := range w.Choices {
		open[i] = &w.Choices[i]
	}
	budget := maxArgument
	return w.argue(w.graphOf(l), open, &budget)
}

// contradicts says whether no order of the witness's transactions satisfies the
// level.
func (w *witness) contradicts(l Level) bool {
	if l.Special == 0 && (l.Base == ReadAtomic || l.Base == Causal) {
		return w.saturatedCycle(l) != nil
	}
	return w.argument(l) != nil
}
