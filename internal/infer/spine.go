package infer

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// The spine of a list are its elements in the order that reads showed. Appends that no read has shown are
// unplaced: they come after the whole spine.

// connect gives the edges of a placed element whose writer has become known. They come from the element
// before and its readers, and lead to the element behind and to its own readers. old is the length of
// the spine before the read that is being taken in, or its whole length. An element that was unplaced
// until then already has its edges from the spine.
func (s *lists) connect(v, old uint32) {
	x := s.versions[v]
	w := x.writer
	p := s.knownBefore(x.prev)
	s.checkOwnOrder(p, v)
	s.checkOwnOrder(v, s.knownAfter(v))
	s.checkOwnBefore(v)
	start := p
	if start == 0 {
		start = s.keys[x.key].first
	}
	if x.flags&inUnplaced == 0 || s.versions[start].index > old {
		if p != 0 {
			s.edge(s.versions[p].writer, w, WW, v, x.witness)
		}
		for a := start; a != v && a != 0; a = s.versions[a].next {
			for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
				s.edge(s.readers[r].txn, w, RW, v, 0)
			}
		}
	} else if s.opt.Tracked {
		// These readers got their edges when v had no place in the list. It was not known then that v
		// replaced the state that they saw. So these edges may be missing in the serializable orders.
		// If they are there, each reader has two edges.
		for r := s.versions[x.prev].readers; r != 0; r = s.olderReader(r) {
			s.edge(s.readers[r].txn, w, RW, v, 0)
		}
		if s.txns[w].flags&retired != 0 && s.versions[x.prev].flags&seen != 0 {
			s.anomaly(Anomaly{Kind: RetiredConflict, A: w, Version: v})
		}
	}
	a := v
	for ; a != 0 && (a == v || s.versions[a].writer == 0); a = s.versions[a].next {
		if a != v && s.versions[a].flags&seen != 0 { // v itself: see wroteLate
			s.anomaly(Anomaly{Kind: RetiredReader, A: w, Version: v})
		}
		for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
			s.edge(w, s.readers[r].txn, WR, v, 0)
		}
	}
	if a != 0 {
		s.edge(w, s.versions[a].writer, WW, a, s.versions[a].witness)
		return
	}
	for u := s.keys[x.key].unplaced; u != 0; u = s.versions[u].sibling {
		s.edge(w, s.versions[u].writer, WW, u, x.witness)
	}
}

// checkOwnOrder reports a read that shows p right before v, if one transaction appended v first and
// then p.
func (s *lists) checkOwnOrder(p, v uint32) {
	if p == 0 || v == 0 || s.versions[p].writer != s.versions[v].writer {
		return
	}
	w := s.versions[v].writer
	if s.writes[s.writeOf(w, p)].op > s.writes[s.writeOf(w, v)].op {
		s.anomaly(Anomaly{Kind: IncompatibleOrder, A: s.versions[v].witness, B: w, Version: v, Other: p, Certain: true})
	}
}

// checkOwnBefore reports a read that shows v, and right before it not what v's writer had appended
// before, in the same transaction. If that is not known any more, v is behind the horizon. An element of
// another one between them is a cycle of writes. O(1), or O(writes of that transaction) where one is missing.
func (s *lists) checkOwnBefore(v uint32) {
	x := &s.versions[v]
	w, p := x.writer, x.prev
	if x.flags&behindOwn == 0 || s.keys[x.key].flags&(unsupported|deleted) != 0 || p != 0 && (s.versions[p].writer == w || s.writeOf(w, p) != 0) {
		return
	}
	if s.mayReturn(v) || s.opt.causal() && s.beganBehind(w, x.witness) {
		s.Counters.Ambiguous++ // it may be of another attempt
		return
	}
	id, last := s.writeOf(w, v), uint32(0)
	for other := s.txns[w].writes; other != 0 && id != 0; other = s.writes[other].nextOfTxn {
		y := &s.writes[other]
		if s.versions[y.version].key == x.key && y.op < s.writes[id].op && (last == 0 || y.op > s.writes[last].op) {
			last = other
		}
	}
	switch {
	case last == 0 && s.txns[w].flags&retired != 0:
		s.anomaly(Anomaly{Kind: RetiredRead, A: x.witness, Version: v})
	case last != 0 && s.versions[s.writes[last].version].flags&(placed|ambiguous) == 0:
		s.anomaly(Anomaly{Kind: IncompatibleOrder, A: x.witness, B: w, Version: v, Other: s.writes[last].version, Certain: true})
	}
}

