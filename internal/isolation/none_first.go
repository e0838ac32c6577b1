package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// behind says why a node of the graph stands behind others: an edge from one of them, or the choice
// that its transaction's read leaves. Both are nil where a commit stands behind its begin.
type behind struct {
	node   int
	from   int // one of those that it stands behind
	edge   *finding.Dependency
	choice *finding.Choice
}

// commit is the node of t's commit.
func (g *arcGraph) commit(t int) int {
	if g.split {
		return 2*t + 1
	}
	return 2 * t
}

// noneFirst are nodes that each stand behind another one of them, whichever sides are taken. So no
// order has a first one. It is empty if there are none. O(the square of the nodes, with arcs and sides).
func (g *arcGraph) noneFirst(open []*finding.Choice) (all []behind) {
	placed := make([]bool, len(g.out))
	why := func(n int) (b behind, held bool) {
		for _, c := range open {
			if 2*c.A == n && len(c.Writers) > 0 && !slices.ContainsFunc(c.Writers, func(t int) bool { return placed[g.commit(t)] }) {
				return behind{n, g.commit(c.Writers[0]), nil, c}, true
			}
		}
		for m, out := range g.out {
			if placed[m] {
				continue
			}
			if i := slices.IndexFunc(out, func(a arc) bool { return a.to == n }); i >= 0 {
				return behind{n, m, out[i].edge, nil}, true
			}
		}
		return b, false
	}
	for more := true; more; {
		more, all = false, all[:0]
		for n := range g.out {
			if placed[n] {
				continue
			}
			if b, held := why(n); held {
				all = append(all, b)
			} else {
				placed[n], more = true, true
			}
		}
	}
	return all
}

// cycleBehind is a cycle that some order would close among them.
func (w *witness) cycleBehind(all []behind) (cycle []*finding.Dependency) {
	at := map[int]int{}
	for i := range all {
		at[all[i].node] = i
	}
	seen, n := map[int]bool{}, all[0].node
	for ; !seen[n]; n = all[at[n]].from {
		seen[n] = true
	}
	for first := n; len(cycle) == 0 || n != first; n = all[at[n]].from {
		b := &all[at[n]]
		e := b.edge
		if c := b.choice; c != nil {
			e = &finding.Dependency{From: c.Writers[0], To: c.A, Label: finding.WR, Key: c.Key, Shown: -1, Assumed: true}
			if write, ok := external.FinalWrite(&w.Txns[e.From], c.Key); ok {
				e.Value = write.Value
			}
		}
		if e != nil {
			cycle = append(cycle, e)
		}
	}
	slices.Reverse(cycle)
	return cycle
}

// classBehind is the class that all cycles have that can be among them: at most one anti-dependency, or
// nobody knows how many.
func (g *arcGraph) classBehind(all []behind) class {
	missed := 0
	for i := range all {
		for _, a := range g.out[all[i].node] {
			if a.edge != nil && a.edge.Label&finding.RW != 0 {
				missed++
			}
		}
	}
	if missed > 1 {
		return classG2
	}
	return classSingle
}

// writeBehind writes why none can come first.
func (w *witness) writeBehind(b *strings.Builder, all []behind, indent string) {
	fmt.Fprintf(b, "%s- Each of these comes after another one, so no order is left: a contradiction!\n", indent)
	for i := range all {
		switch x := &all[i]; {
		case x.choice != nil:
			var names []string
			for _, t := range x.choice.Writers {
				names = append(names, w.short(t))
			}
			fmt.Fprintf(b, "%s  - %s read %s of %s.\n", indent, w.short(x.choice.A), keyName(x.choice.Key), oneOf(names))
		case x.edge != nil:
			fmt.Fprintf(b, "%s  - %s < %s.\n", indent, w.short(x.edge.From), w.short(x.edge.To))
		}
	}
}

// oneOf joins names. One of them is meant.
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
