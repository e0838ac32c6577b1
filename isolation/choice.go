package isolation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/infer"
)

// Choice is a pair of transactions that both installed a version of a register, or
// appended to a list, in an order that nobody saw: either A came before B, and so
// did who read A's version, or the other way round (PolySI, definition 9).
type Choice struct {
	Key  string
	A, B int // indexes into Witness.Txns
}

// side is one way out of a choice: first comes before then.
type side struct{ first, then int }

func (c *Choice) sides() [2]side { return [2]side{{c.A, c.B}, {c.B, c.A}} }

// sideEdges are what follows from first's version of the key coming before that of
// then: the write dependency and the anti-dependencies of its readers.
func (w *Witness) sideEdges(key string, x side) []Edge {
	write, ok := finalWrite(&w.Txns[x.then], key)
	if !ok { // an append; nothing is said of its readers here
		return []Edge{{From: x.first, To: x.then, Label: infer.WW, Key: key, Shown: -1, Assumed: true}}
	}
	es := []Edge{{From: x.first, To: x.then, Label: infer.WW, Key: key, Value: write.Value, Shown: -1, Assumed: true}}
	before, ok := finalWrite(&w.Txns[x.first], key)
	if !ok { // a delete, whose readers saw nothing
		return es
	}
	for r := range w.Txns {
		if o, ok := externalRead(&w.Txns[r], key); ok && r != x.then && r != x.first && o.Flags&event.NotFound == 0 && o.Value == before.Value {
			es = append(es, Edge{From: r, To: x.then, Label: infer.RW, Key: key, Value: write.Value, Shown: -1, Assumed: true})
		}
	}
	return es
}

// verifyChoices derives the edges and choices of the witness from its operations,
// and that whatever is chosen closes a cycle at the level.
func verifyChoices(w *Witness) error {
	for i := range w.Edges {
		e := &w.Edges[i]
		if err := verifyEdge(w, e); err != nil {
			return fmt.Errorf("edge %d, %s %s -> %s: %w", i, e.Label, w.Txns[e.From].ID, w.Txns[e.To].ID, err)
		}
	}
	for i := range w.Choices {
		if err := verifyChoice(w, &w.Choices[i]); err != nil {
			return fmt.Errorf("choice %d, of %s: %w", i, w.Choices[i].Key, err)
		}
	}
	if !w.contradicts(w.Level) {
		return fmt.Errorf("the choices leave an order that %s allows", w.Level)
	}
	return nil
}

func verifyChoice(w *Witness, c *Choice) error {
	a, b := &w.Txns[c.A], &w.Txns[c.B]
	x, wrote := finalWrite(a, c.Key)
	y, too := finalWrite(b, c.Key)
	if !wrote && !too && writesKey(a, c.Key) && writesKey(b, c.Key) { // appends
		x, y, wrote, too = &event.RecordOp{}, &event.RecordOp{Value: "another"}, true, true
	}
	switch {
	case c.A == c.B:
		return errors.New("one transaction is no choice")
	case a.Status == event.Aborted || b.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case a.Source != b.Source || a.Epoch != b.Epoch:
		return errors.New("the transactions are of two histories")
	case !wrote || !too:
		return fmt.Errorf("not both of %s and %s wrote it", a.ID, b.ID)
	case x.Value == y.Value:
		return fmt.Errorf("%s and %s wrote the same", a.ID, b.ID)
	}
	return nil
}

// arcGraph is the witness in the encoding of a level: one node a transaction, or B
// and C of it.
type arcGraph struct {
	split, chain bool // B and C; write dependencies lead from C to C
	commits      bool // so does real time
	out          [][]arc
}

type arc struct {
	to   int
	edge *Edge // nil for B -> C
}

// encodable says whether levels of the base are acyclic graphs over choices.
func encodable(b Base) bool { return b == Prefix || b == SnapshotIsolation || b == Serializable }

