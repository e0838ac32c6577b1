package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// shownEdge is an edge as a finding prints it.
type shownEdge struct {
	finding.Dependency
	evidence string
	derived  bool
}

// shownEdges are the edges that a finding with the name lists: the cycle. For a witness with
// choices, it is one of the cycles that the argument closes, or two, and some edges may be
// assumed. In a cycle where levels force orders, the write that a reader missed comes first, closed by the
// reader's past. Behind that come the edges that order the two writers.
func (w *witness) shownEdges(n *Name) (all []shownEdge) {
	of := w
	var beside []finding.Dependency
	if len(w.Choices) > 0 {
		of, beside = w.argued(n)
	}
	es := of.Edges
	if at := of.mostSaturated(); at >= 0 {
		all, es = of.missing(at)
	}
	if len(es) == len(of.Edges) {
		for i := range es {
			all = append(all, shownEdge{ofSet(&es[i]), of.reason(i), derived(&es[i])})
		}
		es = nil
	}
	for _, e := range slices.Concat(es, beside) {
		all = append(all, shownEdge{ofSet(&e), because(of, &e), derived(&e)})
	}
	return all
}

// reason is why the i-th edge is there. It is made once: transactions may have thousands of operations.
func (w *witness) reason(i int) string {
	if w.why == nil {
		w.why = make([]string, len(w.Edges))
	}
	if w.why[i] == "" {
		w.why[i] = because(w, &w.Edges[i])
	}
	return w.why[i]
}

// mostSaturated is the forced edge to tell the cycle by, -1 if none is forced. An edge with
// real time in its past comes before one with session order. Then comes the edge whose past
// says the most.
func (w *witness) mostSaturated() int {
	best, most := -1, -1
	for i := range w.Edges {
		e := &w.Edges[i]
		if w.Anomaly != 0 || e.Label&finding.Saturated == 0 {
			continue
		}
		much := int(saturatedBase(w, e))
		for _, p := range e.Past {
			switch {
			case p.Label&finding.Realtime != 0:
				much = max(much, 200+much%100)
			case p.Label&finding.Process != 0:
				much = max(much, 100+much%100)
			}
		}
		if much > most {
			best, most = i, much
		}
	}
	return best
}

// missing is the write that the reader of the forced edge missed, with the reader's past, and
// the rest of the cycle. The rest orders the two writers: the reader missed the later one.
func (w *witness) missing(at int) (cycle []shownEdge, rest []finding.Dependency) {
	e := &w.Edges[at]
	for i := range e.Past {
		cycle = append(cycle, shownEdge{ofSet(&e.Past[i]), because(w, &e.Past[i]), derived(&e.Past[i])})
	}
	rw := finding.Dependency{From: e.Shown, To: e.From, Label: finding.RW, Key: e.Key, Value: lastValue(plainly(w), e.From, e.Key), Shown: -1}
	rw = ofSet(&rw)
	text := fmt.Sprintf(
		"%s read %s = %s of %s, and %s, which comes after that writer, also wrote %s",
		w.short(e.Shown),
		keyName(rw.Key),
		clip(e.Value),
		w.short(e.To),
		w.short(e.From),
		keyName(rw.Key),
	)
	cycle = append(cycle, shownEdge{rw, text, true})
	return cycle, append(slices.Clone(w.Edges[at+1:]), w.Edges[:at]...)
}

// lastValue is the value that the transaction of the plain witness left in the key.
func lastValue(w *witness, txn int, key string) string {
	for _, o := range slices.Backward(w.Txns[txn].Ops) {
		if o.Key == key && (o.Kind == event.Write || o.Kind == event.Append) {
			return o.Value
		}
	}
	return "" // an element of a set
}

// shownFirst is w with the transactions of the edges that are shown first, in their order.
func (w *witness) shownFirst(name *Name) *witness {
	if len(w.Choices) > 0 || w.mostSaturated() < 0 {
		return w
	}
	var order []int
	for _, e := range w.shownEdges(name) {
		for _, n := range []int{e.From, e.To} {
			if !slices.Contains(order, n) {
				order = append(order, n)
			}
		}
	}
	shown := len(order)
	for n := range w.Txns {
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	p := *w.Witness
	p.Txns = nil
	for _, n := range order {
		p.Txns = append(p.Txns, w.Txns[n])
	}
	p.Edges = renumbered(w.Edges, order)
	return &witness{Witness: &p, about: shown}
}

// renumbered are the edges where the transactions stand in this order.
func renumbered(edges []finding.Dependency, order []int) []finding.Dependency {
	out := slices.Clone(edges)
	for i := range out {
		e := &out[i]
		e.From, e.To = slices.Index(order, e.From), slices.Index(order, e.To)
		if e.Shown >= 0 {
			e.Shown = slices.Index(order, e.Shown)
		}
		e.Past = renumbered(e.Past, order)
	}
	return out
}

// argued is w with, for edges, a cycle that the argument over choices closes. The cycle fits
// the name, and the argument's last cycle comes before others. Where a level forces orders,
// which need no choice, the cycle is made of these. The name may be of several cycles: in any order
// of the writers one of them is there. Then the cycle has its class, and beside is one with its
// session order or real time.
func (w *witness) argued(n *Name) (_ *witness, beside []finding.Dependency) {
	p := plainly(w)
	of := *p.Witness
	of.Choices, of.Edges = nil, nil
	for _, l := range n.Weakest {
		if l.Special == 0 && (l.Base == ReadAtomic || l.Base == Causal) {
			of.Edges = p.saturatedCycle(l)
			return &witness{Witness: &of, placed: p.placed}, nil
		}
	}
	fits, whole := 0, false
	for _, cycle := range closedCycles(p.argument(w.choiceLevel(n.Weakest))) {
		var labels []finding.Label
		var es []finding.Dependency
		for _, e := range cycle {
			labels, es = append(labels, e.Label), append(es, *e)
		}
		named, ordered := n.fits(classify(labels))
		fit := 1 // how well: anyhow, by its class, by its name
		if named {
			fit = 2
			if ordered {
				fit = 3
			}
		}
		if ordered && beside == nil {
			beside = es
		}
		if fit > fits {
			fits, whole, of.Edges = fit, ordered, es
		}
	}
	if whole {
		beside = nil
	}
	return &witness{Witness: &of, placed: p.placed}, beside
}

// fits says whether the name is of this class, and whether it is of this family.
func (n *Name) fits(c class, f Family) (named, ordered bool) {
	name, suffix := strings.Replace(n.Anomaly, "-item", "", 1), ""
	for _, s := range familySuffix[StrongSession:] {
		if strings.HasSuffix(name, s) {
			suffix = s
		}
	}
	return strings.Replace(classNames[c], "-item", "", 1)+suffix == name, familySuffix[f] == suffix
}

// closedCycles are those with which the argument rules sides out, the last step's first.
func closedCycles(steps []deduction) (all [][]*finding.Dependency) {
	for _, s := range slices.Backward(steps) {
		for _, b := range s.branches {
			all = append(all, closedCycles(b)...)
		}
		for _, c := range s.closed {
			if len(c) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}
