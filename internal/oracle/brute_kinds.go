package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// PossibleAt is [Possible], and [PossibleSaturated] for the levels in between, for
// operations of all kinds. A read of a counter at these levels is like one of a list: it
// shows the sum of what came in the order up to one increment, and is from all of these.
// What a scan shows of one place it shows of this place alone: below prefix two places need
// not be of one state, but that at monotonic atomic view each place is read when all others
// were. Read uncommitted asks nothing of a value that nobody left, nor of what a list shows
// after the first time.
func PossibleAt(h History, l Level) (bool, error) {
	if l.chooses() {
		return Possible(h, l)
	}
	return possibleWeak(asRegisters(h), l, lesser{}, false)
}

// possibleWeak is for levels below prefix. byCause: see [PossibleByCause].
func possibleWeak(h History, l Level, who lesser, byCause bool) (bool, error) {
	cells := cellsOf(h)
	return someOutcome(h, func(txns []*workload.Txn) bool {
		w := weakTrial{level: l, base: l.base(), cells: cells, who: who, byCause: byCause}
		for i := range h {
			if h[i].Status == event.Unknown && !slices.Contains(txns, &h[i]) {
				for _, o := range h[i].Ops {
					v := version{cellOf(&o), o.Value}
					if leavesValue(&o) && !slices.ContainsFunc(txns, v.writtenBy) {
						w.leftOut = append(w.leftOut, v)
					}
				}
			}
		}
		for _, t := range txns {
			seen, ok := seenIn(t, cells, cmp.Or(who.promised(t), w.base))
			if !ok {
				return false
			}
			w.opReads = append(w.opReads, seen)
		}
		w.txns = txns
		if slices.ContainsFunc(txns, w.replacedLeftOut) {
			return false
		}
		return (w.base == "read-uncommitted" || allThere(txns)) && w.extend(nil, nil)
	})
}

// replacedLeftOut says whether t replaced what one wrote that takes no effect.
func (w *weakTrial) replacedLeftOut(t *workload.Txn) bool {
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool {
		return o.PrevVersion != 0 && slices.Contains(w.leftOut, version{cellOf(&o), o.PrevVersion})
	})
}

// cellsOf are all places of a history that somebody writes or reads, in order.
func cellsOf(h History) []string {
	var cells []string
	for i := range h {
		for _, o := range h[i].Ops {
			switch {
			case o.Kind == event.Range:
				for _, r := range o.Rows {
					cells = append(cells, r.Key)
				}
			case o.Data == event.Set:
				for _, v := range o.List {
					cells = append(cells, elementCell(o.Key, v))
				}
			default:
				cells = append(cells, cellOf(&o))
			}
		}
	}
	slices.Sort(cells)
	return slices.Compact(cells)
}

// opRead holds what an operation saw of a cell that others left: these contents, or with
// other, none of these; of a counter the sum.
type opRead struct {
	at    int
	cell  string
	want  []int64
	own   []int64 // of a list, behind want: what t had appended itself
	other bool
	list  bool
	sum   bool
	over  bool // t writes the cell then, and had not read it before
	again bool // t had read the list before
	torn  bool // t does not see what it had appended: all that is known is who appended the others
}

