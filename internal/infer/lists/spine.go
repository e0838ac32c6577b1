package lists

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// The spine of a list are its elements in the order that reads showed. Appends that no read has shown are
// unplaced: they come after the whole spine.

// connect gives the edges of a placed element whose writer has become known. They come from the element
// before and its readers, and lead to the element behind and to its own readers. old is the length of
// the spine before the read that is being taken in, or its whole length. An element that was unplaced
// until then already has its edges from the spine.
func (s *Lists) connect(v, old uint32) {
	x := s.Versions[v]
	w := x.Writer
	p := s.KnownBefore(x.Prev)
	s.checkOwnOrder(p, v)
	s.checkOwnOrder(v, s.KnownAfter(v))
	s.checkOwnBefore(v)
	start := p
	if start == 0 {
		start = s.Keys[x.Key].First
	}
	if x.Flags&ledger.InUnplaced == 0 || s.Versions[start].Index > old {
		if p != 0 {
			s.GiveEdge(s.Versions[p].Writer, w, ledger.WW, v, x.Witness)
		}
		for a := start; a != v && a != 0; a = s.Versions[a].Next {
			for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
				s.GiveEdge(s.Readers[r].Txn, w, ledger.RW, v, 0)
			}
		}
	} else if s.Opt.Tracked {
		// These readers got their edges when v had no place in the list. It was not known then that v
		// replaced the state that they saw. So these edges may be missing in the serializable orders.
		// If they are there, each reader has two edges.
		for r := s.Versions[x.Prev].Readers; r != 0; r = s.OlderReader(r) {
			s.GiveEdge(s.Readers[r].Txn, w, ledger.RW, v, 0)
		}
		if s.Txns[w].Flags&ledger.Retired != 0 && s.Versions[x.Prev].Flags&ledger.Seen != 0 {
			s.Report(ledger.Anomaly{Kind: ledger.RetiredConflict, A: w, Version: v})
		}
	}
	a := v
	for ; a != 0 && (a == v || s.Versions[a].Writer == 0); a = s.Versions[a].Next {
		if a != v && s.Versions[a].Flags&ledger.Seen != 0 { // v itself: see WroteLate in package causes
			s.Report(ledger.Anomaly{Kind: ledger.RetiredReader, A: w, Version: v})
		}
		for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
			s.GiveEdge(w, s.Readers[r].Txn, ledger.WR, v, 0)
		}
	}
	if a != 0 {
		s.GiveEdge(w, s.Versions[a].Writer, ledger.WW, a, s.Versions[a].Witness)
		return
	}
	for u := s.Keys[x.Key].Unplaced; u != 0; u = s.Versions[u].Sibling {
		s.GiveEdge(w, s.Versions[u].Writer, ledger.WW, u, x.Witness)
	}
}

// checkOwnOrder reports a read that shows p right before v, if one transaction appended v first and
// then p.
func (s *Lists) checkOwnOrder(p, v uint32) {
	if p == 0 || v == 0 || s.Versions[p].Writer != s.Versions[v].Writer {
		return
	}
	w := s.Versions[v].Writer
	if s.Writes[s.WriteOf(w, p)].Op > s.Writes[s.WriteOf(w, v)].Op {
		s.Report(ledger.Anomaly{Kind: ledger.IncompatibleOrder, A: s.Versions[v].Witness, B: w, Version: v, Other: p, Certain: true})
	}
}

// checkOwnBefore reports a read that shows v, and right before it not what v's writer had appended
// before, in the same transaction. If that is not known any more, v is behind the horizon. An element of
// another one between them is a cycle of writes. O(1), or O(writes of that transaction) where one is missing.
func (s *Lists) checkOwnBefore(v uint32) {
	x := &s.Versions[v]
	w, p := x.Writer, x.Prev
	if x.Flags&ledger.BehindOwn == 0 || s.Keys[x.Key].Flags&(ledger.Unsupported|ledger.Deleted) != 0 || p != 0 && (s.Versions[p].Writer == w || s.WriteOf(w, p) != 0) {
		return
	}
	if s.mayReturn(v) || s.Opt.Causal() && s.BeganBehind(w, x.Witness) {
		s.Counters.Ambiguous++ // it may be of another attempt
		return
	}
	id, last := s.WriteOf(w, v), uint32(0)
	for other := s.Txns[w].Writes; other != 0 && id != 0; other = s.Writes[other].NextOfTxn {
		y := &s.Writes[other]
		if s.Versions[y.Version].Key == x.Key && y.Op < s.Writes[id].Op && (last == 0 || y.Op > s.Writes[last].Op) {
			last = other
		}
	}
	switch {
	case last == 0 && s.Txns[w].Flags&ledger.Retired != 0:
		s.Report(ledger.Anomaly{Kind: ledger.RetiredRead, A: x.Witness, Version: v})
	case last != 0 && s.Versions[s.Writes[last].Version].Flags&(ledger.Placed|ledger.Ambiguous) == 0:
		s.Report(ledger.Anomaly{Kind: ledger.IncompatibleOrder, A: x.Witness, B: w, Version: v, Other: s.Writes[last].Version, Certain: true})
	}
}

