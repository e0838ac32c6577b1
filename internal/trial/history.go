package trial

import (
	"errors"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// History holds the operations of transactions, by cell: a register, a counter, a list, or an
// element of a set.
type History struct {
	txns  []txn
	cells []cell
	names map[string]int32
	drift int64
	rows  bool
	// counts, deleted and lacks are Input's.
	counts  func(record int, key, elem string) bool
	deleted func(key string) bool
	lacks   func(record int, b Base) bool
	numbers Numbers
	unnamed map[unnamed]string // by value, the one version that reads tell and no write
}

// cell is a place with what it holds, and who changes it.
type cell struct {
	name    string // the name of the cell's key
	elem    string // of a set, with its text
	kind    kind
	values  map[string]int32 // of a register's, from 1; 0 is nothing
	told    map[string]int32 // versions that writes tell, from 1; nil: none
	writers []int32
}

type kind uint8

const (
	register kind = iota
	list
	counter
	element
)

// txn is a transaction that may have committed.
type txn struct {
	maybe        bool // it need not have taken effect
	ends         bool // its outcome is known, so that others follow from its end
	observations []observation
	writes       []write
	passed       []write // what it wrote over itself, of registers
	// wrong says that it does not read what it wrote, which is against all levels from
	// monotonic atomic view on.
	wrong      bool
	session    string
	seq        int64
	hasSeq     bool
	hasTimes   bool
	start, end int64
}

// observation is an operation's view of a cell, as others left it.
type observation struct {
	op, cell int32
	how      how
	value    int32   // of a register
	elems    []int32 // of a list
	own      []int32 // of a list, behind elems: what the transaction had appended itself
	sum      int64   // of a counter
	nothing  bool    // there was no counter
	told     int32   // the version that the operation tells, 0 for none
	first    bool    // the transaction had not read the cell before
	over     bool    // first, and it changes the cell afterwards
}

type how uint8

const (
	showed  how = iota
	another     // any value but this one
	showedList
	showedSum
	replaced // a version of a counter, by an increment before which no other version was met
	misread  // a list, otherwise than the transaction had written it: only who appended the others is known
)

// write is the effect that a transaction leaves in a cell.
type write struct {
	cell  int32
	value int32   // of a register
	elems []int32 // appended to a list
	inc   int64
	told
}

var errOdd = errors.New("trial: a key is used as two kinds, or an operation is of none that is tried")

// Input is the input of [Read].
type Input struct {
	Records []event.Record
	Maybe   []bool // by record: nobody observed it, and its outcome is unknown
	Drift   int64  // ns that clocks may be apart
	Rows    bool   // a row that was deleted, and one that was inserted at its key, are two
	Numbers Numbers
	// Counts says whether a transaction's read of a key, or of an element of a set, proves anything, by
	// the record's index. All possible sources of the read must be among the records. A read that only
	// excludes some value never counts. nil: all count. Only [History.Core] asks.
	Counts func(record int, key, elem string) bool
	// Deleted says whether one who is not among the records may have deleted a row at the key. nil:
	// nobody. Only [History.Core] asks.
	Deleted func(key string) bool
	// Lacks says whether the record's transaction asked for a level that does not promise all of
	// the base. nil: nobody did.
	Lacks func(record int, b Base) bool
}

// Read takes the records of transactions that did not abort, all of one epoch, in an order in
// which they may well have taken effect. It errors where an operation is none that is tried.
func Read(in *Input) (*History, error) {
	h := &History{names: map[string]int32{}, drift: in.Drift, rows: in.Rows, counts: in.Counts, deleted: in.Deleted, lacks: in.Lacks, numbers: in.Numbers}
	kinds, ok := kindsOf(in)
	if !ok {
		return nil, errOdd
	}
	for i := range in.Records {
		for j := range in.Records[i].Ops {
			h.meet(&in.Records[i].Ops[j], kinds)
		}
	}
	h.meetVersions(in, kinds)
	for i := range in.Records {
		t := &in.Records[i]
		if t.Epoch != in.Records[0].Epoch {
			return nil, errOdd
		}
		x := txn{
			maybe: in.Maybe[i], ends: t.Status != event.Unknown, session: t.Session,
			seq: t.Seq, hasSeq: t.Flags&event.HasSeq != 0,
			hasTimes: t.Flags&event.HasTimes != 0, start: t.Start, end: t.End,
		}
		if t.Flags&event.Stale != 0 {
			x.session, x.hasTimes = "", false
		}
		r := reading{h: h, t: &x, number: in.Numbers, record: t, local: map[int32]write{}, silent: t.Status == event.Unknown, kinds: kinds, mine: h.appendsOf(t, kinds)}
		for j := range t.Ops {
			if !r.op(int32(j), &t.Ops[j]) {
				return nil, errOdd
			}
		}
		h.txns = append(h.txns, x)
	}
	if !h.settleVersions() {
		return nil, errOdd
	}
	for i := range h.txns {
		for _, w := range h.txns[i].writes {
			h.cells[w.cell].writers = append(h.cells[w.cell].writers, int32(i))
		}
	}
	return h, nil
}

// appendsOf are the elements that t appends, by list.
func (h *History) appendsOf(t *event.Record, kinds map[string]kind) map[int32][]int32 {
	all := map[int32][]int32{}
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Kind == event.Append {
			c := h.cellOf(o.Key, "", kinds[o.Key])
			all[c] = append(all[c], h.value(c, o.Value))
		}
	}
	return all
}