// seenIn are the opReads of t. ok is false where it contradicts itself as the base forbids.
func seenIn(t *workload.Txn, cells []string, base string) (seen []opRead, ok bool) {
	committed := base == "read-uncommitted" || base == "read-committed" // own writes need not be read
	unknown := t.Status == event.Unknown
	local := state{}
	own := map[string][]int64{}
	ok = true
	see := func(at int, cell string, want []int64, other bool) {
		if now, mine := local[cell]; mine {
			if slices.Equal(now, want) == other && !committed {
				ok = false
			}
			return
		}
		seen = append(seen, opRead{at: at, cell: cell, want: want, other: other})
	}
	for at, o := range t.Ops {
		switch o.Kind {
		case event.Write, event.Insert:
			local[o.Key] = []int64{o.Value}
		case event.Delete:
			local[o.Key] = []int64{}
			delete(own, o.Key)
		case event.Add:
			local[cellOf(&o)] = []int64{o.Value}
		case event.Remove:
			local[cellOf(&o)] = []int64{}
		case event.Append, event.Inc:
			own[o.Key] = append(own[o.Key], o.Value)
		case event.CAS:
			if o.Success {
				if !(o.Expected.Nothing && unknown) {
					see(at, o.Key, contentsOf(o.Expected), false)
				}
				local[o.Key] = []int64{o.Value}
				continue
			}
			if o.Seen.Known && !(o.Seen.Nothing && unknown) {
				see(at, o.Key, contentsOf(o.Seen), false)
			}
			if !(o.Expected.Nothing && unknown) {
				see(at, o.Key, contentsOf(o.Expected), true)
			}
		case event.Range:
			for _, cell := range cells {
				if cell[0] != 'x' || strings.Contains(cell, "/") {
					continue
				}
				i := slices.IndexFunc(o.Rows, func(r workload.Row) bool { return r.Key == cell })
				if i >= 0 {
					see(at, cell, []int64{o.Rows[i].Value}, false)
				} else if !unknown && covered(&o, cell) {
					see(at, cell, nil, false)
				}
			}
		default:
			switch {
			case o.Nothing() && unknown && o.Data != event.Set:
			case o.Data == event.Set:
				for _, cell := range cells {
					if !strings.HasPrefix(cell, o.Key+"/") {
						continue
					}
					i := slices.IndexFunc(o.List, func(v int64) bool { return elementCell(o.Key, v) == cell })
					if i >= 0 {
						see(at, cell, []int64{o.List[i]}, false)
					} else if !unknown {
						see(at, cell, nil, false)
					}
				}
			case o.Data == event.Counter:
				v := o.Value
				for _, d := range own[o.Key] {
					v -= d
				}
				seen = append(seen, opRead{at: at, cell: o.Key, want: []int64{v}, sum: true})
			case o.IsList && local[o.Key] != nil: // behind an own delete it holds what was appended since
				if !slices.Equal(o.List, own[o.Key]) && !committed {
					ok = false
				}
			case o.IsList:
				mine := own[o.Key]
				n := len(o.List) - len(mine)
				if n < 0 || !slices.Equal(o.List[n:], mine) {
					ok = ok && committed
					others := slices.DeleteFunc(slices.Clone(o.List), func(v int64) bool { return slices.Contains(appends(t, o.Key), v) })
					seen = append(seen, opRead{at: at, cell: o.Key, want: others, list: true, torn: true})
					continue
				}
				seen = append(seen, opRead{at: at, cell: o.Key, want: o.List[:n], own: mine, list: true})
			case o.Absent && len(own[o.Key]) > 0:
				ok = ok && committed
			case o.Absent:
				see(at, o.Key, nil, false)
			default:
				see(at, o.Key, []int64{o.Value}, false)
			}
		}
	}
	for i := range seen {
		s := &seen[i]
		first := !slices.ContainsFunc(seen[:i], func(x opRead) bool { return x.cell == s.cell && !x.other })
		s.over = first && slices.ContainsFunc(t.Ops[s.at:], func(o workload.Op) bool { return changes(&o) && cellOf(&o) == s.cell })
		s.again = slices.ContainsFunc(t.Ops[:s.at], func(o workload.Op) bool {
			return o.Kind == event.Read && o.IsList && o.Key == s.cell && !(o.Nothing() && unknown) // which is no evidence
		})
	}
	return seen, ok
}

// writtenBy says whether t wrote the value too.
func (v version) writtenBy(t *workload.Txn) bool {
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool { return leavesValue(&o) && cellOf(&o) == v.key && o.Value == v.value })
}

// leavesValue says whether o changes a cell and leaves something to be seen in it.
func leavesValue(o *workload.Op) bool {
	return changes(o) && o.Kind != event.Delete && o.Kind != event.Remove
}

func contentsOf(m workload.Maybe) []int64 {
	if m.Nothing {
		return nil
	}
	return []int64{m.Value}
}

// covered says whether a range that did not return the cell would have, had it been there.
func covered(o *workload.Op, cell string) bool {
	if cell < o.From || o.To != "" && cell >= o.To {
		return false
	}
	if n := len(o.Rows); o.Limit > 0 && n >= int(o.Limit) {
		last := o.Rows[n-1].Key
		return o.Desc && cell > last || !o.Desc && cell < last
	}
	return true
}

