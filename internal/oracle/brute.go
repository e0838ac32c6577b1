package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/workload"
)

// maxBrute is the most transactions that Possible takes: 8! orders.
const maxBrute = 8

// Possible says by trial whether some execution at the level shows what h
// shows. It knows nothing of dependencies: it tries every choice of the unknown
// outcomes and every order of commits, and replays the operations.
//
// Serializable: each transaction reads the state as of its own place in the
// order. Snapshot isolation: each reads the state as of some earlier place, such
// that no commit in between wrote a key that it writes. Prefix: the same with
// any commits in between. Consistent view: see extendVisible. Read committed: each read returns some committed state
// of its key, as of any earlier place; read uncommitted asks only that lists show
// the order of commits, and that what a transaction overwrote comes before it.
// An append and an increment add to what is there when they commit.
// With sessions, a
// transaction's state holds every committed transaction before it in its
// session; an unknown outcome may take effect late and binds no successor.
// It errors beyond 8 transactions that may have
// committed.
func Possible(h History, l Level) (bool, error) { return PossibleAsVisited(h, l, Visits{}) }

// PossibleAsVisited is Possible for stores whose registers move on as those who visit
// them one after the other see it.
func PossibleAsVisited(h History, l Level, v Visits) (bool, error) {
	return possible(h, l, execution{visits: v})
}

// PossibleInRows is Possible for stores in which a row that was deleted, and one that was
// inserted at its key, are two: under snapshot isolation a transaction may insert a row at
// a key of which it saw another one, when that is gone.
func PossibleInRows(h History, l Level) (bool, error) { return possible(h, l, execution{rows: true}) }

// PossibleByCause is [Possible], or [PossibleInRows], of stores in which a transaction does not
// find nothing because of deletes that all began when it had ended. Levels without real time know
// no such thing.
func PossibleByCause(h History, l Level, rows bool) (bool, error) {
	if !l.chooses() {
		return possibleWeak(asRegisters(h), l, lesser{}, true)
	}
	return possible(h, l, execution{rows: rows, byCause: true})
}

// possible tries orders of a store that is as like says.
func possible(h History, l Level, like execution) (bool, error) {
	return someOutcome(h, func(txns []*workload.Txn) bool {
		written := map[version]bool{}
		note := func(t *workload.Txn) {
			for _, o := range t.Ops {
				if o.Kind != event.Read {
					written[version{o.Key, o.Value}] = true
				}
			}
		}
		for i := range h {
			if h[i].Status == event.Aborted {
				note(&h[i])
			}
		}
		for _, t := range txns {
			note(t)
		}
		e := like
		e.level, e.written, e.txns, e.place, e.states = l, written, txns, make([]int, len(txns)), []state{{}}
		for i := range e.place {
			e.place[i] = -1
		}
		if l.limits() {
			return e.extendVisible()
		}
		return e.extend()
	})
}

// someOutcome says whether holds is true for the transactions that took effect in
// some choice for those of unknown outcome. It errors beyond maxBrute that may have.
func someOutcome(h History, holds func([]*workload.Txn) bool) (bool, error) {
	var sure, unsure []*workload.Txn
	for i := range h {
		switch h[i].Status {
		case event.Committed:
			sure = append(sure, &h[i])
		case event.Unknown:
			unsure = append(unsure, &h[i])
		}
	}
	if n := len(sure) + len(unsure); n > maxBrute {
		return false, fmt.Errorf("oracle: %d transactions are too many to try all orders, the most is %d", n, maxBrute)
	}
	for choice := range 1 << len(unsure) {
		txns := slices.Clone(sure)
		for n, t := range unsure {
			if choice>>n&1 == 1 {
				txns = append(txns, t)
			}
		}
		if holds(txns) {
			return true, nil
		}
	}
	return false, nil
}

// state is the committed contents of the store: a register holds one element, a
// list all of its own, and a key that was never written none.
type state map[string][]int64

// execution is a prefix of an order of commits.
type execution struct {
	visits  Visits
	level   Level
	rows    bool
	byCause bool   // see PossibleByCause
	who     lesser // see PossibleAsked
	cells   []string
	written map[version]bool // by those that take part, and those that aborted
	txns    []*workload.Txn
	place   []int             // of each transaction in the order, -1 while it is not in it
	states  []state           // states[p] is the store after p commits
	writes  []map[string]bool // writes[p] are the keys that commit p wrote
	sees    []int             // sees[p] are the places that commit p saw, as bits: see extendVisible
}

