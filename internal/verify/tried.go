package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// MaxTried bounds the transactions of a witness when all their orders are tried. maxTriedSteps
// bounds the steps of that.
const MaxTried, maxTriedSteps = 12, 2_000_000

// checkTried tries all orders of the witness's transactions. Some of the transactions need not
// have taken effect. No order explains their reads at the level. It skips reads that are marked
// as proving nothing, and reads of a value that no transaction here left.
func checkTried(w *finding.Witness) error { return checkTriedIn(w, maxTriedSteps) }

func checkTriedIn(w *finding.Witness, steps int) error {
	_, err := triedWithin(w, steps)
	return err
}

// triedWithin also says how many steps it took.
func triedWithin(w *finding.Witness, steps int) (taken int, err error) {
	if len(w.Txns) < 1 || len(w.Txns) > MaxTried {
		return 0, fmt.Errorf("%d transactions: all orders are tried of at most %d", len(w.Txns), MaxTried)
	}
	x, err := triedAt(w.Level)
	if err != nil {
		return 0, err
	}
	x.w, x.steps, x.used = w, steps, make([]bool, len(w.Txns))
	for i := range w.Txns {
		t := &w.Txns[i]
		switch {
		case t.Status == event.Aborted:
			return 0, fmt.Errorf("%s aborted", t.ID)
		case t.Source != w.Txns[0].Source || t.Epoch != w.Txns[0].Epoch:
			return 0, errors.New("the transactions are of two histories")
		case !addNumbers(t):
			return 0, fmt.Errorf("%s adds something that is not a number", t.ID)
		}
	}
	x.cells = cellsOf(w)
	for i := range w.Txns {
		x.effects = append(x.effects, effectsOf(&w.Txns[i]))
	}
	for i := range w.Txns {
		v, wrong := x.viewsOf(i)
		x.views, x.wrong = append(x.views, v), append(x.wrong, wrong)
	}
	found := x.extend(nil, nil)
	switch {
	case x.steps <= 0:
		return steps, errors.New("there are too many orders to try")
	case found:
		return steps - x.steps, fmt.Errorf("there is an order that %s allows", w.Level)
	}
	return steps - x.steps, nil
}

// addNumbers says whether all that t adds to counters are numbers. Sums wrap around as the
// machine's do: two that are the same number are the same then, too, and no order is lost.
func addNumbers(t *event.Record) bool {
	return !slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		_, ok := added(nil, o.Value)
		return o.Kind == event.Inc && !ok
	})
}

// triedAt is a trial with a level's name taken apart.
func triedAt(level string) (x tried, err error) {
	if level == "generalized-snapshot-isolation" {
		return tried{base: "snapshot-isolation", time: true, commits: true}, nil
	}
	base, session := strings.CutPrefix(level, "strong-session-")
	if !session {
		base, x.time = strings.CutPrefix(level, "strong-")
	}
	switch x.base, x.session = base, session || x.time; base {
	case "read-uncommitted", "read-committed", "monotonic-atomic-view", "read-atomic", "causal", "prefix", "snapshot-isolation", "serializable":
		return x, nil
	}
	return x, fmt.Errorf("%q is not a level at which orders are tried", level)
}

// tried is a trial of the orders of a witness's transactions.
type tried struct {
	w                      *finding.Witness
	base                   string
	session, time, commits bool
	cells                  []triedCell
	effects                []map[string]effect
	views                  [][]view
	wrong                  []bool // by transaction: it contradicts itself
	used                   []bool
	steps                  int
}

// triedCell is a register, counter or list, or an element of a set.
type triedCell struct {
	name, key, elem string
	set             bool
	register        bool
}

// effect is a transaction's effect on a cell.
type effect struct {
	value   string // "" is nothing
	appends []string
	inc     int64
	counts  bool
}

// view is an operation's view of a cell, as others left it.
type view struct {
	op    int
	cell  string
	value string   // "" is nothing
	told  string   // the version that the operation tells
	other bool     // any but the value
	list  []string // with isList
	own   []string // with isList, behind list: what the transaction had appended itself
	sum   int64    // with isSum

	isList, isSum, first, over bool
	torn                       bool // of a list that was misread: only the writers of the other elements follow
}

func cellName(key, elem string) string { return key + cell + elem }

