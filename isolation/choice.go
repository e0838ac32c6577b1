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
// did who read A's version, or the other way round (PolySI, definition 9). With
// Writers it is a read: A read what one of them had left in a register.
type Choice struct {
	Key     string
	A, B    int   // indexes into Witness.Txns
	Writers []int // also; all that may have written what A read
}

// RepeatedRead is a transaction's read of a key.
type RepeatedRead struct {
	Txn int // index into Witness.Txns
	Key string
}

// side is one way out of a choice: first comes before then; of a read, then read
// what first had written.
type side struct {
	first, then int
	read        bool
}

func (c *Choice) sides() []side {
	if len(c.Writers) == 0 {
		return []side{{c.A, c.B, false}, {c.B, c.A, false}}
	}
	var all []side
	for _, t := range c.Writers {
		all = append(all, side{t, c.A, true})
	}
	return all
}

// taken is a side that was taken.
type taken struct {
	side
	key string
}

// repeated says whether several may have written what the transaction read of the key.
func (w *Witness) repeated(txn int, key string) bool {
	return slices.Contains(w.Repeated, RepeatedRead{txn, key})
}

// edgesOf are what follows from a side, with those that were taken before.
func (w *Witness) edgesOf(g *arcGraph, key string, x side) []Edge {
	var es []Edge
	anti := func(reader, then int) {
		if write, ok := finalWrite(&w.Txns[then], key); ok && reader != then {
			es = append(es, Edge{From: reader, To: then, Label: infer.RW, Key: key, Value: write.Value, Shown: -1, Assumed: true})
		}
	}
	if !x.read {
		es = w.sideEdges(key, x)
		for _, t := range g.taken {
			if t.read && t.key == key && t.first == x.first {
				anti(t.then, x.then)
			}
		}
		return es
	}
	if write, ok := finalWrite(&w.Txns[x.first], key); ok {
		es = append(es, Edge{From: x.first, To: x.then, Label: infer.WR, Key: key, Value: write.Value, Shown: -1, Assumed: true})
	}
	for _, t := range g.taken {
		if !t.read && t.key == key && t.first == x.first {
			anti(x.then, t.then)
		}
	}
	return es
}

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
		if o, ok := externalRead(&w.Txns[r], key); ok && r != x.then && r != x.first && o.Flags&event.NotFound == 0 && o.Value == before.Value && !w.repeated(r, key) {
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
	if len(c.Writers) > 0 {
		return verifyWriters(w, c)
	}
	a, b := &w.Txns[c.A], &w.Txns[c.B]
	_, wrote := finalWrite(a, c.Key)
	_, too := finalWrite(b, c.Key)
	if !wrote && !too && writesKey(a, c.Key) && writesKey(b, c.Key) { // appends
		wrote, too = true, true
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
	}
	for r := range w.Txns {
		if !w.repeated(r, c.Key) && w.severalLeft(r, c.Key) {
			return fmt.Errorf("several left what %s read", w.Txns[r].ID)
		}
	}
	return nil
}

// severalLeft says whether several transactions left what the r-th one read of the key.
func (w *Witness) severalLeft(r int, key string) bool {
	o, ok := externalRead(&w.Txns[r], key)
	if !ok || o.Flags&(event.NotFound|event.IsArray) != 0 {
		return false
	}
	n := 0
	for t := range w.Txns {
		if left, wrote := finalWrite(&w.Txns[t], key); wrote && left.Flags&event.NotFound == 0 && left.Value == o.Value && w.Txns[t].Status != event.Aborted {
			n++
		}
	}
	return n > 1
}

// verifyWriters: A read what each of the writers had left, and no other transaction
// that is known here.
func verifyWriters(w *Witness, c *Choice) error {
	a := &w.Txns[c.A]
	o, ok := externalRead(a, c.Key)
	switch {
	case !ok || o.Flags&(event.NotFound|event.IsArray) != 0:
		return fmt.Errorf("%s did not read a value", a.ID)
	case a.Status == event.Aborted:
		return errors.New("an aborted transaction takes part")
	case !w.repeated(c.A, c.Key):
		return errors.New("it is not said that several may have written what was read")
	}
	for t := range w.Txns {
		b := &w.Txns[t]
		left, wrote := finalWrite(b, c.Key)
		wrote = wrote && left.Flags&event.NotFound == 0 && left.Value == o.Value
		switch listed := slices.Contains(c.Writers, t); {
		case t == c.A && listed:
			return fmt.Errorf("%s did not read from itself", a.ID)
		case listed && !wrote:
			return fmt.Errorf("%s did not leave what %s read", b.ID, a.ID)
		case listed && (b.Status == event.Aborted || a.Source != b.Source || a.Epoch != b.Epoch):
			return fmt.Errorf("%s is none that %s can have read from", b.ID, a.ID)
		case !listed && wrote && t != c.A && b.Status != event.Aborted:
			return fmt.Errorf("%s left what %s read as well", b.ID, a.ID)
		}
	}
	return nil
}

// arcGraph is the witness in the encoding of a level: one node a transaction, or B
// and C of it.
type arcGraph struct {
	split, chain bool // B and C; write dependencies lead from C to C
	commits      bool // so does real time
	out          [][]arc
	taken        []taken
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
	c.taken = slices.Clone(g.taken)
	return &c
}

// deduction is one of the argument that the choices cannot be made.
type deduction struct {
	choice *Choice
	closed [][]*Edge // by side: the cycle that it closes, nil for none
	left   int       // the side that is left, where all others close one; -1 for none
	taken  []Edge    // its edges
	// branches argue each side that closes no cycle at once, where there are several.
	branches [][]deduction
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
			*budget -= len(c.sides()) - 2
			s, ways := deduction{choice: c, left: -1}, 0
			for j, x := range c.sides() {
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
	s := deduction{choice: open[0], left: -1}
	if *budget -= len(open[0].sides()) - 2; *budget < 0 {
		return nil
	}
	for i, x := range open[0].sides() {
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
func (g *arcGraph) take(c *Choice, i int, es []Edge) {
	for j := range es {
		g.add(&es[j])
	}
	g.taken = append(g.taken, taken{c.sides()[i], c.Key})
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
			if o.Flags&(event.NotFound|event.IsArray) != 0 || w.repeated(r, o.Key) {
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
		steps = nil
		if last.branches == nil {
			for _, e := range last.closed[0] {
				es = append(es, *e)
			}
			continue
		}
		for _, b := range last.branches {
			if steps == nil {
				steps = b
			}
		}
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
