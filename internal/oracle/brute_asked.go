package oracle

import (
	"maps"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// PossibleAsked is [PossibleAt] where transactions asked for levels of their own, by id: a base,
// or "". One that asked for less than a level writes at its place of the order, and reads what
// was committed there: at each operation some version of its cell. One that asked for read uncommitted
// reads anything, but what it wrote over came before it. The promises to those that asked for less are kept each in an order of their
// own, as the graphs of [CheckAsked] are.
func PossibleAsked(h History, asked map[string]string, l Level) (bool, error) {
	bases := map[string]bool{l.base(): true}
	for i := range h {
		if b := asked[h[i].ID]; b != "" && h[i].Status != event.Aborted && l.forbids(b) {
			bases[b] = true
		}
	}
	for _, b := range slices.Sorted(maps.Keys(bases)) {
		at := Level(l.family() + b)
		if b == l.base() {
			at = l
		} else if l == generalized {
			at = Level(b)
		}
		if holds, err := possibleAsked(h, asked, at); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// possibleAsked keeps the promises to those that asked for the level.
func possibleAsked(h History, asked map[string]string, l Level) (bool, error) {
	g := Graph{asked: asked}
	var who lesser
	for i := range h {
		switch {
		case h[i].Status == event.Aborted || !g.asksLess(h[i].ID, l.base()):
		case g.asksLess(h[i].ID, "read-committed"):
			who.free = append(who.free, h[i].ID)
		default:
			who.committed = append(who.committed, h[i].ID)
		}
	}
	if len(who.free)+len(who.committed) == 0 {
		return PossibleAt(h, l)
	}
	h = asRegisters(h)
	if l.chooses() {
		return possible(h, l, execution{who: who, cells: cellsOf(h)})
	}
	return possibleWeak(h, l, who, false)
}

// lesser are the transactions that asked for less than a level, by what they asked for: read
// committed or more, or less than that.
type lesser struct{ committed, free []string }

// promised is the base that t is promised if it asked for less than the level, else "".
func (w *lesser) promised(t *workload.Txn) string {
	switch {
	case slices.Contains(w.committed, t.ID):
		return "read-committed"
	case slices.Contains(w.free, t.ID):
		return "read-uncommitted"
	}
	return ""
}

// commitLess is commit for one that asked for less than the level, and is promised the base.
func (e *execution) commitLess(i int, base string) (state, bool) {
	t := e.txns[i]
	for j := range e.txns {
		if e.place[j] < 0 && (e.level.sessions() && precedes(e.txns[j], t) || e.level.realTime() && ended(e.txns[j], t, 0)) {
			return nil, false
		}
	}
	w := weakTrial{level: Level(base), base: base, cells: e.cells, txns: e.txns}
	order := make([]int, len(e.writes))
	for j, p := range e.place {
		if p >= 0 {
			order[p] = j
		}
	}
	seen, _ := seenIn(t, e.cells, base)
	for at := range seen {
		if !w.mayShow(i, &seen[at], order, base) {
			return nil, false
		}
	}
	result := state{}
	for _, o := range t.Ops {
		switch {
		case !changes(&o):
		case o.Kind == event.Delete || o.Kind == event.Remove:
			result[cellOf(&o)] = nil
		default:
			result[cellOf(&o)] = []int64{o.Value}
		}
	}
	return result, true
}

// lesserShow says whether every list that those read who asked for less is a beginning of the final list, as far
// as its appends took effect. Nobody takes an element out of a list again. So a read at read uncommitted shows
// which elements stand before the others, too (as in Elle), though they need not be committed.
func (e *execution) lesserShow() bool {
	w := weakTrial{txns: e.txns, opReads: make([][]opRead, len(e.txns))}
	order := make([]int, len(e.txns))
	for i, p := range e.place {
		order[p] = i
		if base := e.who.promised(e.txns[i]); base != "" {
			w.opReads[i], _ = seenIn(e.txns[i], e.cells, base)
		}
	}
	return w.listsGrow(order)
}