// extend tries to complete the order by each transaction in turn.
func (e *execution) extend() bool {
	p := len(e.writes)
	if p == len(e.txns) {
		return e.ascending() && e.visits.fit(e.txns, e.place) && (e.level.base() != "read-uncommitted" || e.listsShown()) && e.lesserShow()
	}
	for i := range e.txns {
		if e.place[i] >= 0 {
			continue
		}
		result, ok := e.commit(i)
		if !ok {
			continue
		}
		if e.place[i] = p; e.with(i, result, e.extend) {
			return true
		}
		e.place[i] = -1
	}
	return false
}

// with says whether the rest of the order is possible behind transaction i, which leaves the result.
func (e *execution) with(i int, result state, rest func() bool) bool {
	p := len(e.writes)
	next, keys, ok := state{}, map[string]bool{}, true
	for k, v := range e.states[p] {
		next[k] = v
	}
	for k, v := range result {
		if isAppended(e.txns[i], k) {
			v = append(slices.Clone(next[k]), appends(e.txns[i], k)...)
		}
		if _, added := increments(e.txns[i], k); added {
			now, fits := installed(e.txns[i], k, next[k], v)
			v, ok = now, ok && fits
		}
		next[k], keys[k] = v, true
	}
	if !ok {
		return false
	}
	e.states, e.writes = append(e.states, next), append(e.writes, keys)
	done := rest()
	e.states, e.writes = e.states[:p+1], e.writes[:p]
	return done
}

// ascending says whether the versions that the transactions left of each cell, where
// they are numbered, are in the order of their numbers.
func (e *execution) ascending() bool {
	order := make([]*workload.Txn, len(e.txns))
	for i, p := range e.place {
		order[p] = e.txns[i]
	}
	return ascending(order)
}

// ascending is for transactions in the order of their commits.
func ascending(order []*workload.Txn) bool {
	latest := map[string]int64{}
	for _, t := range order {
		left := map[string]int64{}
		for i := range t.Ops {
			if o := &t.Ops[i]; changes(o) && o.Kind != event.Inc && o.Kind != event.Append { // lists have an order of their own
				left[cellOf(o)] = o.Version
			}
		}
		for cell, v := range left {
			if v != 0 && v <= latest[cell] {
				return false
			}
			latest[cell] = max(latest[cell], v)
		}
	}
	return true
}

// commit tries to put transaction i at the end of the order and returns what it
// writes. Which of several fitting snapshots it read makes no difference to
// what follows: none of its written keys changed since any of them.
func (e *execution) commit(i int) (state, bool) {
	p := len(e.writes)
	if base := e.who.promised(e.txns[i]); base != "" {
		return e.commitLess(i, base)
	}
	if !e.level.forbids("prefix") && e.level.base() != "repeatable-read" {
		return e.commitCommitted(i)
	}
	earliest := 0
	for j := range e.txns {
		late := e.level.realTime() && ended(e.txns[j], e.txns[i], 0)
		if late && e.place[j] < 0 {
			return nil, false
		}
		if late && e.level != generalized || e.level.sessions() && precedes(e.txns[j], e.txns[i]) {
			if e.place[j] < 0 {
				return nil, false
			}
			earliest = max(earliest, e.place[j]+1)
		}
	}
	if b := e.level.base(); b == "serializable" || b == "repeatable-read" { // without ranges they are one
		earliest = p
	}
	for q := p; q >= earliest; q-- {
		if result, ok := replayInRows(e.txns[i], e.shown(i, e.states[q]), e.newRow); ok {
			return result, true
		}
		if q > 0 && e.level.snapshot() && e.conflicts(e.txns[i], q-1) {
			break
		}
	}
	return nil, false
}

// ofLater stands for what the i-th transaction finds where nothing is but for one who began when it
// had ended: no read shows it.
const ofLater = -1 << 40

// shown is the store, as the i-th transaction can have seen it.
func (e *execution) shown(i int, store state) state {
	if !e.byCause {
		return store
	}
	seen := maps.Clone(store)
	for cell, now := range seen {
		if len(now) == 0 && deletedLater(e.txns, e.txns[i], cell) {
			seen[cell] = []int64{ofLater}
		}
	}
	return seen
}