// Settle makes n the one writer of the element v. again says that another element of n in this list
// was settled just before. Then the edges from states that no later read has overtaken are there
// already.
func (s *lists) Settle(v, id, n uint32, again bool) {
	x := &s.versions[v]
	x.writer = n
	s.wroteLate(v)
	if x.flags&placed != 0 {
		s.connect(v, s.keys[x.key].length)
		if s.writes[id].intermediate {
			for r := x.readers; r != 0; r = s.olderReader(r) {
				s.intermediateRead(v, s.readers[r].txn, s.readers[r].op)
			}
		}
		return
	}
	k := &s.keys[x.key]
	if x.flags&kept != 0 {
		s.unkeep(v)
	}
	x.flags |= inUnplaced
	x.sibling, x.sibPrev = k.unplaced, 0
	if k.unplaced != 0 {
		s.versions[k.unplaced].sibPrev = v
	}
	k.unplaced = v
	if again {
		return
	}
	a := s.knownBefore(k.last)
	if a != 0 {
		s.edge(s.versions[a].writer, n, WW, v, s.versions[k.last].witness)
	} else {
		a = k.first
	}
	for ; a != 0; a = s.versions[a].next {
		for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
			s.edge(s.readers[r].txn, n, RW, v, 0)
		}
	}
}

func (s *lists) unlinkUnplaced(v uint32) {
	x := &s.versions[v]
	if x.sibPrev != 0 {
		s.versions[x.sibPrev].sibling = x.sibling
	} else {
		s.keys[x.key].unplaced = x.sibling
	}
	if x.sibling != 0 {
		s.versions[x.sibling].sibPrev = x.sibPrev
	}
	x.sibling, x.sibPrev = 0, 0
	x.flags &^= inUnplaced
}

// bridge connects the neighbours of a placed element that has lost its writer. A list that somebody has
// deleted gives no edges (replaced).
func (s *lists) bridge(v uint32) {
	const gone = unsupported | deleted
	if s.keys[s.versions[v].key].flags&gone == gone {
		return
	}
	p, q := s.knownBefore(s.versions[v].prev), s.knownAfter(v)
	if q != 0 {
		if p != 0 {
			s.edge(s.versions[p].writer, s.versions[q].writer, WW, q, s.versions[q].witness)
		}
		a := p
		if a == 0 {
			a = s.keys[s.versions[v].key].first
		}
		for ; a != q && a != 0; a = s.versions[a].next {
			for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
				s.edge(s.readers[r].txn, s.versions[q].writer, RW, q, 0)
			}
		}
	}
	if p == 0 {
		return
	}
	for a := v; a != q && a != 0; a = s.versions[a].next {
		for r := s.versions[a].readers; r != 0; r = s.olderReader(r) {
			s.edge(s.versions[p].writer, s.readers[r].txn, WR, p, 0)
		}
	}
}

// Dispute takes back what rests on w being the only possible writer of the element v.
func (s *lists) Dispute(v, w uint32) {
	s.kill(v, w, WW|WR|RW)
	if s.versions[v].flags&placed == 0 {
		s.unlinkUnplaced(v)
		return
	}
	for q := s.versions[v].next; q != 0; q = s.versions[q].next {
		s.kill(q, w, WW)
	}
	for u := s.keys[s.versions[v].key].unplaced; u != 0; u = s.versions[u].sibling {
		s.kill(u, w, WW)
	}
	s.bridge(v)
}

func (s *lists) appendedOnce(v uint32) bool {
	x := &s.versions[v]
	return x.writer != 0 && x.flags&(ambiguous|baseline) == 0 && s.txns[x.writer].flags&unknown == 0
}

// mayReturn says whether somebody may append the element v again when the list was deleted. Several
// did, or the contract leaves that who did tries again without a record.
func (s *lists) mayReturn(v uint32) bool {
	return !s.appendedOnce(v) && (!s.opt.Complete || s.versions[v].flags&ambiguous != 0)
}

