package verify

import (
	"slices"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// cell is the separator between a set and an element of it in the name that the element has in
// a plain record. A UTF-8 text cannot hold it.
const cell = "\xff"

// plainly is w with operations of every kind as reads and writes of registers and lists. So the
// verifier has one set of rules. An insert is a write. A delete writes nothing, marked by
// NotFound. A cas reads and writes. A range reads the keys that the witness is about. Each
// element of a set that the witness is about is a key of its own.
func plainly(w *finding.Witness) *finding.Witness {
	if !w.ByVersion && !slices.ContainsFunc(w.Txns, special) {
		return w
	}
	p := *w
	p.ByVersion = false // values are the versions' texts from here on
	p.Txns, p.Edges = slices.Clone(w.Txns), slices.Clone(w.Edges)
	sets, counters, lists, byVersion, told := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[named]bool{}
	for i := range w.Txns {
		for j := range w.Txns[i].Ops {
			o := &w.Txns[i].Ops[j]
			if o.OfParts() {
				sets[o.Key] = true
			}
			if o.Data == event.Counter || o.Kind == event.Inc {
				counters[o.Key] = true
			}
			if o.Kind == event.Append || o.Data == event.List || o.Kind == event.Read && o.Data == event.AnyKind && o.Flags&event.IsArray != 0 && !register(w, o.Key) {
				lists[o.Key] = true
			}
			if w.ByVersion || tellsVersion(o) {
				byVersion[o.Key] = true
			}
			told[named{o.Key, o.Version}], told[named{o.Key, o.PrevVersion}] = true, true
			for _, r := range o.Rows {
				if told[named{r.Key, r.Version}] = true; r.Version != "" {
					byVersion[r.Key] = true
				}
			}
		}
	}
	e := expansion{sets: sets, counters: counters, lists: lists, elems: map[string][]string{}, byVersion: byVersion, told: told, declared: w.ByVersion, vacant: w.Vacant}
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
	for i := range p.Txns {
		t := &p.Txns[i]
		op := -1
		e.silent = t.Status == event.Unknown
		t.Ops, op = e.ops(t.Ops, w.Op, p.Key)
		if i == 0 && op >= 0 {
			p.Op = op
		}
	}
	for i := range p.Edges {
		// A set from which an element is removed has the element for a value.
		if x := &p.Edges[i]; strings.Contains(x.Key, cell) && x.Label&finding.WR == 0 {
			if o, ok := finalWrite(&p.Txns[x.To], x.Key); ok {
				x.Value = o.Value
			}
		}
	}
	return &p
}

// register says whether some operation of the witness shows that the key is a register. A read of an array does not.
func register(w *finding.Witness, key string) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
			if o.Kind == event.Range {
				return shows(&o, key)
			}
			return o.Key == key && (o.Data == event.Register || o.Kind == event.Write || o.Kind == event.Insert || o.Kind == event.CAS)
		})
	})
}

// shows says whether the range shows the key.
func shows(o *event.RecordOp, key string) bool {
	return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key })
}

// deletes says whether a transaction of the plain witness deletes the key.
func deletes(w *finding.Witness, key string) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool { return deletesKey(&t, key) })
}

func deletesKey(t *event.Record, key string) bool {
	return t.Status != event.Aborted && slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == key && o.Kind == event.Write && o.Flags&event.NotFound != 0
	})
}

// deletesBefore says whether a transaction of the witness deletes the key and may have begun
// before the reader had ended. An empty read cannot be of a later delete.
func deletesBefore(w *finding.Witness, reader *event.Record, key string) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		return deletesKey(&t, key) && checkTime(reader, &t, w.Drift) != nil
	})
}

// overwritten says whether a transaction of the plain witness writes the key as a whole, or
// deletes it: a list ends there and another begins.
func overwritten(w *finding.Witness, key string) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		_, wrote := finalWrite(&t, key)
		return wrote && t.Status != event.Aborted
	})
}