// Settle makes n the one writer of the element v. again says that another element of n in this list
// was settled just before. Then the edges from states that no later read has overtaken are there
// already.
func (s *Lists) Settle(v, id, n uint32, again bool) {
	x := &s.Versions[v]
	x.Writer = n
	s.WroteLate(v)
	if x.Flags&ledger.Placed != 0 {
		s.connect(v, s.Keys[x.Key].Length)
		if s.Writes[id].Intermediate {
			for r := x.Readers; r != 0; r = s.OlderReader(r) {
				s.IntermediateRead(v, s.Readers[r].Txn, s.Readers[r].Op)
			}
		}
		return
	}
	k := &s.Keys[x.Key]
	if x.Flags&ledger.Kept != 0 {
		s.Unkeep(v)
	}
	x.Flags |= ledger.InUnplaced
	x.Sibling, x.SibPrev = k.Unplaced, 0
	if k.Unplaced != 0 {
		s.Versions[k.Unplaced].SibPrev = v
	}
	k.Unplaced = v
	if again {
		return
	}
	a := s.KnownBefore(k.Last)
	if a != 0 {
		s.GiveEdge(s.Versions[a].Writer, n, ledger.WW, v, s.Versions[k.Last].Witness)
	} else {
		a = k.First
	}
	for ; a != 0; a = s.Versions[a].Next {
		for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
			s.GiveEdge(s.Readers[r].Txn, n, ledger.RW, v, 0)
		}
	}
}

func (s *Lists) unlinkUnplaced(v uint32) {
	x := &s.Versions[v]
	if x.SibPrev != 0 {
		s.Versions[x.SibPrev].Sibling = x.Sibling
	} else {
		s.Keys[x.Key].Unplaced = x.Sibling
	}
	if x.Sibling != 0 {
		s.Versions[x.Sibling].SibPrev = x.SibPrev
	}
	x.Sibling, x.SibPrev = 0, 0
	x.Flags &^= ledger.InUnplaced
}

// bridge connects the neighbours of a placed element that has lost its writer. A list that somebody has
// deleted gives no edges (Replaced).
func (s *Lists) bridge(v uint32) {
	const gone = ledger.Unsupported | ledger.Deleted
	if s.Keys[s.Versions[v].Key].Flags&gone == gone {
		return
	}
	p, q := s.KnownBefore(s.Versions[v].Prev), s.KnownAfter(v)
	if q != 0 {
		if p != 0 {
			s.GiveEdge(s.Versions[p].Writer, s.Versions[q].Writer, ledger.WW, q, s.Versions[q].Witness)
		}
		a := p
		if a == 0 {
			a = s.Keys[s.Versions[v].Key].First
		}
		for ; a != q && a != 0; a = s.Versions[a].Next {
			for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
				s.GiveEdge(s.Readers[r].Txn, s.Versions[q].Writer, ledger.RW, q, 0)
			}
		}
	}
	if p == 0 {
		return
	}
	for a := v; a != q && a != 0; a = s.Versions[a].Next {
		for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
			s.GiveEdge(s.Versions[p].Writer, s.Readers[r].Txn, ledger.WR, p, 0)
		}
	}
}

// Dispute takes back what rests on w being the only possible writer of the element v.
func (s *Lists) Dispute(v, w uint32) {
	s.Kill(v, w, ledger.WW|ledger.WR|ledger.RW)
	if s.Versions[v].Flags&ledger.Placed == 0 {
		s.unlinkUnplaced(v)
		return
	}
	for q := s.Versions[v].Next; q != 0; q = s.Versions[q].Next {
		s.Kill(q, w, ledger.WW)
	}
	for u := s.Keys[s.Versions[v].Key].Unplaced; u != 0; u = s.Versions[u].Sibling {
		s.Kill(u, w, ledger.WW)
	}
	s.bridge(v)
}

func (s *Lists) appendedOnce(v uint32) bool {
	x := &s.Versions[v]
	return x.Writer != 0 && x.Flags&(ledger.Ambiguous|ledger.Baseline) == 0 && s.Txns[x.Writer].Flags&ledger.Unknown == 0
}

// mayReturn says whether somebody may append the element v again when the list was deleted. Several
// did, or the contract leaves that who did tries again without a record.
func (s *Lists) mayReturn(v uint32) bool {
	return !s.appendedOnce(v) && (!s.Opt.Complete || s.Versions[v].Flags&ledger.Ambiguous != 0)
}

