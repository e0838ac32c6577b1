package isolation

import (
	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/infer"
)

// Edge is one edge of a witness, in terms of the recorded operations only.
type Edge struct {
	From, To int // indexes into Witness.Txns
	Label    infer.Label
	Key      string
	Value    string // canonical JSON: what was read (wr) or what overwrote (ww, rw)
	// Shown is the index into Witness.Txns of the transaction whose list read
	// shows the order of a ww edge; -1 when From and To prove it.
	Shown int
	// Assumed says that the edge follows from one way out of a choice only.
	Assumed bool
	// Past leads from From to Shown by reads, session order and real time: for a forced edge,
	// of which Shown is the reader. For a ww or rw edge, it is the step between two
	// that met the two versions one after the other, where that orders them.
	Past []Edge
}

// Witness is what a finding rests on: transactions with their operations, and
// the edges of the cycle in order, if it is a cycle. Transactions beyond the
// cycle are those whose reads show an order.
type Witness struct {
	Txns  []event.Record
	Edges []Edge
	// ByVersion says that versions are told by their texts: these are the values of
	// edges then. Numeric: they are numbers in the order of the versions. ByCommit: the
	// writers' commit timestamps order them.
	ByVersion, Numeric, ByCommit bool
	// For findings without a cycle: the reader, its operation, and the value.
	Anomaly infer.AnomalyKind
	// Drift is how far two clients' clocks may be apart, ns.
	Drift int64
	Op    int
	Key   string
	Value string
	// Choices, if there are any, are pairs of writers whose order nobody saw, and reads of
	// values that several wrote: with the edges, which are then no cycle, they leave no
	// order that Level allows.
	Choices []Choice
	// Repeated are reads of values that several may have written. By themselves they say
	// nothing; what they say in all cases is a choice.
	Repeated []RepeatedRead
	Level    Level

	shown *shown // of Txns, while a witness with choices is named; else nil
}

// Members is how many of the transactions the finding is about, the first ones.
func (w *Witness) Members() int {
	if w.Anomaly == infer.Internal {
		return 1
	}
	if len(w.Edges) == 0 || len(w.Choices) > 0 || w.Anomaly == infer.CyclicVersions {
		return len(w.Txns)
	}
	return len(w.Edges)
}

// Labels are those of the witness's edges, in order.
func (w *Witness) Labels() []infer.Label {
	ls := make([]infer.Label, len(w.Edges))
	for i := range w.Edges {
		ls[i] = w.Edges[i].Label
	}
	return ls
}

// externalRead is the first read of key that t did before writing it; ok is
// false when there is none.
func externalRead(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Read {
			if t.Status == event.Unknown && o.Flags&event.NotFound != 0 {
				continue // that nothing is noted does not say that nothing was seen
			}
			return o, true
		}
		if o.Kind == event.Write || o.Kind == event.Append {
			return nil, false
		}
	}
	return nil, false
}

// finalWrite is the last write of key in t.
func finalWrite(t *event.Record, key string) (op *event.RecordOp, ok bool) {
	for i := len(t.Ops) - 1; i >= 0; i-- {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Write {
			return o, true
		}
	}
	return nil, false
}

// wroteValue says whether t wrote or appended value to key at any time.
func wroteValue(t *event.Record, key, value string) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key == key && o.Value == value && (o.Kind == event.Write || o.Kind == event.Append) {
			return true
		}
	}
	return false
}

// appended says whether t appended value to key.
func appended(t *event.Record, key, value string) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key == key && o.Value == value && o.Kind == event.Append {
			return true
		}
	}
	return false
}

// listReads are the values of all reads of key in t, as lists; a read that found
// nothing is the empty list.
func listReads(t *event.Record, key string) [][]string {
	var reads [][]string
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key || o.Kind != event.Read {
			continue
		}
		if t.Status == event.Unknown && o.Flags&event.NotFound != 0 {
			continue
		}
		if o.Flags&(event.IsArray|event.NotFound) != 0 {
			reads = append(reads, o.Elems)
		}
	}
	return reads
}

// externalLists are the reads of key in t without what t had appended itself by
// then: what the others had left there.
func externalLists(t *event.Record, key string) [][]string {
	var reads [][]string
	var own []string
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Key != key {
			continue
		}
		if o.Kind == event.Append {
			own = append(own, o.Value)
		}
		if o.Kind != event.Read || o.Flags&(event.IsArray|event.NotFound) == 0 ||
			t.Status == event.Unknown && o.Flags&event.NotFound != 0 {
			continue
		}
		list := o.Elems
		if endsWith(list, own) {
			list = list[:len(list)-len(own)]
		}
		reads = append(reads, list)
	}
	return reads
}

func indexOf(list []string, value string) int {
	for i, v := range list {
		if v == value {
			return i
		}
	}
	return -1
}

// Writes says whether o writes its key.
func Writes(o *event.RecordOp) bool {
	switch o.Kind {
	case event.Write, event.Append, event.Insert, event.Delete, event.Add, event.Remove:
		return true
	case event.CAS:
		return o.Flags&event.Success != 0
	}
	return false
}
