package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/external"
)

// Choice is a pair of transactions that both installed a version of a register, or appended to
// a list, in an order that nobody saw. Either A came before B, and so did the readers of A's
// version, or the other way round (PolySI, definition 9). With Writers it is a read: A read a
// value that one of Writers had left in a register.
type Choice struct {
	Key     string
	A, B    int   // indexes into Witness.Txns
	Writers []int // also; all that may have written what A read
}

// DuplicateRead is a transaction's read of a key.
type DuplicateRead struct {
	Txn int // index into Witness.Txns
	Key string
}

// side is one way out of a choice: first comes before then; of a read, then read
// what first had written.
type side struct {
	first, then int
	read        bool
}

func sidesOf(c *finding.Choice) []side {
	if len(c.Writers) == 0 {
		return []side{{c.A, c.B, false}, {c.B, c.A, false}}
	}
	var all []side
	for _, t := range c.Writers {
		all = append(all, side{t, c.A, true})
	}
	return all
}

// duplicate says whether several may have written what the transaction read of the key.
func (w *witness) duplicate(txn int, key string) bool {
	return slices.Contains(w.Repeated, finding.DuplicateRead{Txn: txn, Key: key})
}

// edgesOf are the edges that follow from a side, together with the sides that were taken
// before.
func (w *witness) edgesOf(g *arcGraph, key string, x side) []finding.Dependency {
	var es []finding.Dependency
	anti := func(reader, then int) {
		if write, ok := external.FinalWrite(&w.Txns[then], key); ok && reader != then {
			es = append(es, finding.Dependency{From: reader, To: then, Label: finding.RW, Key: key, Value: write.Value, Shown: -1, Assumed: true})
		}
	}
	if !x.read {
		es = w.sideEdges(key, x, g.lost)
		for _, t := range g.taken {
			if t.read && t.key == key && t.first == x.first {
				anti(t.then, x.then)
			}
		}
		return es
	}
	if write, ok := external.FinalWrite(&w.Txns[x.first], key); ok {
		es = append(es, finding.Dependency{From: x.first, To: x.then, Label: finding.WR, Key: key, Value: write.Value, Shown: -1, Assumed: true})
	}
	for _, t := range g.taken {
		if !t.read && t.key == key && t.first == x.first {
			anti(x.then, t.then)
		}
	}
	return es
}

// keyed is a value of a key.
type keyed struct{ key, value string }

// namers are the transactions, in order, that read the value of the key, or say that they replaced
// it. O(operations of the witness) for the first call.
func (w *witness) namers(key, value string) []int {
	if w.naming == nil {
		w.naming = map[keyed][]int{}
		for i := range w.Txns {
			for j := range w.Txns[i].Ops {
				o := &w.Txns[i].Ops[j]
				w.enter(keyed{o.Key, o.Value}, i)
				if o.PrevVersion != "" {
					w.enter(keyed{o.Key, o.PrevVersion}, i)
				}
			}
		}
	}
	return w.naming[keyed{key, value}]
}

func (w *witness) enter(x keyed, txn int) {
	if all := w.naming[x]; len(all) == 0 || all[len(all)-1] != txn {
		w.naming[x] = append(all, txn)
	}
}

// sideEdges are the edges that follow if first's version of the key comes before then's
// version. They are the write dependency and the anti-dependencies of its readers. lost says
// that updates may be lost at the level, as at prefix.
func (w *witness) sideEdges(key string, x side, lost bool) []finding.Dependency {
	write, ok := external.FinalWrite(&w.Txns[x.then], key)
	if !ok { // an append; nothing is said of its readers here
		return []finding.Dependency{{From: x.first, To: x.then, Label: finding.WW, Key: key, Shown: -1, Assumed: true}}
	}
	es := []finding.Dependency{{From: x.first, To: x.then, Label: finding.WW, Key: key, Value: write.Value, Shown: -1, Assumed: true}}
	before, ok := external.FinalWrite(&w.Txns[x.first], key)
	if !ok { // a delete, whose readers saw nothing
		return es
	}
	for _, r := range w.namers(key, before.Value) {
		if o, ok := external.Read(&w.Txns[r], key); ok && r != x.then && r != x.first && o.Flags&event.NotFound == 0 && o.Value == before.Value && !w.duplicate(r, key) {
			es = append(es, finding.Dependency{From: r, To: x.then, Label: finding.RW, Key: key, Value: write.Value, Shown: -1, Assumed: true})
		}
		if !lost && r != x.then && names(&w.Txns[r], key, before.Value) && !names(&w.Txns[x.then], key, before.Value) { // nothing comes between
			es = append(es, finding.Dependency{From: r, To: x.then, Label: finding.WW, Key: key, Value: write.Value, Shown: -1, Assumed: true})
		}
	}
	return es
}
