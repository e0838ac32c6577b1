package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// saturatedCycle decides read atomic and causal. Let T3 read a key from T1, and let T2, another
// writer of the key, be in T3's past. Then T2 comes before T1 (dbcop, figures 2b and 2c). The
// past holds the transactions that T3 reads from (and follows in its session or in real time),
// or all that lead there. It is a cycle of such orders and of edges, nil if there is none.
func (w *witness) saturatedCycle(l Level) (cycle []finding.Dependency) {
	g := &arcGraph{out: make([][]arc, 2*len(w.Txns))}
	shown := w.shown
	if shown == nil {
		shown = w.show()
	}
	reads := shown.reads
	for i := range w.Edges {
		e := &w.Edges[i]
		if e.Label&finding.WR != 0 || e.Label&finding.Process != 0 && l.Family != Plain || e.Label&finding.Realtime != 0 && l.Family == Strong {
			g.add(e)
		}
	}
	for i := range reads {
		g.add(&reads[i])
	}
	past := g.clone()
	before := func(t2, t3 int) []*finding.Dependency {
		if l.Base == ReadAtomic {
			if i := slices.IndexFunc(past.out[2*t2], func(a arc) bool { return a.to == 2*t3 }); i >= 0 {
				return []*finding.Dependency{past.out[2*t2][i].edge}
			}
			return nil
		}
		way, _ := past.path(2*t2, 2*t3)
		return way
	}
	var saturated []finding.Dependency
	for i := range reads {
		e := &reads[i] // T1 -> T3
		for _, x := range shown.writes[e.Key] {
			if x.txn == e.From || x.txn == e.To {
				continue
			}
			if way := before(x.txn, e.To); way != nil {
				saturated = append(saturated, finding.Dependency{From: x.txn, To: e.From, Label: finding.Saturated, Key: e.Key, Value: e.Value, Shown: e.To, Past: steps(way)})
			}
		}
	}
	for i := range saturated {
		if way := g.cycle(saturated[i : i+1]); way != nil {
			return steps(way)
		}
		g.add(&saturated[i])
	}
	return nil
}

// steps are the edges of a way, by value.
func steps(way []*finding.Dependency) (all []finding.Dependency) {
	for _, e := range way {
		all = append(all, *e)
	}
	return all
}

// shown holds the observations and writes of registers in a witness's transactions.
type shown struct {
	writes map[string][]written // by key: final writes, in the order of the transactions
	reads  []finding.Dependency // wr edges
}

type written struct {
	txn   int
	value string
}

// show looks at each operation once: transactions may have many.
func (w *witness) show() *shown {
	s := &shown{writes: map[string][]written{}}
	for t := range w.Txns {
		for i := range w.Txns[t].Ops {
			o := &w.Txns[t].Ops[i]
			if o.Kind != event.Write {
				continue
			}
			all := s.writes[o.Key]
			if n := len(all); n > 0 && all[n-1].txn == t {
				all[n-1].value = o.Value
			} else {
				s.writes[o.Key] = append(all, written{t, o.Value})
			}
		}
	}
	for r := range w.Txns {
		seen := map[string]bool{}
		for i := range w.Txns[r].Ops {
			o := &w.Txns[r].Ops[i]
			all := s.writes[o.Key]
			if len(all) == 0 || seen[o.Key] {
				continue
			}
			if first, ok := external.Read(&w.Txns[r], o.Key); !ok || first != o {
				seen[o.Key] = !ok
				continue
			}
			seen[o.Key] = true
			if o.Flags&(event.NotFound|event.IsArray) != 0 || w.duplicate(r, o.Key) {
				continue
			}
			for _, x := range all {
				if x.txn != r && x.value == o.Value {
					s.reads = append(s.reads, finding.Dependency{From: x.txn, To: r, Label: finding.WR, Key: o.Key, Value: o.Value, Shown: -1})
				}
			}
		}
	}
	return s
}
