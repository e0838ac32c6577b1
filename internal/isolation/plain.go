package isolation

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// cell is the separator between a set and an element of it in the name that the element has in
// a plain record. A UTF-8 text cannot hold it.
const cell = "\xff"

// plainly is w with operations of every kind as reads and writes of registers and lists. So the
// verifier has one set of rules. An insert is a write. A delete writes nothing, marked by
// NotFound. A cas reads and writes. A range reads the registers that the witness is about. Each
// element of a set that the witness is about is a key of its own.
func plainly(w *witness) *witness {
	if w.plain || !w.ByVersion && !slices.ContainsFunc(w.Txns, special) {
		w.plain = true
		return w
	}
	p := *w.Witness
	p.ByVersion = false // values are the versions' texts from here on
	p.Txns, p.Edges = slices.Clone(w.Txns), slices.Clone(w.Edges)
	sets, counters, lists, byVersion, rows := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range w.Txns {
		for j := range w.Txns[i].Ops {
			o := &w.Txns[i].Ops[j]
			if o.OfParts() {
				sets[o.Key] = true
			}
			if o.Data == event.Counter || o.Kind == event.Inc {
				counters[o.Key] = true
			}
			if ofList(w, o) {
				lists[o.Key] = true
			}
			if w.ByVersion || external.TellsVersion(o) {
				byVersion[o.Key] = true
			}
			for _, r := range o.Rows {
				if w.ByVersion || r.Version != "" {
					rows[r.Key] = true
				}
			}
		}
	}
	for key := range rows { // which are registers
		if !sets[key] && !counters[key] && !lists[key] {
			byVersion[key] = true
		}
	}
	e := expansion{sets: sets, counters: counters, lists: lists, elems: map[string][]string{}, byVersion: byVersion, declared: w.ByVersion}
	name := func(key, value string) string {
		if !sets[key] {
			e.keys = append(e.keys, key)
			return key
		}
		e.elems[key] = append(e.elems[key], value)
		return key + cell + value
	}
	for i := range p.Edges {
		x := &p.Edges[i]
		x.Key = name(x.Key, x.Value)
		x.Past = slices.Clone(x.Past)
		for j := range x.Past {
			if s := &x.Past[j]; s.Label&finding.WR != 0 {
				s.Key = name(s.Key, s.Value)
			}
		}
	}
	if w.Key != "" {
		p.Key = name(w.Key, w.Value)
	}
	for i := range w.Choices {
		e.keys = append(e.keys, w.Choices[i].Key)
	}
	var placed [][]int
	for i := range p.Txns {
		t := &p.Txns[i]
		op := -1
		e.silent = t.Status == event.Unknown
		var places []int
		t.Ops, places, op = e.ops(t.Ops, w.Op, p.Key)
		placed = append(placed, places)
		if i == 0 && op >= 0 {
			p.Op = op
		}
	}
	for i := range p.Edges {
		// A set from which an element is removed has the element for a value.
		if x := &p.Edges[i]; strings.Contains(x.Key, cell) && x.Label&finding.WR == 0 {
			if o, ok := external.FinalWrite(&p.Txns[x.To], x.Key); ok {
				x.Value = o.Value
			}
		}
	}
	return &witness{Witness: &p, placed: placed, raw: w.Txns, plain: true}
}

// ofSet is the edge with its set and element, where it is one of a plain witness over
// the key that the element has there.
func ofSet(e *finding.Dependency) finding.Dependency {
	of := *e
	if set, elem, ok := strings.Cut(e.Key, cell); ok {
		of.Key, of.Value = set, elem
	}
	return of
}

// deletes says whether a transaction of the plain witness deletes the key.
func deletes(w *witness, key string) bool {
	for i := range w.Txns {
		for j := range w.Txns[i].Ops {
			if o := &w.Txns[i].Ops[j]; o.Key == key && o.Kind == event.Write && o.Flags&event.NotFound != 0 && w.Txns[i].Status != event.Aborted {
				return true
			}
		}
	}
	return false
}

