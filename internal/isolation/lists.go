package isolation

import (
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// This file tells which findings a delete of a list explains (docs/proofs.md, section 7). Let
// each element be appended once. Then no delete lies between lists that share an element, since
// it would have taken the element away for good. Their order stands, whoever deletes. A delete
// explains an empty list, and lists that share nothing. It also explains an append that no list
// shows beside the others. Its transaction must not have seen any of them: the append may have
// gone before.

// restsOnNoDelete says whether the edge over a list rests on nobody having deleted it.
func (b *Basis) restsOnNoDelete(w *finding.Witness, e *finding.Dependency) bool {
	switch {
	case e.Label&finding.Saturated != 0: // the one that is missed may have gone
		return true
	case e.Label&finding.RW != 0:
		seen := found(&w.Txns[e.From], e.Key)
		return !b.share(e.Key, seen, found(&w.Txns[e.To], e.Key)) && !eachList(w, e.Key, func(list []string) bool {
			return slices.Contains(list, e.Value) && b.share(e.Key, seen, list)
		})
	case e.Label&finding.WW != 0:
		before := appends(&w.Txns[e.From], e.Key)
		seen := found(&w.Txns[e.To], e.Key)
		return !eachList(w, e.Key, func(list []string) bool {
			return slices.ContainsFunc(before, func(a string) bool { return slices.Contains(list, a) }) && (slices.Contains(list, e.Value) || b.share(e.Key, seen, list))
		})
	}
	return false // who shows an element has seen its append
}

// Missed are elements that a transaction did not find in a list. It came before the append, unless
// somebody deleted the list between. Nobody did if the records show one of the elements later, or
// beside what the transaction had found (infer.Outlived). Without elements, nothing can show it.
type Missed struct {
	Txn      int // index into Witness.Txns
	Key      string
	Elements []string
}

// missedBy are the elements that the edge takes for appended later.
func missedBy(w *finding.Witness, e *finding.Dependency) Missed {
	switch {
	case e.Label&(finding.WW|finding.Saturated) == finding.WW && e.Shown >= 0: // who read a list without the element shows the order
		return Missed{e.Shown, e.Key, []string{e.Value}}
	case e.Label&finding.Saturated == 0:
		return Missed{e.From, e.Key, []string{e.Value}}
	case e.Shown >= 0:
		return Missed{e.Shown, e.Key, appends(&w.Txns[e.From], e.Key)}
	}
	return Missed{Key: e.Key}
}

// missedBoth adds what two transactions of a lost update missed of each other.
func (b *Basis) missedBoth(w *finding.Witness) {
	if w.Anomaly != finding.Divergence || len(w.Txns) != 2 {
		b.Missed = append(b.Missed, Missed{Key: w.Key})
		return
	}
	x, y := &w.Txns[0], &w.Txns[1]
	if !b.share(w.Key, found(x, w.Key), found(y, w.Key)) {
		b.Missed = append(b.Missed, Missed{0, w.Key, appends(y, w.Key)}, Missed{1, w.Key, appends(x, w.Key)})
	}
}

// found are the elements of others that t's first read of the list shows.
func found(t *event.Record, key string) []string {
	i := slices.IndexFunc(t.Ops, func(o event.RecordOp) bool {
		return o.Key == key && o.Kind == event.Read && !(t.Status == event.Unknown && o.Nothing())
	})
	if i < 0 {
		return nil
	}
	own := appends(t, key)
	return slices.DeleteFunc(slices.Clone(t.Ops[i].Elems), func(e string) bool { return slices.Contains(own, e) })
}

// appends are the elements that t appends to the list.
func appends(t *event.Record, key string) (elems []string) {
	for i := range t.Ops {
		if o := &t.Ops[i]; o.Key == key && o.Kind == event.Append {
			elems = append(elems, o.Value)
		}
	}
	return elems
}

// eachList says whether holds is true of a read of the list by a member.
func eachList(w *finding.Witness, key string, holds func([]string) bool) bool {
	return slices.ContainsFunc(w.Txns, func(t event.Record) bool {
		return slices.ContainsFunc(t.Ops, func(o event.RecordOp) bool { return o.Key == key && o.Kind == event.Read && holds(o.Elems) })
	})
}

// share says whether both show an element that was appended once.
func (b *Basis) share(key string, x, y []string) bool {
	return slices.ContainsFunc(x, func(e string) bool { return slices.Contains(y, e) && b.once(key, e) })
}

// apart says whether no element is in the lists of two transactions of w: somebody may have deleted
// the list between them.
func apart(w *finding.Witness, counts func(element string) bool) bool {
	by := map[string]int{} // who showed an element
	for i := range w.Txns {
		for j := range w.Txns[i].Ops {
			o := &w.Txns[i].Ops[j]
			if o.Key != w.Key || o.Kind != event.Read {
				continue
			}
			for _, e := range o.Elems {
				if first, shown := by[e]; shown && first != i && counts(e) {
					return false
				}
				by[e] = i
			}
		}
	}
	return true
}

// outOfOrder says whether a list of w's first transaction shows an append of the last one, and not
// behind what that had appended before.
func outOfOrder(w *finding.Witness) bool {
	last := &w.Txns[len(w.Txns)-1]
	own := appends(last, w.Key)
	if len(w.Txns) < 2 || slices.ContainsFunc(last.Ops, func(o event.RecordOp) bool { return o.Key == w.Key && o.Writes() && o.Kind != event.Append }) {
		return false
	}
	return eachList(&finding.Witness{Txns: w.Txns[:1]}, w.Key, func(list []string) bool {
		before := -1
		for _, e := range own {
			at := slices.Index(list, e)
			if at >= 0 && at < before {
				return true
			}
			if before = at; at < 0 {
				before = len(list)
			}
		}
		return false
	})
}

// listed says whether the key is a list: its reads show all of it, and nothing is its beginning.
func listed(w *finding.Witness, key string) bool {
	of := witness{Witness: w}
	for i := range w.Txns {
		ops := w.Txns[i].Ops
		for j := range ops { // a slices function would copy each
			o := &ops[j]
			if o.Key == key && ofList(&of, o) {
				return true
			}
		}
	}
	return false
}

// AppendedAgain says whether the record of a first attempt to append may be on its way. A list shows
// an element twice. Or it shows one to a reader that was over when the append of it began. w's
// transactions are looked at, and these keys. O(the square of w's operations).
func AppendedAgain(w *finding.Witness, keys []string) bool {
	for i := range w.Txns {
		for k := range w.Txns[i].Ops {
			o := &w.Txns[i].Ops[k]
			if o.Kind == event.Read && slices.Contains(keys, o.Key) && (showsTwice(o.Elems) || slices.ContainsFunc(w.Txns, func(t event.Record) bool {
				return isOver(w, &w.Txns[i], &t) && slices.ContainsFunc(t.Ops, func(x event.RecordOp) bool {
					return x.Kind == event.Append && x.Key == o.Key && slices.Contains(o.Elems, x.Value)
				})
			})) {
				return true
			}
		}
	}
	return false
}

func showsTwice(elems []string) bool {
	seen := map[string]bool{}
	for _, e := range elems {
		if seen[e] {
			return true
		}
		seen[e] = true
	}
	return false
}

// isOver says whether x had ended when y began: in their session, or by their clocks.
func isOver(w *finding.Witness, x, y *event.Record) bool {
	timed := x.Flags&y.Flags&event.HasTimes != 0
	switch {
	case x.Session == "" || x.Session != y.Session:
		return timed && y.Start > x.End+w.Drift
	case x.Flags&y.Flags&event.HasSeq != 0:
		return x.Seq < y.Seq
	}
	return timed && y.Start >= x.End
}
