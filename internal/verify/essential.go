package verify

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// maxEssentialSteps bounds the steps of all trials with less of a witness together. A trial of two to four
// transactions takes some dozens.
const maxEssentialSteps = 100_000

// Essential takes keys, and then reads, out of a witness whose orders are all tried. There is no order
// at any level then. The operations that are left matter: reads that the proof needs, and writes of
// their keys. Between their transactions are dependencies that hold in each order.
//
// To leave out a key, or a read, is to ask for less: if there is no order then, there was none before. A write
// cannot be left out alone, since others may have read past it.
func Essential(w *finding.Witness, levels []string) (ops []finding.Place, links []finding.Dependency) {
	x := lesser{levels: levels, left: maxEssentialSteps, of: *w}
	x.of.Txns = slices.Clone(w.Txns)
	for i := range x.of.Txns {
		at := make([]int, len(w.Txns[i].Ops))
		for j := range at {
			at[j] = j
		}
		x.places = append(x.places, at)
	}
	for _, key := range keysForCheck(w.Txns) {
		x.tryWithout(func(o *event.RecordOp) (event.RecordOp, bool) { return withoutKey(o, key) })
	}
	if !slices.Contains(levels, "read-uncommitted") { // where it counts which read of a key is the first
		for i := range x.of.Txns {
			for j := len(x.of.Txns[i].Ops) - 1; j >= 0; j-- {
				if read := &x.of.Txns[i].Ops[j]; onlyReads(read) {
					x.tryWithout(func(o *event.RecordOp) (event.RecordOp, bool) { return *o, o != read })
				}
			}
		}
	}
	for i := range x.places {
		for _, j := range x.places[i] {
			ops = append(ops, finding.Place{Txn: i, Op: j})
		}
	}
	return ops, linksOf(&x.of, levels)
}

// lesser is a witness from which operations are taken.
type lesser struct {
	of     finding.Witness
	places [][]int // by transaction and operation: where it was
	levels []string
	left   int
}

// tryWithout keeps what keep gives of each operation, if there is still no order.
func (x *lesser) tryWithout(keep func(o *event.RecordOp) (event.RecordOp, bool)) {
	if x.left <= 0 {
		return
	}
	less := x.of
	less.Txns = slices.Clone(x.of.Txns)
	places := make([][]int, len(less.Txns))
	for i := range less.Txns {
		t := &less.Txns[i]
		t.Ops = nil
		for j := range x.of.Txns[i].Ops {
			if o, kept := keep(&x.of.Txns[i].Ops[j]); kept {
				t.Ops, places[i] = append(t.Ops, o), append(places[i], x.places[i][j])
			}
		}
	}
	was := cellsOf(&x.of)
	if slices.ContainsFunc(cellsOf(&less), func(c triedCell) bool { return !slices.Contains(was, c) }) {
		return // a key would be of another kind
	}
	for _, level := range x.levels {
		less.Level = level
		steps, err := triedWithin(&less, x.left)
		if x.left -= max(steps, 1); err != nil {
			return
		}
	}
	x.of, x.places = less, places
}

// keysForCheck are the keys that the operations name, in the order of their first mention.
func keysForCheck(txns []event.Record) (keys []string) {
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for i := range txns {
		for j := range txns[i].Ops {
			o := &txns[i].Ops[j]
			if o.Kind != event.Range {
				add(o.Key)
			}
			for _, r := range o.Rows {
				add(r.Key)
			}
		}
	}
	return keys
}

// withoutKey is o as far as it is of other keys. A range stays, without its row.
func withoutKey(o *event.RecordOp, key string) (event.RecordOp, bool) {
	if o.Kind != event.Range {
		return *o, o.Key != key
	}
	rest := *o
	rest.Rows = slices.DeleteFunc(slices.Clone(o.Rows), func(r event.RecordRow) bool { return r.Key == key })
	return rest, true
}

func onlyReads(o *event.RecordOp) bool {
	return o.Kind == event.Read || o.Kind == event.Range || o.Kind == event.CAS && o.Flags&event.Success == 0
}

