package saturation

import (
	"cmp"
	"slices"
)

// Span is from when to when a transaction ran, ns.
type Span struct{ Start, End int64 }

// maxPreds bounds the real-time predecessors that are kept, a transaction: more
// than that run beside each other, or the clocks may be that far apart.
const maxPreds = 64

// Timed is a whole history with the times of its transactions. One comes before another in real
// time exactly if it ended, by more than Drift, before the other began.
type Timed struct {
	History
	Spans []Span // by transaction
	Drift int64
}

// InTime is h with these times. ok is false where too many transactions run beside each
// other.
func (h *History) InTime(spans []Span, drift int64) (t *Timed, ok bool) {
	t = &Timed{*h, spans, drift}
	ok = t.precede(spans, drift)
	return t, ok
}

// Strong says whether the history satisfies the strong level of the rule, 0 for one whose
// order is reads, session order and real time alone. In a rule about pasts, what ended
// before a transaction began is in its past. known is false where pasts are too wide to
// be kept. It may sort what a transaction wrote.
func (h *Timed) Strong(rule Rule) (holds, known bool) {
	r := newRun(&h.History, true)
	if rule == Causal {
		r.state = New(true)
	}
	r.all()
	if r.cyclic || rule == 0 {
		return !r.cyclic, true
	}
	if rule == Causal {
		if r.state.TooWide {
			return false, false
		}
		return r.holds(Causal, true), true
	}
	d := newDirect(&h.History)
	d.byReads()
	if rule > AtomicView {
		d.bySessions()
		if !d.byTime(h.Spans, h.Drift) {
			return false, true
		}
	}
	r.edges = d.edges
	return r.holds(min(rule, Atomic), true), true
}

// precede fills Before and Preds. They are transactions that ended before another one began.
// One is left out if another of them began behind it (as in Elle's buffer of completions). It
// says whether these are few.
func (h *History) precede(spans []Span, drift int64) bool {
	n := len(h.Txns)
	begins, ends := make([]uint32, 0, n), make([]uint32, 0, n)
	for t := 1; t < n; t++ {
		begins, ends = append(begins, uint32(t)), append(ends, uint32(t))
	}
	slices.SortFunc(begins, func(a, b uint32) int { return cmp.Or(cmp.Compare(spans[a].Start, spans[b].Start), cmp.Compare(a, b)) })
	slices.SortFunc(ends, func(a, b uint32) int { return cmp.Or(cmp.Compare(spans[a].End, spans[b].End), cmp.Compare(a, b)) })
	type place struct{ first, count uint32 }
	at := make([]place, n)
	var preds, latest []uint32
	next := 0
	for _, t := range begins {
		for ; next < len(ends) && spans[ends[next]].End+drift < spans[t].Start; next++ {
			u := ends[next]
			latest = slices.DeleteFunc(latest, func(v uint32) bool { return spans[v].End+drift < spans[u].Start })
			latest = append(latest, u)
		}
		at[t] = place{uint32(len(preds)), uint32(len(latest))}
		if preds = append(preds, latest...); len(preds) > maxPreds*n {
			return false
		}
	}
	h.Before, h.Preds = make([]uint32, n+1), make([]uint32, 0, len(preds))
	for t := 1; t < n; t++ {
		h.Before[t] = uint32(len(h.Preds))
		h.Preds = append(h.Preds, preds[at[t].first:at[t].first+at[t].count]...)
	}
	h.Before[n] = uint32(len(h.Preds))
	return true
}

// byTime gives the edges of figure 2b by real time. A writer of a key that t read, which ended
// before t began, comes before the writer W that t read from. Writers that ended before W began
// do so anyway. byTime returns false at the first writer that began when W had ended, or where
// t read the initial version: a contradiction by itself. So it gives at most one edge for each
// writer that ran beside W.
func (d *direct) byTime(spans []Span, drift int64) bool {
	n := len(d.Txns)
	order := make([]uint32, 0, n)
	for t := 1; t < n; t++ {
		order = append(order, uint32(t))
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(spans[a].End, spans[b].End), cmp.Compare(a, b)) })
	first := make([]uint32, len(d.keys)+1) // by key: where its writers begin
	for _, k := range d.Writes {
		first[k+1]++
	}
	for k := range d.keys {
		first[k+1] += first[k]
	}
	writers, next := make([]uint32, len(d.Writes)), slices.Clone(first)
	for _, t := range order {
		for _, k := range d.writes(t) {
			writers[next[k]] = t
			next[k]++
		}
	}
	for t := 1; t < n; t++ {
		reads := d.reads(uint32(t))
		for i := range reads {
			r := &reads[i]
			if r.Writer == uint32(t) {
				continue
			}
			of := writers[first[r.Key]:first[r.Key+1]]
			from := 0
			if r.Writer != 0 { // those that ended before it began come before it
				from, _ = slices.BinarySearchFunc(of, spans[r.Writer].Start-drift, func(v uint32, at int64) int { return cmp.Compare(spans[v].End, at) })
			}
			for _, v := range of[from:] {
				if spans[v].End+drift >= spans[t].Start {
					break
				}
				if v == r.Writer {
					continue
				}
				if r.Writer == 0 || spans[r.Writer].End+drift < spans[v].Start {
					return false
				}
				d.edges = append(d.edges, Edge{From: v, To: r.Writer, By: uint32(t), Key: r.Key, Rule: Atomic})
			}
		}
	}
	return true
}
