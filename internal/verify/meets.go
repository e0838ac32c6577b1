package verify

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// How a transaction and the others meet in one key of a plain witness. Package external tells the
// same to those who name and explain. The verifier has code of its own, since an error must not
// pass both.

// externalRead is the read of key that shows what others left: the first, if t did not write the key
// before. ok is false if there is none.
func externalRead(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	at := slices.IndexFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == key && (o.Kind == event.Write || o.Kind == event.Append || o.Kind == event.Read && !silent(t, &o))
	})
	if at < 0 || t.Ops[at].Kind != event.Read {
		return nil, false
	}
	return &t.Ops[at], true
}

// silent says whether the read o of t says nothing: who did not hear of its outcome may not have
// noted what it saw.
func silent(t *event.Record, o *event.RecordOp) bool { return t.Status == event.Unknown && o.Nothing() }

// finalWrite is the last write of key in t. ok is false if there is none.
func finalWrite(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := range t.Ops {
		if t.Ops[i].Kind == event.Write && t.Ops[i].Key == key {
			op = &t.Ops[i]
		}
	}
	return op, op != nil
}

// appended says whether t appended value to key.
func appended(t *event.Record, key, value string) bool {
	return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Kind == event.Append && o.Key == key && o.Value == value })
}

// visited are the versions of the key that t found first and had last, "" for nothing. ok is false
// if t neither read nor wrote the key.
func visited(t *event.Record, key string) (first, last string, ok bool) {
	read, found := externalRead(t, key)
	write, wrote := finalWrite(t, key)
	if wrote {
		first, last = write.Value, write.Value
	}
	if found {
		first = ""
		if read.Flags&event.NotFound == 0 {
			first = read.Value
		}
		if !wrote {
			last = first
		}
	}
	return first, last, found || wrote
}

// observation is a read's view of the versions that others left in its key.
type observation struct {
	at      int // operation
	nothing bool
	value   string   // a register's
	list    []string // a list's, without the elements that t had appended itself
	isList  bool
}

// observations are the reads of key up to t's own write of it, without those that do not tell what others left.
func observations(t *event.Record, key string) (all []observation) {
	var own []string // appends
	for i := range t.Ops {
		o := &t.Ops[i]
		isList, none := o.Flags&event.IsArray != 0, o.Flags&event.NotFound != 0
		switch {
		case o.Key != key:
		case o.Kind == event.Write:
			return all
		case o.Kind == event.Append:
			own = append(own, o.Value)
		case o.Kind != event.Read || silent(t, o):
		case isList && endsWith(o.Elems, own):
			all = append(all, observation{i, none, o.Value, o.Elems[:len(o.Elems)-len(own)], true})
		case !isList && len(own) == 0:
			all = append(all, observation{at: i, nothing: none, value: o.Value})
		}
	}
	return all
}

// lastShowing is the last operation of t that shows the value, or a list that ends with it; -1 if none does.
func lastShowing(t *event.Record, key, value string) int {
	last := -1
	for _, x := range observations(t, key) {
		if !x.nothing && (x.value == value || len(x.list) > 0 && x.list[len(x.list)-1] == value) {
			last = x.at
		}
	}
	return last
}

func endsWith(list, suffix []string) bool {
	n := len(list) - len(suffix)
	return n >= 0 && slices.Equal(list[n:], suffix)
}

// versioned says whether o is about a version of a register or a counter.
func versioned(o *event.RecordOp) bool {
	if o.Kind == event.Read {
		return o.Flags&event.IsArray == 0 && (o.Data == event.AnyKind || o.Data == event.Register || o.Data == event.Counter)
	}
	return slices.Contains([]event.OpKind{event.Write, event.Insert, event.Delete, event.CAS, event.Inc}, o.Kind)
}

// tellsVersion says whether o says which version it is about, or replaced.
func tellsVersion(o *event.RecordOp) bool { return o.Version+o.PrevVersion != "" && versioned(o) }

// covers says whether the range would have shown the key, had it been there. It ends at its last row where it
// has as many as its limit allows.
func covers(o *event.RecordOp, key string) bool {
	switch {
	case o.HasFrom && key < o.From, o.HasTo && key >= o.To:
		return false
	case o.Limit == 0, int64(len(o.Rows)) < o.Limit:
		return true
	}
	return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key || (r.Key > key) != o.Desc })
}