// linksOf are dependencies of w's transactions that hold in each order that all the levels allow, each with its reason
// in the operations of w:
//   - session order and real time, where the levels keep them, without those that follow from others;
//   - a read, and the one transaction that wrote what it saw;
//   - a read, and a write that replaced what the read can have seen: all that can have left it stand before
//     that write.
func linksOf(w *finding.Witness, levels []string) (links []finding.Dependency) {
	x := tried{w: w, session: true, time: true}
	weak := false
	for _, level := range levels {
		l, err := triedAt(level)
		if err != nil {
			return nil
		}
		x.session, x.time = x.session && l.session, x.time && l.time
		weak = weak || l.base == "read-uncommitted"
	}
	x.cells = cellsOf(w)
	for i := range w.Txns {
		x.effects = append(x.effects, effectsOf(&w.Txns[i]))
	}
	for i := range w.Txns {
		views, _ := x.viewsOf(i)
		x.views = append(x.views, views)
	}
	n := len(w.Txns)
	lines := newReach(n)
	for a := range n {
		for b := range n {
			if before, _ := x.before(a, b); before && a != b {
				lines[a][b] = true
			}
		}
	}
	all := slices.Clone(lines)
	for i := range all {
		all[i] = slices.Clone(lines[i])
	}
	for i := range n {
		for j := range x.views[i] {
			for _, e := range x.sourceOf(i, &x.views[i][j]) {
				if links = addLink(links, e); !weak {
					all[e.From][e.To] = true
				}
			}
		}
	}
	all.close()
	for i := range n {
		for j := range x.views[i] {
			for _, e := range x.replaced(i, &x.views[i][j], all) {
				links = addLink(links, e)
			}
		}
	}
	lines.close()
	for a := range n {
		for b := range n {
			if !lines[a][b] || lines.through(a, b) {
				continue
			}
			label := finding.Realtime
			if x.session && checkProcess(&w.Txns[a], &w.Txns[b]) == nil {
				label = finding.Process
			}
			links = append(links, finding.Dependency{From: a, To: b, Label: label, Shown: -1})
		}
	}
	return links
}

func addLink(links []finding.Dependency, e finding.Dependency) []finding.Dependency {
	same := func(f finding.Dependency) bool {
		return f.From == e.From && f.To == e.To && f.Label == e.Label && f.Key == e.Key
	}
	if slices.ContainsFunc(links, same) {
		return links
	}
	return append(links, e)
}

// sourceOf has the one transaction that wrote what i saw. For a list it has the one of each element.
func (x *tried) sourceOf(i int, v *view) (links []finding.Dependency) {
	key := x.cellOf(v.cell).key
	link := func(value string, wrote func(j int) bool) {
		from := -1
		for j := range x.w.Txns {
			if j != i && wrote(j) {
				if from >= 0 {
					return
				}
				from = j
			}
		}
		if from >= 0 {
			links = append(links, finding.Dependency{From: from, To: i, Label: finding.WR, Key: key, Value: value, Shown: -1})
		}
	}
	switch {
	case v.isSum || v.other:
	case v.isList:
		for _, e := range v.list {
			link(e, func(j int) bool { return slices.Contains(x.effects[j][v.cell].appends, e) })
		}
	case v.value != "":
		link(v.value, func(j int) bool { return wroteTo(&x.w.Txns[j], v.cell, v.value) })
	}
	return links
}

// replaced has the transactions that replaced what i can have seen, without those behind another one of them.
func (x *tried) replaced(i int, v *view, all reach) (links []finding.Dependency) {
	c := x.cellOf(v.cell)
	if v.isSum || v.isList || c.set && x.replacesSet(c.key) || !c.set && (!c.register || x.w.Rows) {
		return nil
	}
	var by []int
	for m := range x.w.Txns {
		e, writes := x.effects[m][v.cell]
		if m == i || !writes || x.w.Txns[m].Status != event.Committed || v.shownBy(e.value) {
			continue
		}
		later := func(j int) bool {
			return j != i && x.canHaveLeft(j, v) && !all[i][j] && !all[j][m]
		}
		if !slices.ContainsFunc(indexes(len(x.w.Txns)), later) {
			by = append(by, m)
		}
	}
	for _, m := range by {
		if slices.ContainsFunc(by, func(b int) bool { return all[b][m] && !all[m][b] }) {
			continue
		}
		value := cmp.Or(c.elem, x.effects[m][v.cell].value)
		links = append(links, finding.Dependency{From: i, To: m, Label: finding.RW, Key: c.key, Value: value, Shown: -1})
	}
	return links
}

// replacesSet says whether an operation changes more than one element of the set.
func (x *tried) replacesSet(key string) bool {
	return slices.ContainsFunc(x.w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Key == key && o.Writes() && !o.OfParts() })
	})
}

// shownBy says whether a value is one that the view may be of.
func (v *view) shownBy(value string) bool { return (v.value == value) != v.other }

// canHaveLeft says whether the view may be of something that j did to the cell.
func (x *tried) canHaveLeft(j int, v *view) bool {
	for k := range x.w.Txns[j].Ops {
		all := map[string]effect{}
		changed(&x.w.Txns[j].Ops[k], all)
		if e, writes := all[v.cell]; writes && v.shownBy(e.value) {
			return true
		}
	}
	return false
}

func (x *tried) cellOf(name string) triedCell {
	return x.cells[slices.IndexFunc(x.cells, func(c triedCell) bool { return c.name == name })]
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// reach says of each two transactions whether the one comes before the other.
type reach [][]bool

func newReach(n int) reach {
	r := make(reach, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

// close adds what follows from two steps.
func (r reach) close() {
	for k := range r {
		for a := range r {
			for b := range r {
				r[a][b] = r[a][b] || r[a][k] && r[k][b]
			}
		}
	}
}

// through says whether a third one lies between a and b.
func (r reach) through(a, b int) bool {
	return slices.ContainsFunc(indexes(len(r)), func(k int) bool { return k != a && k != b && r[a][k] && r[k][b] })
}