// Freeze drops elements from the beginning of the list. An element goes when it and the next
// have retired and no live transaction read the list up to it.
func (s *lists) Freeze(k uint32) {
	for {
		x := &s.keys[k]
		f := x.first
		e := s.versions[f].next
		if e == 0 || s.versions[f].readers != 0 || s.versions[f].due > 0 || !s.gone(f) || !s.frozen(e) {
			return
		}
		x.first = e
		s.versions[e].prev = 0
		if f == x.initial {
			s.versions[f].next = 0
			s.versions[f].flags |= overwritten
			continue
		}
		x.base, x.basePrefix = s.versions[f].index, s.versions[f].prefix
		if y := &s.versions[f]; y.flags&baseline == 0 && !s.appendedEarly(f) {
			x.flags |= since
		}
		s.values.add(s.valueKey(f))
		if s.mayReturn(f) {
			s.twice.add(s.valueKey(f))
		}
		s.freeVersionNow(f)
	}
}

// frozen says whether rule (d) reports each new edge to the list element e from a reader of the
// state before it. An element without a writer is kept: its append may still come, and must not
// be taken for a new one.
func (s *lists) frozen(e uint32) bool {
	x := &s.versions[e]
	if x.due > 0 || !s.gone(e) {
		return false
	}
	if x.possible > 0 || x.flags&baseline != 0 && x.readers == 0 {
		return true
	}
	if k := x.key; s.keys[k].length-s.keys[k].base > maxSpine {
		s.giveUp(k)
		return x.readers == 0
	}
	return false
}

// Unsettle takes the element v from its writer. It stays where reads showed it.
func (s *lists) Unsettle(v uint32) {
	if x := &s.versions[v]; x.flags&placed != 0 {
		s.bridge(v)
	} else if x.flags&inUnplaced != 0 {
		s.unlinkUnplaced(v)
	}
}

// Replaced takes back what rests on k having been appended to only: another operation may have replaced
// or deleted it.
func (s *lists) Replaced(k uint32) {
	x := &s.keys[k]
	defer s.reads.settle(&s.ledger, x.initial)
	s.out.Parted = append(s.out.Parted, s.valueKey(x.initial)) // of findings about elements that have left
	for v := x.first; v != 0; v = s.versions[v].next {
		s.voidElement(v)
	}
	for v := x.unplaced; v != 0; v = s.versions[v].sibling {
		s.voidElement(v)
	}
}

// voidElement takes back what rests on the element v, of a list that somebody has deleted.
func (s *lists) voidElement(v uint32) {
	s.reads.settle(&s.ledger, v)
	s.kill(v, s.versions[v].writer, WW|WR|RW)
	s.out.Kills[len(s.out.Kills)-1].Deleted = true
	s.out.Parted = append(s.out.Parted, s.valueKey(v))
}

// maxSpine bounds the elements that are kept of a list because the writer of one
// of them is missing. Beyond it nothing more is concluded about the key.
const maxSpine = 4096

// check audits the spine of each list, and its appends that no read has shown.
func (s *lists) check() error {
	for k := 1; k < len(s.keys); k++ {
		x := &s.keys[k]
		index := s.versions[x.first].index
		for v := s.versions[x.first].next; x.kind == event.List && x.length > 0 && v != 0; v = s.versions[v].next {
			y := &s.versions[v]
			if index++; y.index != index || y.key != uint32(k) || y.flags&placed == 0 {
				return fmt.Errorf("key %d: version %d has index %d, want %d", k, v, y.index, index)
			}
		}
		if x.length > 0 && index != x.length && x.kind == event.List {
			return fmt.Errorf("key %d: spine ends at %d, length %d", k, index, x.length)
		}
		for v := x.unplaced; x.kind == event.List && v != 0; v = s.versions[v].sibling {
			if s.versions[v].flags&inUnplaced == 0 || s.versions[v].writer == 0 {
				return fmt.Errorf("key %d: version %d is in the chain of unplaced", k, v)
			}
		}
	}
	return nil
}

// elements appends to vs the elements of the list k in memory, placed and unplaced. It stops when there are more than
// the key counts.
func (s *lists) elements(vs []uint32, k uint32) []uint32 {
	x := &s.keys[k]
	v := x.first
	if v == x.initial {
		v = s.versions[v].next
	}
	for ; v != 0 && len(vs) <= int(x.count); v = s.versions[v].next {
		vs = append(vs, v)
	}
	for v := x.unplaced; v != 0 && len(vs) <= int(x.count); v = s.versions[v].sibling {
		vs = append(vs, v)
	}
	return vs
}
