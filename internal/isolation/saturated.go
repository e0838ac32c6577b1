package isolation

import (
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// A forced edge t2 -> t1 orders two writers of a key. The transaction t3 (Shown) read the key
// from t1, and t2 is in t3's past, as the edges of Past show. In the other order t3 would have
// missed t2's write. The levels differ in what the past is: package saturation.

// saturatedBase is the weakest base that forces e.
func saturatedBase(w *witness, e *finding.Dependency) Base {
	if len(e.Past) != 1 {
		return Causal
	}
	p := &e.Past[0]
	if p.Label&finding.WR != 0 && w.readBefore(e.Shown, p, external.LastShowing(&w.Txns[e.Shown], e.Key, e.Value)) {
		return MonotonicAtomicView
	}
	return ReadAtomic
}

// readBefore says whether the transaction read what p is about before its operation last,
// or by another part of the same scan.
func (w *witness) readBefore(txn int, p *finding.Dependency, last int) bool {
	for _, x := range external.Reads(&w.Txns[txn], p.Key) {
		if x.Shows(p.Value) || slices.Index(x.List, p.Value) >= 0 {
			return x.At != last && w.place(txn, x.At) <= w.place(txn, last)
		}
	}
	return false
}

// follows says whether an edge with the label takes part in the cycle or in what forces
// its edges.
func follows(w *witness, label finding.Label) bool {
	has := func(e finding.Dependency) bool { return e.Label&label != 0 }
	return slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool { return has(e) || slices.ContainsFunc(e.Past, has) })
}

// saturatedName names a cycle in which levels force an order of writers. In either order of the
// writers, a transaction missed one whose effects were in its past. ok is false when no edge is
// forced.
func saturatedName(w *witness) (n Name, ok bool) {
	base := Base(0)
	for i := range w.Edges {
		if e := &w.Edges[i]; e.Label&finding.Saturated != 0 {
			base = max(base, saturatedBase(w, e))
		}
	}
	if base == 0 {
		return n, false
	}
	l := Level{Base: base}
	switch {
	case follows(w, finding.Realtime):
		l.Family = Strong
	case follows(w, finding.Process):
		l.Family = StrongSession
	}
	n = missedName(l)
	if w.itemsForce() {
		n.Weakest = append(n.Weakest, Level{Base: RepeatableRead, Family: l.Family})
	}
	return n, true
}

// itemsForce says whether repeatable read forces each order of writers in the cycle too. The reader
// read the key itself. With the other order it has an anti-dependency on a writer in its past.
func (w *witness) itemsForce() bool {
	return !slices.ContainsFunc(w.Edges, func(e finding.Dependency) bool {
		return e.Label&finding.Saturated != 0 && (e.Shown < 0 || !RepeatableRead.Follows(&w.recorded()[e.Shown], e.Key))
	})
}

// missedName is the name of a read that missed what was in its past, as the level has it.
func missedName(l Level) Name {
	return Name{cycleName(classSingle, l.Family), missedTitle(l.Base, l.Family), finding.KindViolation, []Level{l}, severity(classSingle, l.Family)}
}

// missedTitle is the plain name of a read that missed what was in its past.
func missedTitle(base Base, f Family) string {
	switch {
	case base == Causal && f == Strong:
		return "causality violation in real time"
	case base == Causal && f == StrongSession:
		return "causality violation in sessions"
	case base == Causal:
		return "causality violation"
	case f == Strong:
		return "stale read"
	case f == StrongSession:
		return "stale read in a session"
	case base == MonotonicAtomicView:
		return "non-monotonic view"
	}
	return "fractured read"
}

// nonMonotonic says whether the two edges are an anti-dependency and a read, and the reader did
// the read before the one that missed the writer. Monotonic atomic view forbids it (dbcop,
// figure 2a), and read committed allows it.
func nonMonotonic(w *witness) bool {
	if len(w.Edges) != 2 {
		return false
	}
	for i := range 2 {
		rw, wr := &w.Edges[i], &w.Edges[1-i]
		if rw.Label&finding.RW == 0 || wr.Label&finding.WR == 0 {
			continue
		}
		if chained(rw) {
			rw = &rw.Past[0]
		}
		t := &w.Txns[rw.From]
		last := -1
		for _, x := range external.Reads(t, rw.Key) {
			if missed(w, rw, &x) {
				last = x.At
			}
		}
		return w.readBefore(rw.From, wr, last)
	}
	return false
}

// missed says whether the read saw a state that the write of e came behind.
func missed(w *witness, e *finding.Dependency, x *external.Observation) bool {
	from, to := &w.Txns[e.From], &w.Txns[e.To]
	if external.Appended(to, e.Key, e.Value) {
		return (x.IsList || x.Nothing) && slices.Index(x.List, e.Value) < 0
	}
	return overwritten(w, from, to, e, &from.Ops[x.At])
}

// pastSentence says how the past of e leads to its reader.
func pastSentence(w *witness, e *finding.Dependency) string {
	s := ""
	for i := range e.Past {
		if i > 0 {
			s += ", "
		}
		s += because(w, &e.Past[i])
	}
	return fmt.Sprintf("%s read %s = %s of %s, and %s, which also wrote %s, comes before that reader: %s",
		w.short(e.Shown), keyName(e.Key), clip(e.Value), w.short(e.To), w.short(e.From), keyName(e.Key), s)
}
