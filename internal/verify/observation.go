package verify

import "github.com/isowatch/isowatch/event"

// observation is a read's view of the versions that others left in its key.
type observation struct {
	at      int // operation
	nothing bool
	value   string   // a register's
	list    []string // a list's, without what t had appended itself
	isList  bool
}

// externalReads are the reads of key that t did before it wrote the key over.
func externalReads(t *event.Record, key string) []observation {
	var all []observation
	var own []string
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Append {
			own = append(own, o.Value)
		}
		if o.Kind == event.Write {
			break
		}
		if o.Kind != event.Read || t.Status == event.Unknown && o.Nothing() {
			continue
		}
		x := observation{at: i, nothing: o.Flags&event.NotFound != 0, value: o.Value, isList: o.Flags&event.IsArray != 0}
		if len(own) > 0 && !(x.isList && endsWith(o.Elems, own)) {
			continue
		}
		if x.isList {
			x.list = o.Elems[:len(o.Elems)-len(own)]
		}
		all = append(all, x)
	}
	return all
}

// shows says whether what was read ends with the value.
func (x *observation) shows(value string) bool {
	if x.nothing {
		return false
	}
	if x.isList && len(x.list) > 0 && x.list[len(x.list)-1] == value {
		return true
	}
	return x.value == value
}

// lastShowing is the last operation of t that read the value, -1 if none did.
func lastShowing(t *event.Record, key, value string) int {
	last := -1
	for _, x := range externalReads(t, key) {
		if x.shows(value) {
			last = x.at
		}
	}
	return last
}