// ofList says whether o is of a list. A read of an array may be of a register, as other operations show.
func ofList(w *witness, o *event.RecordOp) bool {
	if o.Kind != event.Read || o.Data != event.AnyKind {
		return o.Kind == event.Append || o.Data == event.List
	}
	return o.Flags&event.IsArray != 0 && !usedAsSet(w.Witness, o.Key) && !slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(x event.RecordOp) bool { return ofRegister(&x, o.Key) })
	})
}

// usedAsSet says whether an operation of w shows that the key is a set.
func usedAsSet(w *finding.Witness, key string) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Key == key && o.OfParts() })
	})
}

// ofRegister says whether o shows that the key is a register.
func ofRegister(o *event.RecordOp, key string) bool {
	if o.Kind == event.Range {
		return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key })
	}
	return o.Key == key && (o.Data == event.Register || o.Kind == event.Write || o.Kind == event.Insert || o.Kind == event.CAS)
}

// special says whether t has operations that a plain record does not have.
func special(t event.Record) bool {
	for i := range t.Ops { // a slices function would copy each
		if o := &t.Ops[i]; o.Kind > event.Append || o.Data.Parts() || external.TellsVersion(o) {
			return true
		}
	}
	return false
}

// expansion says how the keys of a witness's records are turned into plain ones.
type expansion struct {
	byVersion map[string]bool // keys whose versions are told by their texts
	declared  bool            // the versions of all registers are told; else a read without a version shows a value
	counters  map[string]bool // a read without a version shows no version of these
	lists     map[string]bool // no range shows these, and none shows counters
	silent    bool            // of the transaction in work: an empty read of it proves nothing
	sets      map[string]bool
	elems     map[string][]string // of sets: those that the witness is about
	keys      []string            // those that the witness is about
}

// ops are the plain operations with the places of the operations that they are parts of. It
// also returns which of them on the key comes from the at-th one, -1 if none does.
func (e *expansion) ops(ops []event.RecordOp, at int, key string) (plain []event.RecordOp, places []int, op int) {
	op = -1
	for i := range ops {
		from := len(plain)
		plain = e.op(plain, &ops[i])
		for len(places) < len(plain) {
			places = append(places, i)
		}
		for j := from; i == at && j < len(plain); j++ {
			if plain[j].Key == key && (op < 0 || plain[j].Kind == event.Read) {
				op = j
			}
		}
	}
	return plain, places, op
}

func (e *expansion) op(plain []event.RecordOp, o *event.RecordOp) []event.RecordOp {
	read := func(key, value string, found bool) {
		r := event.RecordOp{Kind: event.Read, Key: key, Value: value}
		if !found {
			r.Value, r.Flags = "", event.NotFound
		}
		plain = append(plain, r)
	}
	write := func(key, value string, there bool) {
		r := event.RecordOp{Kind: event.Write, Key: key, Value: value}
		if !there {
			r.Value, r.Flags = "", event.NotFound
		}
		plain = append(plain, r)
	}
	switch {
	case e.byVersion[o.Key] && external.Versioned(o):
		plain = e.version(plain, o)
	case o.Kind == event.Insert:
		write(o.Key, o.Value, true)
	case o.Kind == event.Delete:
		write(o.Key, "", false)
	case o.Kind == event.CAS && o.Flags&event.Success != 0:
		read(o.Key, o.Expected, o.Expected != "null")
		write(o.Key, o.Value, true)
	case o.Kind == event.CAS:
		if o.Seen != "" {
			read(o.Key, o.Seen, o.Seen != "null")
		}
	case o.Kind == event.Add || o.Kind == event.Remove:
		write(o.Key+cell+o.Value, o.Value, o.Kind == event.Add)
	case o.Kind == event.Read && e.sets[o.Key]:
		for _, v := range e.elems[o.Key] {
			read(o.Key+cell+v, v, slices.Contains(o.Elems, v))
		}
	case o.Kind == event.Range:
		e.rangeRead(o, read)
	default:
		plain = append(plain, *o)
	}
	return plain
}