// special says whether t has operations that a plain record does not have.
func special(t event.Record) bool {
	for i := range t.Ops { // a slices function would copy each
		if o := &t.Ops[i]; o.Kind > event.Append || o.Data.Parts() || tellsVersion(o) {
			return true
		}
	}
	return false
}

// expansion says how the keys of a witness's records are turned into plain ones.
type expansion struct {
	byVersion map[string]bool // keys whose versions are told by their texts
	told      map[named]bool  // these texts
	declared  bool            // the versions of all registers are told; else a read without a version shows a value
	counters  map[string]bool // a read without a version shows no version of these
	lists     map[string]bool // no range shows these
	silent    bool            // of the transaction in work: an empty read of it proves nothing
	sets      map[string]bool
	elems     map[string][]string // of sets: those that the witness is about
	keys      []string            // those that the witness is about
	vacant    bool                // a missing element or row of a scan proves nothing
}

// ops are the plain operations, and which of them on the key comes from the at-th
// one, -1 if none does.
func (e *expansion) ops(ops []event.RecordOp, at int, key string) (plain []event.RecordOp, op int) {
	op = -1
	for i := range ops {
		from := len(plain)
		plain = e.op(plain, &ops[i])
		for j := from; i == at && j < len(plain); j++ {
			if plain[j].Key == key && op < 0 { // a read, where it reads and writes
				op = j
			}
		}
	}
	return plain, op
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
	case e.byVersion[o.Key] && !e.sets[o.Key] && versioned(o):
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
			if there := slices.Contains(o.Elems, v); there || !e.vacant {
				read(o.Key+cell+v, v, there)
			}
		}
	case o.Kind == event.Range:
		e.rangeRead(o, read)
	default:
		plain = append(plain, *o)
	}
	return plain
}

// rangeRead reads the rows of o, and finds nothing at the other registers that the witness is
// about and o covers. A limit that was reached ends the cover at the last row.
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
		if !e.vacant && !e.lists[k] && !e.counters[k] && covers(o, k) && !shows(o, k) {
			read(k, "", false)
		}
	}
}

// named is a version of a key, by its text.
type named struct{ key, version string }

// valueMark is behind a value that is also the text of a version of its key: they are two.
const valueMark = "\xfe"

// unnamed stands for a value that has no version.
func (e *expansion) unnamed(key, value string) string {
	if value != "" && e.told[named{key, value}] {
		return value + valueMark
	}
	return value
}

// version tells o by the texts of its versions. A read without a version only tells whether
// something was found. A write without one is told by its value. An increment without one is
// not told.
func (e *expansion) version(plain []event.RecordOp, o *event.RecordOp) []event.RecordOp {
	r := event.RecordOp{Kind: event.Write, Key: o.Key, Value: e.unnamed(o.Key, o.Value), PrevVersion: o.PrevVersion}
	if o.Version != "" || o.Kind == event.Inc {
		r.Value = o.Version
	} else if o.Kind == event.Delete {
		r.Flags = event.NotFound
	}
	switch {
	case o.Kind == event.Read || o.Kind == event.CAS && o.Flags&event.Success == 0:
		if o.Version == "" && o.Flags&event.NotFound == 0 && o.Seen != "null" {
			if e.declared || o.Kind != event.Read || e.counters[o.Key] {
				return plain
			}
			read := *o
			read.Value = r.Value
			return append(plain, read)
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
	} else if first && r.Kind == event.Write && o.Expected == "null" {
		plain = append(plain, event.RecordOp{Kind: event.Read, Key: o.Key, Flags: event.NotFound})
	}
	return append(plain, r)
}

// replacedBy is the version that t's first write of the key says it replaced, "" for none: the later
// ones replace its own.
func replacedBy(t *event.Record, key string) string {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			return o.PrevVersion
		}
	}
	return ""
}

// replaced is the version that t's write of the key replaced: it names it, or the read before
// shows it.
func replaced(t *event.Record, key string) (value string, nothing, ok bool) {
	if version := replacedBy(t, key); version != "" {
		return version, false, true
	}
	o, ok := externalRead(t, key)
	if !ok {
		return "", false, false
	}
	return o.Value, o.Flags&event.NotFound != 0, true
}
