// Package external tells how a transaction and the others meet in one key. External reads come
// before the transaction's own writes of the key, and the final write stays (dbcop, section 2.2;
// MTC, Ext). Records are plain: reads, writes and appends of registers and lists. The package
// knows no levels and no anomalies. Naming and explaining use it; internal/verify has its own.
package external

import (
	"slices"

	"github.com/isowatch/isowatch/event"
)

// Read is the first read of key that t did before writing it; ok is false when there is none.
// O(operations), as are the other functions.
func Read(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Read {
			if t.Status == event.Unknown && o.Nothing() {
				continue // without a note, something may still have been seen
			}
			return o, true
		}
		if o.Kind == event.Write || o.Kind == event.Append {
			return nil, false
		}
	}
	return nil, false
}

// FinalWrite is the last write of key in t. ok is false when there is none.
func FinalWrite(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := len(t.Ops) - 1; i >= 0; i-- {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			return o, true
		}
	}
	return nil, false
}

// Appended says whether t appended value to key.
func Appended(t *event.Record, key, value string) bool {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.Value == value && o.Kind == event.Append {
			return true
		}
	}
	return false
}

// Visited are the versions of the key that t found first and had last. The first is the version
// that it read before it wrote, or else wrote. The last is the version that it left, or else
// read. "" says that nothing was there; values are never empty. ok is false if t did neither.
func Visited(t *event.Record, key string) (first, last string, ok bool) {
	read, found := Read(t, key)
	write, wrote := FinalWrite(t, key)
	switch {
	case found && read.Flags&event.NotFound == 0:
		first = read.Value
	case !found && wrote:
		first = write.Value
	}
	last = first
	if wrote {
		last = write.Value
	}
	return first, last, found || wrote
}

// Observation is a read's view of the versions that others left in its key.
type Observation struct {
	At      int // operation
	Nothing bool
	Value   string   // a register's
	List    []string // a list's, without the elements that t had appended itself
	IsList  bool
}

// Reads are the reads of key that t did before it wrote the key over.
func Reads(t *event.Record, key string) []Observation {
	var all []Observation
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
		x := Observation{At: i, Nothing: o.Flags&event.NotFound != 0, Value: o.Value, IsList: o.Flags&event.IsArray != 0}
		if len(own) > 0 && !(x.IsList && EndsWith(o.Elems, own)) {
			continue
		}
		if x.IsList {
			x.List = o.Elems[:len(o.Elems)-len(own)]
		}
		all = append(all, x)
	}
	return all
}

// Shows says whether the state that was read ends with the value.
func (x *Observation) Shows(value string) bool {
	if x.Nothing {
		return false
	}
	if x.IsList && len(x.List) > 0 && x.List[len(x.List)-1] == value {
		return true
	}
	return x.Value == value
}

// LastShowing is the last operation of t that read the value, -1 if none did.
func LastShowing(t *event.Record, key, value string) int {
	last := -1
	for _, x := range Reads(t, key) {
		if x.Shows(value) {
			last = x.At
		}
	}
	return last
}

// EndsWith says whether the list ends with the suffix.
func EndsWith(list, suffix []string) bool {
	return len(list) >= len(suffix) && slices.Equal(list[len(list)-len(suffix):], suffix)
}

// Versioned says whether o is about a version of a register or a counter.
func Versioned(o *event.RecordOp) bool {
	switch o.Kind {
	case event.Read:
		return o.Flags&event.IsArray == 0 && (o.Data <= event.Register || o.Data == event.Counter)
	case event.Write, event.Insert, event.Delete, event.CAS, event.Inc:
		return true
	}
	return false
}

// TellsVersion says whether o says which version it is about, or replaced.
func TellsVersion(o *event.RecordOp) bool {
	return Versioned(o) && (o.Version != "" || o.PrevVersion != "")
}

// Covers says whether the range would have returned the key, had it been there. A limit that
// was reached ends the range at its last row.
func Covers(o *event.RecordOp, key string) bool {
	if o.HasFrom && key < o.From || o.HasTo && key >= o.To {
		return false
	}
	if o.Limit == 0 || int64(len(o.Rows)) < o.Limit {
		return true
	}
	for _, r := range o.Rows {
		if !o.Desc && key <= r.Key || o.Desc && key >= r.Key {
			return true
		}
	}
	return false
}