// Freeze drops elements from the beginning of the list. An element goes when it and the next
// have retired and no live transaction read the list up to it.
func (s *Lists) Freeze(k uint32) {
	for {
		x := &s.Keys[k]
		f := x.First
		e := s.Versions[f].Next
		if e == 0 || s.Versions[f].Readers != 0 || s.Versions[f].Due > 0 || !s.Gone(f) || !s.frozen(e) {
			return
		}
		x.First = e
		s.Versions[e].Prev = 0
		if f == x.Initial {
			s.Versions[f].Next = 0
			s.Versions[f].Flags |= ledger.Overwritten
			continue
		}
		x.Base, x.BasePrefix = s.Versions[f].Index, s.Versions[f].Prefix
		if y := &s.Versions[f]; y.Flags&ledger.Baseline == 0 && !s.AppendedEarly(f) {
			x.Flags |= causes.Since
		}
		s.Values.Add(s.KeyOfValue(f))
		if s.mayReturn(f) {
			s.Twice.Add(s.KeyOfValue(f))
		}
		s.FreeVersionNow(f)
	}
}

// frozen says whether rule (d) reports each new edge to the list element e from a reader of the
// state before it. An element without a writer is kept: its append may still come, and must not
// be taken for a new one.
func (s *Lists) frozen(e uint32) bool {
	x := &s.Versions[e]
	if x.Due > 0 || !s.Gone(e) {
		return false
	}
	if x.Possible > 0 || x.Flags&ledger.Baseline != 0 && x.Readers == 0 {
		return true
	}
	if k := x.Key; s.Keys[k].Length-s.Keys[k].Base > maxSpine {
		s.GiveUp(k)
		return x.Readers == 0
	}
	return false
}

// Unsettle takes the element v from its writer. It stays where reads showed it.
func (s *Lists) Unsettle(v uint32) {
	if x := &s.Versions[v]; x.Flags&ledger.Placed != 0 {
		s.bridge(v)
	} else if x.Flags&ledger.InUnplaced != 0 {
		s.unlinkUnplaced(v)
	}
}

// Replaced takes back what rests on k having been appended to only: another operation may have replaced
// or deleted it.
func (s *Lists) Replaced(k uint32) {
	x := &s.Keys[k]
	defer s.ReadCounts.Settle(&s.Ledger, x.Initial)
	s.Out.Parted = append(s.Out.Parted, s.KeyOfValue(x.Initial)) // of findings about elements that have left
	for v := x.First; v != 0; v = s.Versions[v].Next {
		s.voidElement(v)
	}
	for v := x.Unplaced; v != 0; v = s.Versions[v].Sibling {
		s.voidElement(v)
	}
}

// voidElement takes back what rests on the element v, of a list that somebody has deleted.
func (s *Lists) voidElement(v uint32) {
	s.ReadCounts.Settle(&s.Ledger, v)
	s.Kill(v, s.Versions[v].Writer, ledger.WW|ledger.WR|ledger.RW)
	s.Out.Kills[len(s.Out.Kills)-1].Deleted = true
	s.Out.Parted = append(s.Out.Parted, s.KeyOfValue(v))
}

// maxSpine bounds the elements that are kept of a list because the writer of one
// of them is missing. Beyond it nothing more is concluded about the key.
const maxSpine = 4096

// CheckSpines audits the spine of each list, and its appends that no read has shown.
func (s *Lists) CheckSpines() error {
	for k := 1; k < len(s.Keys); k++ {
		x := &s.Keys[k]
		index := s.Versions[x.First].Index
		for v := s.Versions[x.First].Next; x.Kind == event.List && x.Length > 0 && v != 0; v = s.Versions[v].Next {
			y := &s.Versions[v]
			if index++; y.Index != index || y.Key != uint32(k) || y.Flags&ledger.Placed == 0 {
				return fmt.Errorf("key %d: version %d has index %d, want %d", k, v, y.Index, index)
			}
		}
		if x.Length > 0 && index != x.Length && x.Kind == event.List {
			return fmt.Errorf("key %d: spine ends at %d, length %d", k, index, x.Length)
		}
		for v := x.Unplaced; x.Kind == event.List && v != 0; v = s.Versions[v].Sibling {
			if s.Versions[v].Flags&ledger.InUnplaced == 0 || s.Versions[v].Writer == 0 {
				return fmt.Errorf("key %d: version %d is in the chain of unplaced", k, v)
			}
		}
	}
	return nil
}

// Elements appends to vs the elements of the list k in memory, placed and unplaced. It stops when there are more than
// the key counts.
func (s *Lists) Elements(vs []uint32, k uint32) []uint32 {
	x := &s.Keys[k]
	v := x.First
	if v == x.Initial {
		v = s.Versions[v].Next
	}
	for ; v != 0 && len(vs) <= int(x.Count); v = s.Versions[v].Next {
		vs = append(vs, v)
	}
	for v := x.Unplaced; v != 0 && len(vs) <= int(x.Count); v = s.Versions[v].Sibling {
		vs = append(vs, v)
	}
	return vs
}