// kindsOf are the kinds of keys. Writes tell them, ranges, and reads that name one. Reads without a name
// tell the rest. ok is false where a key is used as two kinds, and where a register was read as an
// empty array that nobody wrote. That may be what is left of a list.
func kindsOf(in *Input) (kinds map[string]kind, ok bool) {
	kinds = map[string]kind{}
	tell := func(key string, k kind) bool {
		was, met := kinds[key]
		kinds[key] = k
		return !met || was == k
	}
	each := func(fn func(o *event.RecordOp) bool) bool {
		return !slices.ContainsFunc(in.Records, func(r event.Record) bool {
			return slices.ContainsFunc(r.Ops, func(o event.RecordOp) bool { return !fn(&o) })
		})
	}
	emptied := map[string]bool{}
	told := each(func(o *event.RecordOp) bool {
		if o.Writes() && o.Value == "[]" {
			emptied[o.Key] = true
		}
		k, _ := kindOf(o)
		return o.Data <= event.Counter && (!tellsKind(o) || tell(o.Key, k)) &&
			!slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return !tell(r.Key, register) })
	})
	told = told && each(func(o *event.RecordOp) bool {
		if o.Kind != event.Read || o.Flags&event.NotFound != 0 {
			return true
		}
		array := o.Flags&event.IsArray != 0
		switch k, known := kinds[o.Key]; {
		case known && k == register && array:
			return len(o.Elems) > 0 || emptied[o.Key]
		case known:
			return array == (k == list || k == element)
		}
		return true
	})
	read := map[string]bool{} // by key that only reads tell of, whether they show arrays
	return kinds, told && each(func(o *event.RecordOp) bool {
		if o.Kind != event.Read || o.Data != event.AnyKind || o.Flags&event.NotFound != 0 {
			return true
		}
		array := o.Flags&event.IsArray != 0
		was, met := read[o.Key]
		if _, known := kinds[o.Key]; known && !met {
			return true
		}
		read[o.Key] = array
		if kinds[o.Key] = register; array {
			kinds[o.Key] = list
		}
		return !met || was == array
	})
}

// kindOf is the kind of o's key, as o tells it, or as it seems to be where o does not.
func kindOf(o *event.RecordOp) (k kind, known bool) {
	switch {
	case o.Kind == event.Range:
		return 0, false
	case o.Kind == event.Append || o.Data == event.List || o.Kind == event.Read && o.Flags&event.IsArray != 0 && o.Data == event.AnyKind:
		return list, true
	case o.Kind == event.Inc || o.Data == event.Counter:
		return counter, true
	case o.Kind == event.Add || o.Kind == event.Remove || o.Data == event.Set:
		return element, true
	case o.Kind == event.Read && o.Flags&event.NotFound != 0 && o.Data == event.AnyKind:
		return 0, false // of any kind
	}
	return register, true
}

// tellsKind says whether o tells the kind of its key. A read does if it names it.
func tellsKind(o *event.RecordOp) bool {
	return o.Kind != event.Range && (o.Data != event.AnyKind || o.Kind != event.Read && o.Kind != event.Delete)
}

// meet makes the cells that o names.
func (h *History) meet(o *event.RecordOp, kinds map[string]kind) {
	switch {
	case o.Kind == event.Range:
		for _, r := range o.Rows {
			h.cellOf(r.Key, "", register)
		}
	case kinds[o.Key] != element:
		h.cellOf(o.Key, "", kinds[o.Key])
	case o.Kind == event.Add || o.Kind == event.Remove:
		h.cellOf(o.Key, o.Value, element)
	default:
		for _, v := range o.Elems {
			h.cellOf(o.Key, v, element)
		}
	}
}