// deletedLater says whether all of them who delete what is in the cell began when t had ended.
func deletedLater(txns []*workload.Txn, t *workload.Txn, cell string) bool {
	return !slices.ContainsFunc(txns, func(d *workload.Txn) bool {
		return slices.ContainsFunc(d.Ops, func(o workload.Op) bool {
			return (o.Kind == event.Delete || o.Kind == event.Remove) && cellOf(&o) == cell && !ended(t, d, 0)
		})
	})
}

// precedes is the session order as far as it binds: a committed transaction
// before a later one of its session, by seq where both have one, else by their times.
func precedes(a, b *workload.Txn) bool {
	if a.Session == "" || a.Session != b.Session || a.Status != event.Committed {
		return false
	}
	if a.Seq > 0 && b.Seq > 0 {
		return a.Seq < b.Seq
	}
	return a.End != 0 && b.End != 0 && a.End <= b.Start
}

// conflicts says whether t, the next in the order, writes what the commit at the place did. Two that
// leave the same element in a set do not: either leaves what the other one does. Under
// [PossibleInRows] t does not where it inserts a row that is not there.
func (e *execution) conflicts(t *workload.Txn, place int) bool {
	cells, other := e.writes[place], e.txns[slices.Index(e.place, place)]
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool {
		return changes(&o) && cells[cellOf(&o)] && !(leavesElement(t, cellOf(&o)) && leavesElement(other, cellOf(&o))) &&
			!e.newRow(t, o.Key)
	})
}

// newRow says whether t, the next in the order, inserts a row at the key, and it is not there. This tells
// rows under [PossibleInRows] only.
func (e *execution) newRow(t *workload.Txn, key string) bool {
	return e.rows && len(e.states[len(e.states)-1][key]) == 0 && inserts(t, key) && !e.goneLater(t, key)
}

// leavesElement says whether the cell is of an element of a set, and t leaves it there.
func leavesElement(t *workload.Txn, cell string) (there bool) {
	for i := range t.Ops {
		if o := &t.Ops[i]; (o.Kind == event.Add || o.Kind == event.Remove) && cellOf(o) == cell {
			there = o.Kind == event.Add
		}
	}
	return there
}

// goneLater says, where deletes have effects only behind their beginnings, whether all that
// delete the row began when t had ended.
func (e *execution) goneLater(t *workload.Txn, key string) bool {
	return e.byCause && deletedLater(e.txns, t, key)
}

// inserts says whether t leaves a row at the key.
func inserts(t *workload.Txn, key string) bool {
	left := false
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && changes(o) {
			left = o.Kind == event.Write || o.Kind == event.Insert || o.Kind == event.CAS
		}
	}
	return left
}

// removes says whether t deletes the key, at any time. It could not where another row is in its snapshot.
func removes(t *workload.Txn, key string) bool {
	return slices.ContainsFunc(t.Ops, func(o workload.Op) bool { return o.Key == key && o.Kind == event.Delete })
}

// changes says whether o leaves something behind.
func changes(o *workload.Op) bool {
	return o.Kind != event.Read && o.Kind != event.Range && (o.Kind != event.CAS || o.Success)
}

// cellOf is where the store keeps what o changes: each element of a set has a
// place of its own.
func cellOf(o *workload.Op) string {
	if o.Kind == event.Add || o.Kind == event.Remove {
		return elementCell(o.Key, o.Value)
	}
	return o.Key
}

func elementCell(set string, v int64) string { return fmt.Sprintf("%s/%d", set, v) }

// replay runs t on a copy of the snapshot. It fails when a read differs, and
// else returns the cells that t wrote with their contents.
func replay(t *workload.Txn, snapshot state) (state, bool) {
	return replayInRows(t, snapshot, func(*workload.Txn, string) bool { return false })
}