// weakTrial tries orders of commits at a level below prefix.
type weakTrial struct {
	level   Level
	base    string
	cells   []string
	leftOut []version // written by those of unknown outcome that take no effect: nobody can have seen them
	txns    []*workload.Txn
	opReads [][]opRead
	used    uint
	who     lesser
	byCause bool
}

// past is which places of the order are in that of one.
type past = uint

// extend tries to complete the order, of which these are in the given pasts.
func (w *weakTrial) extend(order []int, pasts []past) bool {
	if len(order) == len(w.txns) {
		inOrder := make([]*workload.Txn, len(order))
		for p, i := range order {
			inOrder[p] = w.txns[i]
		}
		return ascending(inOrder) && (w.base != "read-uncommitted" && len(w.who.free) == 0 || w.listsGrow(order))
	}
	for i := range w.txns {
		if w.used>>i&1 == 1 || !w.mayCome(i) {
			continue
		}
		w.used |= 1 << i
		if w.place(i, order, pasts) {
			return true
		}
		w.used &^= 1 << i
	}
	return false
}

func (w *weakTrial) before(a, b *workload.Txn) bool {
	return w.level.sessions() && precedes(a, b) || w.level.realTime() && ended(a, b, 0)
}

func (w *weakTrial) mayCome(i int) bool {
	for j := range w.txns {
		if j != i && w.used>>j&1 == 0 && (w.before(w.txns[j], w.txns[i]) || comesBehind(w.txns[i], w.txns[j])) {
			return false
		}
	}
	return true
}

// versionsOf are the places whose version of the cell fits, -1 for none's.
func (w *weakTrial) versionsOf(s *opRead, order []int) (at []int) {
	var now []int64
	fits := func() bool {
		if s.sum {
			return counted(now) == s.want[0]
		}
		return slices.Equal(now, s.want) != s.other
	}
	if fits() {
		at = append(at, -1)
	}
	for p, i := range order {
		wrote := false
		for _, o := range w.txns[i].Ops {
			if !changes(&o) || cellOf(&o) != s.cell {
				continue
			}
			wrote = true
			switch o.Kind {
			case event.Append:
				now = append(slices.Clone(now), o.Value)
			case event.Inc:
				now = []int64{counted(now) + o.Value}
			case event.Delete, event.Remove:
				now = nil
			default:
				now = []int64{o.Value}
			}
		}
		if wrote && fits() {
			at = append(at, p)
		}
	}
	return at
}

// versionsFor are those of versionsOf that the i-th transaction can have seen.
func (w *weakTrial) versionsFor(i int, s *opRead, order []int) []int {
	all := w.versionsOf(s, order)
	if w.byCause && len(s.want) == 0 && !s.other && !s.list && !s.sum && deletedLater(w.txns, w.txns[i], s.cell) {
		return slices.DeleteFunc(all, func(at int) bool { return at >= 0 })
	}
	return all
}

// place tries i as the next of the order, whatever its reads may be of.
func (w *weakTrial) place(i int, order []int, pasts []past) bool {
	next := append(slices.Clone(order), i)
	base := cmp.Or(w.who.promised(w.txns[i]), w.base)
	if base == "read-uncommitted" || base == "read-committed" {
		for at := range w.opReads[i] {
			s := &w.opReads[i][at]
			if !w.mayShow(i, s, order, base) {
				return false
			}
		}
	}
	if w.base == "read-uncommitted" || w.base == "read-committed" {
		return w.extend(next, pasts)
	}
	behind := past(0) // what it follows, whatever it reads
	for p, j := range order {
		if w.before(w.txns[j], w.txns[i]) {
			behind |= 1 << p
		}
	}
	var try func(at int, of []int) bool
	try = func(at int, of []int) bool {
		if at < len(w.opReads[i]) {
			if base == "read-uncommitted" || w.opReads[i][at].torn { // it follows nobody by that
				return try(at+1, append(slices.Clone(of), -1))
			}
			for _, v := range w.versionsFor(i, &w.opReads[i][at], order) {
				if try(at+1, append(slices.Clone(of), v)) {
					return true
				}
			}
			return false
		}
		own, ok := w.obeys(i, order, pasts, behind, of)
		return ok && w.extend(next, append(slices.Clone(pasts), own))
	}
	return try(0, nil)
}