func (h *History) cellOf(key, elem string, k kind) int32 {
	name := key
	if k == element {
		name = key + "\xff" + elem // no UTF-8 text has this byte
	}
	c, ok := h.names[name]
	if !ok {
		c = int32(len(h.cells))
		h.names[name] = c
		h.cells = append(h.cells, cell{name: key, elem: elem, values: map[string]int32{}})
	}
	h.cells[c].kind = k // a key that was only read as nothing may turn out to be one
	return c
}

// value is the number of a text that stood in c.
func (h *History) value(c int32, text string) int32 {
	v, ok := h.cells[c].values[text]
	if !ok {
		v = int32(len(h.cells[c].values)) + 1
		h.cells[c].values[text] = v
	}
	return v
}

// reading runs one transaction's operations.
type reading struct {
	h      *History
	t      *txn
	number Numbers
	record *event.Record
	local  map[int32]write // what it has written
	silent bool            // that something was not there is no evidence
	kinds  map[string]kind
	mine   map[int32][]int32 // by list: all that it appends, also later
}

// op takes an operation; false if it is none that is tried.
func (r *reading) op(at int32, o *event.RecordOp) bool {
	h := r.h
	switch o.Kind {
	case event.Write, event.Insert, event.Delete, event.CAS:
		if r.kinds[o.Key] != register {
			return false // a list, a set or a counter as a whole
		}
	}
	switch o.Kind {
	case event.Write, event.Insert, event.Delete:
		c := h.cellOf(o.Key, "", register)
		w := write{cell: c}
		if o.Kind != event.Delete {
			w.value = h.value(c, o.Value)
		}
		return r.tell(&w, o) && r.write(w)
	case event.Add, event.Remove:
		c := h.cellOf(o.Key, o.Value, element)
		w := write{cell: c, told: r.stamped(told{})}
		if o.Kind == event.Add {
			w.value = 1
		}
		r.write(w)
	case event.Append:
		c := h.cellOf(o.Key, "", list)
		w := r.local[c]
		w.cell, w.elems = c, append(slices.Clone(w.elems), h.value(c, o.Value))
		r.write(w)
	case event.Inc:
		n, ok := amount(o.Value, 1)
		c := h.cellOf(o.Key, "", counter)
		w := r.local[c]
		w.cell, w.inc = c, w.inc+n
		if !ok || !r.tell(&w, o) {
			return false
		}
		if w.prev != 0 && !r.met(c) {
			r.add(observation{op: at, cell: c, how: replaced, told: w.prev})
		}
		return r.write(w)
	case event.CAS:
		return r.compareAndSet(at, o)
	case event.Range:
		return r.scanRange(at, o)
	case event.Read:
		return r.read(at, o)
	default:
		return false
	}
	return true
}

// write takes an effect.
func (r *reading) write(w write) bool {
	if was, again := r.local[w.cell]; !again {
		r.t.writes = append(r.t.writes, w)
	} else {
		w.prev = was.prev // what it replaces then is its own
	}
	r.local[w.cell] = w
	for i := range r.t.writes {
		if x := r.t.writes[i]; x.cell == w.cell {
			if x.value != 0 && x.value != w.value {
				r.t.passed = append(r.t.passed, x)
			}
			r.t.writes[i] = w
		}
	}
	for i := range r.t.observations {
		if s := &r.t.observations[i]; s.cell == w.cell {
			s.over = s.first
		}
	}
	return true
}

// see takes the view of a register or an element, unless the transaction wrote it itself.
func (r *reading) see(s observation) {
	if s.how == showed && s.value == 0 && r.silent {
		return
	}
	if w, own := r.local[s.cell]; own && s.told != 0 {
		r.t.wrong = r.t.wrong || w.version != s.told
		return
	} else if own {
		r.t.wrong = r.t.wrong || (w.value == s.value) != (s.how == showed)
		return
	}
	r.add(s)
}

func (r *reading) add(s observation) {
	s.first = !slices.ContainsFunc(r.t.observations, func(x observation) bool { return x.cell == s.cell && x.how != another })
	r.t.observations = append(r.t.observations, s)
}

// met says whether the transaction has added to the counter, or has told a version of it, or that there is none.
func (r *reading) met(c int32) bool {
	_, added := r.local[c]
	return added || slices.ContainsFunc(r.t.observations, func(x observation) bool { return x.cell == c && (x.told != 0 || x.nothing) })
}