// rangeRead reads the rows of o, and finds nothing at the other registers that the witness is about
// and o covers. A limit that was reached ends the cover at the last row.
func (e *expansion) rangeRead(o *event.RecordOp, read func(key, value string, found bool)) {
	for _, r := range o.Rows {
		switch {
		case !e.byVersion[r.Key]:
			read(r.Key, r.Value, true)
		case r.Version != "":
			read(r.Key, r.Version, true)
		}
	}
	for _, k := range e.keys {
		if !e.lists[k] && !e.counters[k] && external.Covers(o, k) && !slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == k }) {
			read(k, "", false)
		}
	}
}

// version tells o by the texts of its versions. A read without a version only tells whether
// something was found. A write without one is told by its value. An increment without one is
// not told.
func (e *expansion) version(plain []event.RecordOp, o *event.RecordOp) []event.RecordOp {
	r := event.RecordOp{Kind: event.Write, Key: o.Key, Value: o.Value, PrevVersion: o.PrevVersion}
	if o.Version != "" || o.Kind == event.Inc {
		r.Value = o.Version
	} else if o.Kind == event.Delete {
		r.Flags = event.NotFound
	}
	switch {
	case o.Kind == event.Read || o.Kind == event.CAS && o.Flags&event.Success == 0:
		if o.Version == "" && o.Flags&event.NotFound == 0 {
			if e.declared || o.Kind != event.Read || e.counters[o.Key] {
				return plain
			}
			return append(plain, *o)
		}
		r.Kind, r.Value, r.PrevVersion = event.Read, o.Version, ""
		if o.Version == "" {
			r.Flags = event.NotFound
		}
	}
	met := func(p event.RecordOp) bool {
		return p.Key == o.Key && !(e.silent && p.Kind == event.Read && p.Nothing())
	}
	if first := !slices.ContainsFunc(plain, met); first && r.PrevVersion != "" {
		plain = append(plain, event.RecordOp{Kind: event.Read, Key: o.Key, Value: r.PrevVersion}) // which it has then seen
	} else if first && r.Kind == event.Write && o.Kind == event.CAS && o.Expected == "null" {
		plain = append(plain, event.RecordOp{Kind: event.Read, Key: o.Key, Flags: event.NotFound})
	}
	return append(plain, r)
}

// names says whether t's first write of the key says that it replaced this version.
func names(t *event.Record, key, version string) bool {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			return o.PrevVersion != "" && o.PrevVersion == version
		}
	}
	return false
}

// replaced is the version that t's write of the key replaced: it names it, or the read before
// shows it.
func replaced(t *event.Record, key string) (value string, nothing, ok bool) {
	for i := range t.Ops { // the first write: the later ones replace its own
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			if o.PrevVersion != "" {
				return o.PrevVersion, false, true
			}
			break
		}
	}
	o, ok := external.Read(t, key)
	if !ok {
		return "", false, false
	}
	return o.Value, o.Flags&event.NotFound != 0, true
}

// readsAnother says whether the i-th transaction of the plain p says that it replaced a version
// of the key, and had read another one.
func readsAnother(p *witness, i int, key string) bool {
	t := &p.Txns[i]
	before, nothing, named := replaced(t, key)
	read, had := external.Read(t, key)
	return had && named && !nothing && (read.Flags&event.NotFound != 0 || read.Value != before)
}

// replacedUnread is the version that the i-th transaction of w, plainly p, says it replaced.
// unread is false where it had read that version, or names none.
func replacedUnread(w, p *witness, i int, key string) (before string, unread bool) {
	before, nothing, named := replaced(&p.Txns[i], key)
	if !named || nothing {
		return "", false
	}
	for k := range w.Txns[i].Ops { // not of the plain ones, where what was replaced has been read
		switch o := &w.Txns[i].Ops[k]; {
		case o.Key != key && o.Kind != event.Range:
		case (o.Writes() || o.Kind == event.Inc) && o.PrevVersion != "":
			return before, true
		default:
			return before, readsAnother(p, i, key)
		}
	}
	return before, false
}