// replayInRows is replay where t may find, beside a new row of its own, the row of the snapshot.
func replayInRows(t *workload.Txn, snapshot state, isNew func(t *workload.Txn, key string) bool) (state, bool) {
	local := state{}
	see := func(cell string) []int64 {
		if now, own := local[cell]; own {
			return now
		}
		return snapshot[cell]
	}
	for i, o := range t.Ops {
		now, ok := see(o.Key), true
		switch o.Kind {
		case event.Write, event.Insert:
			local[o.Key] = []int64{o.Value}
		case event.Append:
			local[o.Key] = append(slices.Clone(now), o.Value)
		case event.Delete:
			local[o.Key] = nil
		case event.Add:
			local[cellOf(&o)] = []int64{o.Value}
		case event.Remove:
			local[cellOf(&o)] = nil
		case event.Inc:
			local[o.Key], ok = incremented(now, &o, met(t.Ops[:i], o.Key))
		case event.CAS:
			if ok = compared(&o, now, t.Status == event.Unknown); ok && o.Success {
				local[o.Key] = []int64{o.Value}
			}
		case event.Range:
			ok = agrees(o.PlainRows(), rangeOf(&o, snapshot, local, t.Status == event.Unknown), t)
		default:
			ok = o.Nothing() && t.Status == event.Unknown || // nothing noted, not nothing seen
				reads(&o, t, now, snapshot, local) ||
				local[o.Key] != nil && isNew(t, o.Key) && !o.Absent && !removes(t, o.Key) && reads(&o, t, snapshot[o.Key], snapshot, nil)
		}
		if !ok {
			return nil, false
		}
	}
	return local, true
}

// increments returns what t adds to a counter, where the counter is when it commits.
func increments(t *workload.Txn, key string) (sum int64, some bool) {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Kind == event.Inc && o.Key == key {
			sum, some = sum+o.Value, true
		}
	}
	return sum, some
}

func counted(now []int64) int64 {
	if len(now) == 0 {
		return 0
	}
	return now[0]
}

// reads says whether a read returned what is there.
func reads(o *workload.Op, t *workload.Txn, now []int64, snapshot, local state) bool {
	switch {
	case o.Data == event.Set:
		return agrees(slices.Sorted(slices.Values(o.List)), setOf(o.Key, snapshot, local), t)
	case o.Data == event.Counter:
		_, own := local[o.Key]
		return counts(o, now, own)
	case o.IsList:
		return slices.Equal(now, o.List)
	case o.Absent:
		return len(now) == 0
	}
	return slices.Equal(now, []int64{o.Value})
}

// compared says whether a cas ended as it must on what is there. That nothing was
// there is no evidence in a transaction of unknown outcome.
func compared(o *workload.Op, now []int64, unknown bool) bool {
	is := func(m workload.Maybe) bool {
		return m.Nothing && (unknown || len(now) == 0) || !m.Nothing && slices.Equal(now, []int64{m.Value})
	}
	if o.Success {
		return is(o.Expected)
	}
	return (unknown && o.Expected.Nothing || !is(o.Expected)) && (!o.Seen.Known || is(o.Seen))
}

// agrees says whether t was shown what is there. What it was not shown is no evidence
// if its outcome is unknown.
func agrees[E comparable](shown, there []E, t *workload.Txn) bool {
	if t.Status != event.Unknown {
		return slices.Equal(shown, there)
	}
	return !slices.ContainsFunc(shown, func(x E) bool { return !slices.Contains(there, x) })
}

// setOf are the elements of a set, in order.
func setOf(set string, snapshot, local state) []int64 {
	var elems []int64
	for _, v := range merged(snapshot, local) {
		if strings.HasPrefix(v.cell, set+"/") {
			elems = append(elems, v.value)
		}
	}
	slices.Sort(elems)
	return elems
}

// rangeOf returns what a range must return, or all of it whatever its limit: registers,
// whose names begin with x.
func rangeOf(o *workload.Op, snapshot, local state, whole bool) []workload.Row {
	var rows []workload.Row
	for _, v := range merged(snapshot, local) {
		if v.cell[0] == 'x' && v.cell >= o.From && (o.To == "" || v.cell < o.To) {
			rows = append(rows, workload.Row{Key: v.cell, Value: v.value})
		}
	}
	if o.Desc {
		slices.Reverse(rows)
	}
	if n := int(o.Limit); n > 0 && n < len(rows) && !whole {
		rows = rows[:n]
	}
	return rows
}

type cellValue struct {
	cell  string
	value int64
}

// merged returns what is there after the local changes, in the order of the cells.
func merged(snapshot, local state) []cellValue {
	var all []cellValue
	for cell, now := range snapshot {
		if _, own := local[cell]; !own && len(now) > 0 {
			all = append(all, cellValue{cell, now[0]})
		}
	}
	for cell, now := range local {
		if len(now) > 0 {
			all = append(all, cellValue{cell, now[0]})
		}
	}
	slices.SortFunc(all, func(a, b cellValue) int { return strings.Compare(a.cell, b.cell) })
	return all
}