func cellsOf(w *finding.Witness) []triedCell {
	sets, odd := map[string]bool{}, map[string]bool{}
	each := func(fn func(o *event.RecordOp)) {
		for i := range w.Txns {
			for j := range w.Txns[i].Ops {
				fn(&w.Txns[i].Ops[j])
			}
		}
	}
	each(func(o *event.RecordOp) {
		switch {
		case o.OfParts():
			sets[o.Key] = true
		case o.Kind == event.Append || o.Kind == event.Inc || o.Data == event.Counter || o.Data == event.List || o.Flags&event.IsArray != 0:
			odd[o.Key] = true
		}
	})
	var all []triedCell
	put := func(key, elem string, set bool) {
		c := triedCell{cellName(key, elem), key, elem, set, !set && !odd[key]}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	each(func(o *event.RecordOp) {
		switch {
		case o.Kind == event.Range:
			for _, r := range o.Rows {
				put(r.Key, "", false)
			}
		case !sets[o.Key]:
			put(o.Key, "", false)
		case o.Kind == event.Read:
			for _, v := range o.Elems {
				put(o.Key, v, true)
			}
		default:
			put(o.Key, o.Value, true)
		}
	})
	return all
}

// effectsOf are the effects of t, by cell.
func effectsOf(t *event.Record) map[string]effect {
	all := map[string]effect{}
	for i := range t.Ops {
		changed(&t.Ops[i], all)
	}
	return all
}

// changed adds what o does.
func changed(o *event.RecordOp, all map[string]effect) {
	c := cellName(o.Key, "")
	switch o.Kind {
	case event.Write, event.Insert:
		all[c] = effect{value: o.Value}
	case event.Delete:
		all[c] = effect{}
	case event.CAS:
		if o.Flags&event.Success != 0 {
			all[c] = effect{value: o.Value}
		}
	case event.Add:
		all[cellName(o.Key, o.Value)] = effect{value: o.Value}
	case event.Remove:
		all[cellName(o.Key, o.Value)] = effect{}
	case event.Append:
		e := all[c]
		e.appends = append(slices.Clone(e.appends), o.Value)
		all[c] = e
	case event.Inc:
		e := all[c]
		text, _ := added(nil, o.Value)
		by, _ := number(text) // of a record without a number no orders are tried
		e.inc, e.counts = e.inc+by, true
		all[c] = e
	}
}

// viewsOf are the views of the i-th transaction. wrong says that it does not read what it
// wrote.
func (x *tried) viewsOf(i int) (views []view, wrong bool) {
	t := &x.w.Txns[i]
	silent := t.Status == event.Unknown
	own := map[string]effect{}
	see := func(v view) {
		if e, mine := own[v.cell]; mine && !v.isList && !v.isSum {
			if x.w.Rows && e.value != "" && v.value != "" {
				return // a row that the transaction inserted, and the one of its snapshot, are both there
			}
			wrong = wrong || (e.value == v.value) == v.other
			return
		}
		if v.value == "" && !v.isList && !v.isSum && silent || x.saysNothing(i, v) {
			return
		}
		views = append(views, v)
	}
	for at := range t.Ops {
		o := &t.Ops[at]
		c := cellName(o.Key, "")
		switch o.Kind {
		case event.CAS:
			text := func(s string) string {
				if s == "null" {
					return ""
				}
				return s
			}
			if o.Flags&event.Success != 0 {
				see(view{op: at, cell: c, value: text(o.Expected)})
			} else {
				if o.Seen != "" {
					see(view{op: at, cell: c, value: text(o.Seen)})
				}
				see(view{op: at, cell: c, value: text(o.Expected), other: true})
			}
		case event.Range:
			for _, k := range x.cells {
				if !k.register {
					continue
				}
				r := slices.IndexFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == k.key })
				if r >= 0 {
					see(view{op: at, cell: k.name, value: o.Rows[r].Value, told: o.Rows[r].Version})
				} else if covers(o, k.key) {
					see(view{op: at, cell: k.name})
				}
			}
		case event.Read:
			x.viewOf(t, at, own, silent, see, &wrong)
		}
		changed(o, own)
	}
	for j := range views {
		v := &views[j]
		v.first = !slices.ContainsFunc(views[:j], func(u view) bool { return u.cell == v.cell && !u.other })
		rest := effectsOf(&event.Record{Ops: t.Ops[v.op:]})
		_, writes := rest[v.cell]
		v.over = v.first && writes
	}
	return views, wrong
}