func (w *Witness) graphOf(l Level) *arcGraph {
	g := &arcGraph{split: l.Underlying() != Serializable, chain: l.Underlying() == Prefix, commits: l.Special == GeneralizedSI}
	g.out = make([][]arc, 2*len(w.Txns))
	if g.split {
		for t := range w.Txns {
			g.out[2*t] = append(g.out[2*t], arc{2*t + 1, nil})
		}
	}
	for i := range w.Edges {
		e := &w.Edges[i]
		if e.Label&infer.Process != 0 && l.Family == Plain || e.Label&infer.Realtime != 0 && !l.RealTime() {
			continue
		}
		g.add(e)
	}
	return g
}

// ends are the nodes that e joins.
func (g *arcGraph) ends(e *Edge) (from, to int) {
	switch {
	case !g.split:
		return 2 * e.From, 2 * e.To
	case e.Label&infer.RW != 0:
		return 2 * e.From, 2*e.To + 1
	case g.chain && e.Label == infer.WW, g.commits && e.Label == infer.Realtime:
		return 2*e.From + 1, 2*e.To + 1
	}
	return 2*e.From + 1, 2 * e.To
}

func (g *arcGraph) add(e *Edge) {
	from, to := g.ends(e)
	g.out[from] = append(g.out[from], arc{to, e})
}

// path is a shortest way from one node to another, as edges; ok is false when
// there is none.
func (g *arcGraph) path(from, to int) (way []*Edge, ok bool) {
	if from == to {
		return nil, true
	}
	type step struct {
		node, parent int
		edge         *Edge
	}
	seen := make([]bool, len(g.out))
	seen[from] = true
	queue := []step{{from, -1, nil}}
	for i := 0; i < len(queue); i++ {
		for _, a := range g.out[queue[i].node] {
			if seen[a.to] {
				continue
			}
			seen[a.to] = true
			queue = append(queue, step{a.to, i, a.edge})
			if a.to != to {
				continue
			}
			for j := len(queue) - 1; j > 0; j = queue[j].parent {
				if queue[j].edge != nil {
					way = append(way, queue[j].edge)
				}
			}
			slices.Reverse(way)
			return way, true
		}
	}
	return nil, false
}

// cycle is a cycle that one of the edges would close, that edge first.
func (g *arcGraph) cycle(es []Edge) []*Edge {
	for i := range es {
		from, to := g.ends(&es[i])
		if way, ok := g.path(to, from); ok {
			return append([]*Edge{&es[i]}, way...)
		}
	}
	return nil
}

// clone copies g, for one way out of a choice.
func (g *arcGraph) clone() *arcGraph {
	c := *g
	c.out = make([][]arc, len(g.out))
	for i := range g.out {
		c.out[i] = slices.Clone(g.out[i])
	}
	return &c
}

// deduction is one of the argument that the choices cannot be made.
type deduction struct {
	choice *Choice
	closed [2][]*Edge // the cycle that the side closes, nil for none
	taken  []Edge     // edges of the other side, where one closes a cycle
	// branches argue each side, where neither closes a cycle at once.
	branches [2][]deduction
}

// argue shows that every way out of the choices closes a cycle; nil when one does
// not, or the budget is spent.
func (w *Witness) argue(g *arcGraph, open []*Choice, budget *int) []deduction {
	var steps []deduction
	for progress := true; progress; {
		progress = false
		for i, c := range open {
			if *budget--; *budget < 0 {
				return nil
			}
			sides := c.sides()
			es := [2][]Edge{w.sideEdges(c.Key, sides[0]), w.sideEdges(c.Key, sides[1])}
			s := deduction{choice: c, closed: [2][]*Edge{g.cycle(es[0]), g.cycle(es[1])}}
			switch {
			case s.closed[0] != nil && s.closed[1] != nil:
				return append(steps, s)
			case s.closed[0] != nil:
				s.taken = es[1]
			case s.closed[1] != nil:
				s.taken = es[0]
			default:
				continue
			}
			for j := range s.taken {
				g.add(&s.taken[j])
			}
			steps = append(steps, s)
			open = slices.Delete(slices.Clone(open), i, i+1)
			progress = true
			break
		}
	}
	if len(open) == 0 {
		return nil
	}
	s := deduction{choice: open[0]}
	for i, x := range open[0].sides() {
		branch := g.clone()
		es := w.sideEdges(open[0].Key, x)
		for j := range es {
			branch.add(&es[j])
		}
		if s.branches[i] = w.argue(branch, slices.Clone(open[1:]), budget); s.branches[i] == nil {
			return nil
		}
	}
	return append(steps, s)
}