// mayShow is for read committed and read uncommitted.
func (w *weakTrial) mayShow(i int, s *opRead, order []int, base string) bool {
	committed := base == "read-committed"
	if slices.ContainsFunc(s.want, func(v int64) bool { return !s.other && !s.sum && slices.Contains(w.leftOut, version{s.cell, v}) }) {
		return false
	}
	switch {
	case (s.list || s.sum) && !committed:
		return true
	case s.torn:
		return !slices.ContainsFunc(s.want, func(v int64) bool {
			return !slices.ContainsFunc(order, func(j int) bool { return slices.Contains(appends(w.txns[j], s.cell), v) })
		})
	case !committed && !s.over, !committed && !w.leaves(i, s):
		return true // that nobody left it, is for read committed to say
	}
	return len(w.versionsFor(i, s, order)) > 0
}

// leaves says whether another transaction than i leaves what was seen, or it was nothing.
func (w *weakTrial) leaves(i int, s *opRead) bool {
	if len(s.want) == 0 || s.other {
		return true
	}
	all := make([]int, len(w.txns))
	for i := range all {
		all[i] = i
	}
	return slices.ContainsFunc(all, func(j int) bool { return j != i && len(w.versionsOf(s, []int{j})) > 0 })
}

// shownBy are the places of the order that a read of the version at v is from: of a list
// or counter, all up to it.
func (w *weakTrial) shownBy(s *opRead, v int, order []int) (from past) {
	for p := range v + 1 {
		if p == v || (s.list || s.sum) && w.writes(order[p], s.cell) {
			from |= 1 << p
		}
	}
	return from
}

func (w *weakTrial) writes(i int, cell string) bool {
	return slices.ContainsFunc(w.txns[i].Ops, func(o workload.Op) bool { return changes(&o) && cellOf(&o) == cell })
}

// obeys says whether i, whose reads are of these versions, misses nothing of its past, and
// what that is.
func (w *weakTrial) obeys(i int, order []int, pasts []past, behind past, of []int) (own past, ok bool) {
	own = behind
	for at := range w.opReads[i] {
		own |= w.shownBy(&w.opReads[i][at], of[at], order)
	}
	if w.base == Causal {
		for p := range order {
			if own>>p&1 == 1 {
				own |= pasts[p]
			}
		}
	}
	if w.who.promised(w.txns[i]) != "" {
		return own, true
	}
	for at := range w.opReads[i] {
		s := &w.opReads[i][at]
		seen := own
		if w.base == AtomicView {
			seen = 0
			for b := range w.opReads[i] {
				if r := &w.opReads[i][b]; r.at < s.at || r.at == s.at && b != at {
					seen |= w.shownBy(r, of[b], order)
				}
			}
		}
		for p := of[at] + 1; p < len(order); p++ {
			if seen>>p&1 == 1 && w.writes(order[p], s.cell) {
				return 0, false
			}
		}
	}
	return own, true
}

// listsGrow says whether every first list read shows a beginning of the final list, and no
// element more often than it was appended.
func (w *weakTrial) listsGrow(order []int) bool {
	final := map[string][]int64{}
	for _, i := range order {
		for _, o := range w.txns[i].Ops {
			if o.Kind == event.Append {
				final[o.Key] = append(final[o.Key], o.Value)
			}
		}
	}
	for i := range w.txns {
		for _, s := range w.opReads[i] {
			if !s.list || s.again || s.torn {
				continue
			}
			now := final[s.cell]
			shown := slices.DeleteFunc(slices.Clone(s.want), func(v int64) bool { return !slices.Contains(now, v) })
			often := func(v int64) bool { return times(shown, v)+times(s.own, v) > times(now, v) }
			if slices.ContainsFunc(s.own, often) {
				return false
			}
			if len(shown) > len(now) || !slices.Equal(shown, now[:len(shown)]) {
				return false
			}
		}
	}
	return true
}

func times(list []int64, v int64) (n int) {
	for _, x := range list {
		if x == v {
			n++
		}
	}
	return n
}