// viewOf takes a read.
func (x *tried) viewOf(t *event.Record, at int, own map[string]effect, silent bool, see func(view), wrong *bool) {
	o := &t.Ops[at]
	c := cellName(o.Key, "")
	set := slices.ContainsFunc(x.cells, func(k triedCell) bool { return k.key == o.Key && k.set })
	i := slices.IndexFunc(x.cells, func(k triedCell) bool { return k.name == c })
	counts := slices.ContainsFunc(x.effects, func(e map[string]effect) bool { return e[c].counts }) ||
		slices.ContainsFunc(x.w.Txns, func(t event.Record) bool {
			return slices.ContainsFunc(t.Ops, func(p event.RecordOp) bool { return p.Key == o.Key && p.Data == event.Counter })
		})
	switch {
	case set:
		for _, k := range x.cells {
			if k.key != o.Key || !k.set {
				continue
			}
			v := view{op: at, cell: k.name}
			if slices.Contains(o.Elems, k.elem) {
				v.value = k.elem
			}
			see(v)
		}
	case counts:
		if o.Flags&event.NotFound != 0 && silent {
			return
		}
		sum, ok := number(o.Value)
		if !ok && o.Flags&event.NotFound == 0 {
			return // its value is not a sum, and refutes no order
		}
		see(view{op: at, cell: c, isSum: true, sum: sum - own[c].inc})
	case i >= 0 && !x.cells[i].register:
		if o.Nothing() && silent {
			return
		}
		n := len(o.Elems) - len(own[c].appends)
		if n < 0 || !slices.Equal(o.Elems[n:], own[c].appends) {
			*wrong = true
			appends := effectsOf(t)[c].appends
			others := slices.DeleteFunc(slices.Clone(o.Elems), func(e string) bool { return slices.Contains(appends, e) })
			see(view{op: at, cell: c, isList: true, list: others, torn: true})
		} else {
			see(view{op: at, cell: c, isList: true, list: o.Elems[:n], own: own[c].appends})
		}
	default:
		see(view{op: at, cell: c, value: o.Value, told: o.Version}) // "" where nothing was found
	}
}

// saysNothing says whether the i-th transaction's view is not to be looked at.
func (x *tried) saysNothing(i int, v view) bool {
	if repeated(x.w, i, strings.TrimSuffix(v.cell, cell)) {
		return true
	}
	if v.value == "" { // nothing, a list or a sum
		return false
	}
	if x.toldOtherwise(v) {
		return true
	}
	for j := range x.effects {
		if j != i && wroteTo(&x.w.Txns[j], v.cell, v.value) {
			return false
		}
	}
	return true // who wrote it is not here
}

// before says whether a comes before b, and whether it is in b's past then.
func (x *tried) before(a, b int) (order, past bool) {
	from, to := &x.w.Txns[a], &x.w.Txns[b]
	if x.time && checkTime(from, to, x.w.Drift) == nil {
		order, past = true, !x.commits
	}
	if x.session && checkProcess(from, to) == nil {
		order, past = true, true
	}
	return order, past
}

// contents of a cell: a value, a list or a sum.
type contents struct {
	value string
	list  []string
	sum   int64
}

func (c contents) with(e effect) contents {
	return contents{e.value, slices.Concat(c.list, e.appends), c.sum + e.inc}
}

func (x *tried) shows(v *view, c contents) bool {
	switch {
	case v.isSum:
		return c.sum == v.sum
	case v.isList:
		shown := slices.DeleteFunc(slices.Clone(v.list), func(e string) bool { return !x.appendedHere(v.cell, e) })
		return slices.Equal(c.list, shown)
	case v.other:
		return c.value != v.value
	}
	return c.value == v.value
}

func (x *tried) appendedHere(cell, elem string) bool {
	return slices.ContainsFunc(x.effects, func(e map[string]effect) bool { return slices.Contains(e[cell].appends, elem) })
}

// versions are the contents that the cell has had: of nobody, and of each place of the order
// that changed it.
func (x *tried) versions(cell string, order []int) (at []int, all []contents) {
	at, all = []int{-1}, []contents{{}}
	for p, i := range order {
		if e, ok := x.effects[i][cell]; ok {
			at, all = append(at, p), append(all, all[len(all)-1].with(e))
		}
	}
	return at, all
}

// extend says whether some order that begins so explains all; pasts are by place.
func (x *tried) extend(order []int, pasts []map[int]bool) bool {
	done := true
	for i := range x.used {
		done = done && (x.used[i] || x.w.Txns[i].Status == event.Unknown && !x.mustCount(i))
	}
	if done && (x.base != "read-uncommitted" || x.grows(order)) {
		return true
	}
next:
	for i := range x.used {
		if x.steps--; x.steps <= 0 {
			return true
		}
		if x.used[i] || x.stampedBefore(i) || x.wrong[i] && x.base != "read-uncommitted" && x.base != "read-committed" {
			continue
		}
		for j := range x.used {
			if before, _ := x.before(j, i); before && j != i && !x.used[j] {
				continue next
			}
		}
		x.used[i] = true
		if x.put(i, order, pasts) {
			return true
		}
		x.used[i] = false
	}
	return false
}