// maxArgument bounds the sides that are looked at.
const maxArgument = 20_000

// argument is why the choices cannot be made at the level, nil if they can.
func (w *Witness) argument(l Level) []deduction {
	if !encodable(l.Underlying()) {
		return nil
	}
	w = plainly(w)
	open := make([]*Choice, len(w.Choices))
	for i := range w.Choices {
		open[i] = &w.Choices[i]
	}
	budget := maxArgument
	return w.argue(w.graphOf(l), open, &budget)
}

// contradicts says whether no order of the witness's transactions satisfies the
// level.
func (w *Witness) contradicts(l Level) bool {
	if l.Special == 0 && (l.Base == ReadAtomic || l.Base == Causal) {
		return w.forcedCycle(l)
	}
	return w.argument(l) != nil
}

// forcedCycle decides read atomic and causal: if T3 reads a key from T1 and has T2,
// another writer of the key, in its past, T2 comes before T1 (dbcop, figures 2b and
// 2c). The past is what T3 reads from (and follows in its session or in real time), or
// all that leads there.
func (w *Witness) forcedCycle(l Level) bool {
	g := &arcGraph{out: make([][]arc, 2*len(w.Txns))}
	shown := w.shown
	if shown == nil {
		shown = w.show()
	}
	reads := shown.reads
	for i := range w.Edges {
		e := &w.Edges[i]
		if e.Label&infer.WR != 0 || e.Label&infer.Process != 0 && l.Family != Plain || e.Label&infer.Realtime != 0 && l.Family == Strong {
			g.add(e)
		}
	}
	for i := range reads {
		g.add(&reads[i])
	}
	past := g.clone()
	before := func(t2, t3 int) bool {
		if l.Base == ReadAtomic {
			return slices.ContainsFunc(past.out[2*t2], func(a arc) bool { return a.to == 2*t3 })
		}
		_, ok := past.path(2*t2, 2*t3)
		return ok
	}
	var forced []Edge
	for i := range reads {
		e := &reads[i] // T1 -> T3
		for _, x := range shown.writes[e.Key] {
			if t2 := x.txn; t2 != e.From && t2 != e.To && before(t2, e.To) {
				forced = append(forced, Edge{From: t2, To: e.From})
			}
		}
	}
	for i := range forced {
		if g.cycle(forced[i:i+1]) != nil {
			return true
		}
		g.add(&forced[i])
	}
	return false
}

// shown is what the operations of a witness's transactions show of registers.
type shown struct {
	writes map[string][]written // by key: final writes, in the order of the transactions
	reads  []Edge               // wr edges
}

type written struct {
	txn   int
	value string
}

// show looks at each operation once: transactions may have many.
func (w *Witness) show() *shown {
	s := &shown{writes: map[string][]written{}}
	for t := range w.Txns {
		for i := range w.Txns[t].Ops {
			o := &w.Txns[t].Ops[i]
			if o.Kind != event.Write {
				continue
			}
			all := s.writes[o.Key]
			if n := len(all); n > 0 && all[n-1].txn == t {
				all[n-1].value = o.Value
			} else {
				s.writes[o.Key] = append(all, written{t, o.Value})
			}
		}
	}
	for r := range w.Txns {
		seen := map[string]bool{}
		for i := range w.Txns[r].Ops {
			o := &w.Txns[r].Ops[i]
			all := s.writes[o.Key]
			if len(all) == 0 || seen[o.Key] {
				continue
			}
			if first, ok := externalRead(&w.Txns[r], o.Key); !ok || first != o {
				seen[o.Key] = !ok
				continue
			}
			seen[o.Key] = true
			if o.Flags&(event.NotFound|event.IsArray) != 0 {
				continue
			}
			for _, x := range all {
				if x.txn != r && x.value == o.Value {
					s.reads = append(s.reads, Edge{From: x.txn, To: r, Label: infer.WR, Key: o.Key, Value: o.Value, Shown: -1})
				}
			}
		}
	}
	return s
}