func (r *reading) compareAndSet(at int32, o *event.RecordOp) bool {
	c := r.h.cellOf(o.Key, "", register)
	valueOf := func(text string) int32 {
		if text == "null" {
			return 0
		}
		return r.h.value(c, text)
	}
	if o.Flags&event.Success != 0 {
		r.see(observation{op: at, cell: c, value: valueOf(o.Expected)})
		w := write{cell: c, value: r.h.value(c, o.Value)}
		return r.tell(&w, o) && r.write(w)
	}
	if o.Version != "" || o.PrevVersion != "" {
		return false
	}
	if o.Seen != "" {
		r.see(observation{op: at, cell: c, value: valueOf(o.Seen)})
	}
	if expected := valueOf(o.Expected); expected != 0 || !r.silent {
		r.see(observation{op: at, cell: c, how: another, value: expected})
	}
	return true
}

// scanRange takes a range; false where a row's version says more than its value: see untold.
func (r *reading) scanRange(at int32, o *event.RecordOp) bool {
	for c := range r.h.cells {
		x := &r.h.cells[c]
		if x.kind != register {
			continue
		}
		i := slices.IndexFunc(o.Rows, func(row event.RecordRow) bool { return row.Key == x.name })
		if i >= 0 {
			row := &o.Rows[i]
			s := observation{op: at, cell: int32(c), value: r.h.value(int32(c), row.Value), told: x.told[row.Version]}
			if s.told == 0 && row.Version != "" && !r.h.untold(s.cell, s.value, row.Version) {
				return false
			}
			r.see(s)
		} else if covers(o, x.name) {
			r.see(observation{op: at, cell: int32(c)})
		}
	}
	return true
}

// covers says whether a range that did not show the key would have, had it been there.
func covers(o *event.RecordOp, key string) bool {
	if o.HasFrom && key < o.From || o.HasTo && key >= o.To {
		return false
	}
	if o.Limit == 0 || int64(len(o.Rows)) < o.Limit {
		return true
	}
	for i := range o.Rows {
		if last := o.Rows[i].Key; o.Desc && key >= last || !o.Desc && key <= last {
			return true
		}
	}
	return false
}

func (r *reading) read(at int32, o *event.RecordOp) bool {
	h, nothing := r.h, o.Flags&event.NotFound != 0
	switch r.kinds[o.Key] {
	case element:
		for c := range h.cells {
			if x := &h.cells[c]; x.kind == element && x.name == o.Key {
				s := observation{op: at, cell: int32(c)}
				if slices.Contains(o.Elems, x.elem) {
					s.value = 1
				}
				r.see(s)
			}
		}
	case counter:
		if nothing && r.silent {
			return true
		}
		c := h.cellOf(o.Key, "", counter)
		n, ok := int64(0), true
		if !nothing {
			n, ok = amount(o.Value, 0)
		}
		s := observation{op: at, cell: c, how: showedSum, sum: n - r.local[c].inc, nothing: nothing}
		if w, own := r.local[c]; own && o.Version != "" {
			ok = ok && h.cells[c].told[o.Version] == w.version
		} else if s.told = h.cells[c].told[o.Version]; s.told == 0 && o.Version != "" {
			return false
		}
		r.add(s)
		return ok
	case list:
		r.readList(at, o)
	default:
		c := h.cellOf(o.Key, "", register)
		s := observation{op: at, cell: c, told: h.cells[c].told[o.Version]}
		if !nothing {
			s.value = h.value(c, o.Value)
		}
		if s.told == 0 && o.Version != "" && !h.untold(c, s.value, o.Version) {
			return false
		}
		r.see(s)
	}
	return true
}

// readList takes a list, whose end must be what the transaction appended.
func (r *reading) readList(at int32, o *event.RecordOp) {
	if o.Nothing() && r.silent {
		return
	}
	c := r.h.cellOf(o.Key, "", list)
	own := r.local[c].elems
	n := len(o.Elems) - len(own)
	elems := make([]int32, len(o.Elems))
	for i, v := range o.Elems {
		elems[i] = r.h.value(c, v)
	}
	if n < 0 || !slices.Equal(elems[n:], own) {
		r.t.wrong = true
		r.others(at, c, elems)
		return
	}
	r.add(observation{op: at, cell: c, how: showedList, elems: elems[:n], own: own})
}

// others notes what a list shows that was misread: that those who appended the other
// elements came before is all that follows.
func (r *reading) others(at, c int32, elems []int32) {
	elems = slices.DeleteFunc(elems, func(e int32) bool { return slices.Contains(r.mine[c], e) })
	r.t.observations = append(r.t.observations, observation{op: at, cell: c, how: misread, elems: elems})
}

// amount is the integer that an operation adds or shows.
func amount(text string, otherwise int64) (int64, bool) {
	if text == "" {
		return otherwise, otherwise != 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > -1<<53 && n < 1<<53
}
