package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// Basis is the evidence of a witness beyond its own operations. Records that may still be on
// their way can take it away. The zero Basis is for list prefixes, own writes, and versions
// that the operations tell: they need nothing else.
type Basis struct {
	Identity []string // keys where a plain value is taken to name its writer
	Lists    []string // lists whose elements are taken to name their appends
	Absence  bool     // somewhere it counts that something was not there, or that nobody else wrote it
	List     bool     // that nobody deleted a list counts: see lists.go
	Missed   []Missed // what List is about. Where deletes go unseen, each has to be shown
	once     func(key, element string) bool
	Retry    bool // an element counts of whose append the outcome is unknown: it may have been tried again
}

// BasisOf looks at the reads that the edges of w are about. A read of a list, or of a version
// that is told, rests on nothing else. A read that found a value rests on the value's one
// writer. A read that found nothing rests on the absence of a delete. Where BasisOf cannot
// tell, it takes the greater basis. once says whether the element of a list is known to be
// appended once.
func BasisOf(w *finding.Witness, once func(key, element string) bool) Basis {
	b := Basis{once: once}
	if row := withoutCycle[w.Anomaly]; row != nil && row.rests != nil {
		row.rests(&b, w)
		return b
	}
	b.edges(w, w.Edges)
	for i := range w.Choices {
		c := &w.Choices[i]
		if listed(w, c.Key) {
			b.List = true
			b.Missed = append(b.Missed, Missed{Key: c.Key})
		}
		for _, n := range append([]int{c.A, c.B}, c.Writers...) {
			b.read(w, c.Key, n)
		}
	}
	if w.Key != "" && len(w.Edges) == 0 && len(w.Choices) == 0 {
		if listed(w, w.Key) {
			b.List = true
			b.missedBoth(w)
		}
		for n := range w.Txns {
			b.read(w, w.Key, n)
		}
	}
	return b
}

func (b *Basis) edges(w *finding.Witness, edges []finding.Dependency) {
	for i := range edges {
		e := &edges[i]
		if e.Label&(finding.Process|finding.Realtime) != 0 || e.Key == "" {
			continue
		}
		if listed(w, e.Key) && b.restsOnNoDelete(w, e) {
			b.List = true
			b.Missed = append(b.Missed, missedBy(w, e))
		}
		b.read(w, e.Key, e.To)
		if e.Label&(finding.RW|finding.Saturated) != 0 {
			b.read(w, e.Key, e.From)
		}
		if e.Shown >= 0 {
			b.read(w, e.Key, e.Shown)
		}
		b.edges(w, e.Past)
	}
}

// read adds what the n-th transaction's first read of the key rests on.
func (b *Basis) read(w *finding.Witness, key string, n int) {
	if n < 0 || n >= len(w.Txns) {
		return
	}
	ops := w.Txns[n].Ops
	if listed(w, key) {
		if !slices.Contains(b.Lists, key) {
			b.Lists = append(b.Lists, key)
		}
		of := func(o event.RecordOp) bool { return o.Key == key }
		first := slices.IndexFunc(ops, of)
		b.Absence = b.Absence || first >= 0 && ops[first].Kind == event.Read && ops[first].Flags&event.NotFound != 0
		b.Retry = b.Retry || w.Txns[n].Status == event.Unknown && slices.ContainsFunc(ops, func(o event.RecordOp) bool { return of(o) && o.Kind == event.Append })
		return
	}
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Kind == event.Range && !shows(o, key):
			b.Absence = b.Absence || external.Covers(o, key)
			continue
		case o.Kind == event.Range:
			if tellsRow(o, key) {
				return
			}
		case o.Key != key:
			continue
		case usedAsSet(w, key):
			b.Absence = true // perhaps the key of an element
		case o.Kind == event.CAS && o.Flags&event.Success != 0 && o.PrevVersion == "": // its version is the new one
			b.Absence = b.Absence || o.Expected == "null"
		case o.Version != "" || o.PrevVersion != "":
			return
		case o.Kind == event.Read && o.Flags&event.NotFound != 0:
			b.Absence = true
		case o.Kind == event.CAS && (o.Expected == "null" || o.Seen == "null"):
			b.Absence = true
		}
		if !slices.Contains(b.Identity, key) {
			b.Identity = append(b.Identity, key)
		}
		return
	}
}

// tellsRow says whether the range shows the key with its version.
func tellsRow(o *event.RecordOp, key string) bool {
	return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key && r.Version != "" })
}

func shows(o *event.RecordOp, key string) bool {
	return slices.ContainsFunc(o.Rows, func(r event.RecordRow) bool { return r.Key == key })
}