// NameChoices names a witness with choices by the weakest levels that it refutes.
func NameChoices(w *Witness) Name {
	looked := *plainly(w)
	w = &looked
	w.shown = w.show()
	n := Name{Kind: KindViolation}
	for _, family := range []Family{Plain, StrongSession, Strong} {
		for _, base := range []Base{ReadAtomic, Causal, Prefix, SnapshotIsolation, Serializable} {
			if l := (Level{Base: base, Family: family}); w.contradicts(l) {
				if !l.Refuted(n.Weakest) {
					n.Weakest = append(n.Weakest, l)
				}
				break
			}
		}
	}
	if l := (Level{Special: GeneralizedSI}); !l.Refuted(n.Weakest) && w.contradicts(l) {
		n.Weakest = slices.DeleteFunc(n.Weakest, func(x Level) bool { return x.Implies(l) })
		n.Weakest = append(n.Weakest, l)
	}
	family := Strong
	for _, l := range n.Weakest {
		if l.Special == 0 {
			family = min(family, l.Family)
		}
	}
	c, title := classG2, ""
	switch least(n.Weakest) {
	case ReadAtomic:
		c, title = classSingle, missedTitle(ReadAtomic, family)
	case Causal:
		c, title = classSingle, missedTitle(Causal, family)
	case Prefix:
		c = classNonadjacent
	case SnapshotIsolation:
		c, title = w.closingClass(w.ChoiceLevel(n.Weakest)), "conflicting writes"
	}
	n.Severity = severity(c, family)
	n.Anomaly = cycleName(c, family)
	if n.Title = title; title == "" {
		n.Title = anomalies[n.Anomaly].title
	}
	return n
}

// shownEdges are the edges that a finding lists: the cycle, or of a witness with
// choices the one that the argument ends with, in which some edges may be assumed.
func (w *Witness) shownEdges() []Edge {
	if len(w.Choices) == 0 {
		return w.Edges
	}
	w = plainly(w)
	var es []Edge
	for steps := w.argument(w.Level); len(steps) > 0; {
		last := steps[len(steps)-1]
		for _, e := range last.closed[0] {
			es = append(es, *e)
		}
		steps = last.branches[0]
	}
	return es
}

// closingClass is the class of the worse cycle of the two with which the argument
// ends, of those that snapshot isolation forbids.
func (w *Witness) closingClass(l Level) class {
	steps := w.argument(l)
	if len(steps) == 0 {
		return classNonadjacent
	}
	c := classNonadjacent
	for _, cycle := range steps[len(steps)-1].closed {
		var labels []infer.Label
		for _, e := range cycle {
			labels = append(labels, e.Label)
		}
		if x, _ := classify(labels); len(labels) > 0 {
			c = min(c, max(x, classSingle))
		}
	}
	return c
}

func least(ls []Level) Base {
	b := Serializable
	for _, l := range ls {
		b = min(b, l.Underlying())
	}
	return b
}

// ChoiceLevel is the level at which a witness with choices that refutes these is
// argued: the first of them, or the weakest above it that is a graph over choices. It
// stays as it is where that leaves an order: reads beside the edges refute the weaker
// one.
func (w *Witness) ChoiceLevel(weakest []Level) Level {
	l := weakest[0]
	if l.Special == 0 {
		l.Base = max(l.Base, Prefix)
	}
	if w.argument(l) == nil {
		return w.Level
	}
	return l
}