// put tries i as the next of the order.
func (x *tried) put(i int, order []int, pasts []map[int]bool) bool {
	next := append(slices.Clone(order), i)
	switch x.base {
	case "read-uncommitted", "read-committed":
		for j := range x.views[i] {
			if !x.alone(&x.views[i][j], order) {
				return false
			}
		}
		return x.extend(next, nil)
	case "prefix", "snapshot-isolation", "serializable":
		return x.hasState(i, order) && x.extend(next, nil)
	}
	return x.choose(i, order, pasts, nil)
}

// alone says whether a read by itself can be, at the levels at which reads are.
func (x *tried) alone(v *view, order []int) bool {
	committed := x.base == "read-committed"
	if !committed && (v.isList || v.isSum || !v.over) {
		return true
	}
	_, all := x.versions(v.cell, order)
	if v.torn {
		return !slices.ContainsFunc(v.list, func(e string) bool {
			return x.appendedHere(v.cell, e) && !slices.Contains(all[len(all)-1].list, e)
		})
	}
	return slices.ContainsFunc(all, func(c contents) bool { return x.shows(v, c) })
}

// hasState says whether i can have read one state that the order has been in.
func (x *tried) hasState(i int, order []int) bool {
	for q := len(order); ; q-- {
		fits := true
		for j := range x.views[i] {
			v := &x.views[i][j]
			_, all := x.versions(v.cell, order[:q])
			fits = fits && x.shows(v, all[len(all)-1])
		}
		if fits {
			return true
		}
		if q == 0 || x.base == "serializable" {
			return false
		}
		if _, past := x.before(order[q-1], i); past {
			return false
		}
		if x.base == "snapshot-isolation" && x.conflict(i, order[q-1], order) {
			return false
		}
	}
}

// conflict says whether i, the next of the order, changes what j did. A transaction that leaves
// a row where there is none does not conflict. The same holds where a transaction outside the
// witness may have deleted the row.
func (x *tried) conflict(i, j int, order []int) bool {
	for cell, e := range x.effects[i] {
		other, too := x.effects[j][cell]
		if !too {
			continue
		}
		_, all := x.versions(cell, order)
		k := slices.IndexFunc(x.cells, func(c triedCell) bool { return c.name == cell })
		gone := all[len(all)-1].value == "" || slices.Contains(x.w.Deleted, x.cells[k].key)
		if x.cells[k].set && e.value != "" && other.value != "" {
			continue // both leave the element in the set
		}
		if !(x.w.Rows && x.cells[k].register && e.value != "" && gone) {
			return true
		}
	}
	return false
}

// choose takes a version for each read of i, and looks whether it misses nothing then.
func (x *tried) choose(i int, order []int, pasts []map[int]bool, of []int) bool {
	if x.steps--; x.steps <= 0 {
		return true
	}
	if len(of) < len(x.views[i]) {
		v := &x.views[i][len(of)]
		at, all := x.versions(v.cell, order)
		for k := range all {
			if x.shows(v, all[k]) && x.choose(i, order, pasts, append(slices.Clone(of), at[k])) {
				return true
			}
		}
		return false
	}
	own := map[int]bool{}
	for p, j := range order {
		if _, past := x.before(j, i); past {
			own[p] = true
		}
	}
	for k := range of {
		x.from(&x.views[i][k], of[k], order, own)
	}
	if x.base == "causal" {
		for p := range order {
			for q := range pasts[p] {
				if own[p] {
					own[q] = true
				}
			}
		}
	}
	for k := range of {
		v, past := &x.views[i][k], own
		if x.base == "monotonic-atomic-view" {
			past = map[int]bool{}
			for l := range of {
				if u := &x.views[i][l]; u.op <= v.op {
					x.from(u, of[l], order, past)
				}
			}
		}
		at, _ := x.versions(v.cell, order)
		if slices.ContainsFunc(at, func(p int) bool { return p > of[k] && past[p] }) {
			return false
		}
	}
	return x.extend(append(slices.Clone(order), i), append(slices.Clone(pasts), own))
}

// from adds the places whose changes a read of the version shows.
func (x *tried) from(v *view, of int, order []int, places map[int]bool) {
	at, _ := x.versions(v.cell, order)
	for _, p := range at {
		if p >= 0 && (p == of || p < of && (v.isList || v.isSum)) {
			places[p] = true
		}
	}
}
