package lists

import (
	"math/bits"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/causes"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/infer/registers"
)

// Lists has keys whose operations append.
type Lists struct {
	*registers.Registers
	prefixes []uint64 // scratch
}

// nextPrefix is the hash of a list that is one element longer. Two lists with
// the same hash and length are taken as equal (64 bits, compared only within a
// key).
func nextPrefix(h uint64, e event.Hash) uint64 {
	return bits.RotateLeft64((h^e.Lo)*0x9e3779b97f4a7c15, 29) + e.Hi
}

// Append takes an append of the element with the hash h by n's operation op.
func (s *Lists) Append(c *causes.Touch, n, op uint32, h event.Hash) {
	if c.Flags&causes.Wrote != 0 {
		s.Writes[c.LastWrite].Intermediate = true
		s.Versions[s.Writes[c.LastWrite].Version].Flags |= ledger.OverwrittenByWriter
	}
	v := s.InternVersion(c.Key, h)
	if c.Flags&causes.Wrote != 0 {
		s.Versions[v].Flags |= ledger.BehindOwn
	}
	s.Pin(n)
	c.LastWrite = s.AddWrite(n, v, op)
	c.Flags |= causes.Wrote
	s.PushOwn(c, h)
}

// ReadList takes a read of a list: own appends must be its end, and what is
// before them is the external read.
func (s *Lists) ReadList(b *event.Batch, c *causes.Touch, n, op uint32, o *event.Op) {
	if o.Nothing() && s.Txns[n].Flags&ledger.Unknown != 0 {
		return // what it saw is not known
	}
	var elems []event.Elem
	if o.Flags&event.NotFound == 0 {
		if o.Flags&event.IsArray == 0 {
			s.GiveUp(c.Key)
			s.ReadUnchecked(n, c.Key)
			return
		}
		elems = b.ElemsOf(o)
	}
	if c.Flags&causes.OwnMissed != 0 {
		return // reported once
	}
	i := c.LastOwn
	for ; i != 0; i = s.Own[i-1].Prev {
		k := len(elems)
		if k == 0 || elems[k-1].Hash != s.Own[i-1].Hash {
			s.Misreads(ledger.Internal, c, n, op, s.enclosing(c, b.ElemsOf(o)))
			return
		}
		elems = elems[:k-1]
	}
	if c.Flags&causes.Misread != 0 {
		return // reported once
	}
	h := s.hashPrefixes(elems)
	if c.Flags&causes.HasRead != 0 {
		if c.ReadLen != uint32(len(elems)) || c.ReadHash.Lo != h {
			s.Misreads(ledger.Nonrepeatable, c, n, op, 0)
		} else {
			s.SawAgain(c.ReadVer, n)
		}
		return
	}
	c.Flags |= causes.HasRead
	c.ReadLen, c.ReadHash.Lo, c.ReadOp = uint32(len(elems)), h, op
	if s.afterUnseen(c.Key, elems) {
		s.CountAbsent()
		s.ReadOpen(n, ledger.OpenNothing)
		return
	}
	c.ReadVer = s.show(c.Key, elems, n, op)
	if c.ReadVer != 0 {
		s.AddReader(n, c.ReadVer, op)
	} else {
		s.ReadCounts.Total++
	}
}

// enclosing is the transaction that appended the elements right before and right behind some
// appends of the transaction in work, 0 if there is none. Elle takes the list for the order of
// the appends all the same, and this for a write cycle.
func (s *Lists) enclosing(c *causes.Touch, elems []event.Elem) uint32 {
	if len(elems)*len(s.Own) > maxEnclosed {
		return 0
	}
	before, own := uint32(0), false
	for i := range elems {
		if s.appendedBy(c, elems[i].Hash) {
			own = true
			continue
		}
		w := uint32(0)
		if v := s.LookupVersion(c.Key, elems[i].Hash); v != 0 {
			w = s.Versions[v].Writer
		}
		if own && w != 0 && w == before {
			return w
		}
		before, own = w, false
	}
	return 0
}

// maxEnclosed bounds the comparisons for one misread list.
const maxEnclosed = 1 << 16

// appendedBy says whether the transaction in work appended the element.
func (s *Lists) appendedBy(c *causes.Touch, h event.Hash) bool {
	for i := c.LastOwn; i != 0; i = s.Own[i-1].Prev {
		if s.Own[i-1].Hash == h {
			return true
		}
	}
	return false
}

// hashPrefixes fills s.prefixes with the hash of every prefix of elems, prefixes[i] for the
// first i, and returns the last.
func (s *Lists) hashPrefixes(elems []event.Elem) uint64 {
	s.prefixes = append(s.prefixes[:0], 0)
	h := uint64(0)
	for i := range elems {
		h = nextPrefix(h, elems[i].Hash)
		s.prefixes = append(s.prefixes, h)
	}
	return h
}

// show compares a list read with the spine of its key, and extends the spine by the elements
// that the read shows beyond it. It returns the version of the last element. It is 0 when the
// read contradicts the spine or is older than the kept part.
func (s *Lists) show(k uint32, elems []event.Elem, n, op uint32) uint32 {
	x := &s.Keys[k]
	count := uint32(len(elems))
	if count < x.Base || count == x.Base && s.Versions[x.Initial].Flags&ledger.Overwritten != 0 {
		s.oldState(k, elems, n, op)
		return 0
	}
	if count == 0 {
		return x.Initial
	}
	same := min(count, x.Length)
	for same > x.Base {
		if v := s.elementAt(k, elems[same-1].Hash, same); v != 0 && s.Versions[v].Prefix == s.prefixes[same] {
			break
		}
		same--
	}
	if same == x.Base && x.Base > 0 && s.prefixes[same] != x.BasePrefix {
		s.oldState(k, elems, n, op) // the list begins otherwise than the frozen list
		return 0
	}
	if same < min(count, x.Length) {
		s.contradict(k, elems, same, n, op)
		return 0
	}
	if count > x.Length {
		s.extend(k, elems, n, op)
	}
	if same == count {
		if same == 0 {
			return x.Initial
		}
		return s.elementAt(k, elems[same-1].Hash, same)
	}
	return s.Keys[k].Last
}

// elementAt is the version of the spine with this value at the position, 0 if
// another one is there.
func (s *Lists) elementAt(k uint32, h event.Hash, position uint32) uint32 {
	if v := s.LookupVersion(k, h); v != 0 && s.Versions[v].Index == position {
		return v
	}
	if v := s.LookupVersion(k, standIn(h, position)); v != 0 && s.Versions[v].Index == position {
		return v
	}
	return 0
}

// standIn is the value of what is put into the spine for a repeated element.
func standIn(h event.Hash, position uint32) event.Hash {
	return event.Hash{Lo: h.Lo + uint64(position)*0x9e3779b97f4a7c15, Hi: ^h.Hi}
}

// stoodFor is the element that a version with the value of a stand-in repeats.
func stoodFor(h event.Hash, position uint32) event.Hash {
	return event.Hash{Lo: h.Lo - uint64(position)*0x9e3779b97f4a7c15, Hi: ^h.Hi}
}

// contradict reports a read that shows another element than the spine behind the first same
// ones. The read did see its last element.
func (s *Lists) contradict(k uint32, elems []event.Elem, same, n, op uint32) {
	v := s.Keys[k].Last
	for s.Versions[v].Index > same+1 {
		v = s.Versions[v].Prev
	}
	s.Report(ledger.Anomaly{Kind: ledger.IncompatibleOrder, A: n, B: s.Versions[v].Witness, Version: v, OpA: op, Certain: true})
	if last := s.LookupVersion(k, elems[len(elems)-1].Hash); last != 0 {
		if w := s.Versions[last].Writer; w != 0 && s.BeganBehind(w, n) && s.AttemptOpen(last, n) {
			s.TriesAgain(w)
		} else if w != 0 {
			s.GiveEdge(w, n, ledger.WR, last, 0)
		}
	}
}

// extend places the elements that the read of n shows beyond the spine.
func (s *Lists) extend(k uint32, elems []event.Elem, n, op uint32) {
	old := s.Keys[k].Length
	for i := int(old); i < len(elems); i++ {
		v := s.InternVersion(k, elems[i].Hash)
		if s.Versions[v].Flags&ledger.Placed != 0 {
			s.SuspectDuplicate(v, n, op)
			s.shownAgain(v)
			// A stand-in keeps the positions behind it right.
			v = s.InternVersion(k, standIn(elems[i].Hash, uint32(i+1)))
			s.Versions[v].Flags |= ledger.Baseline
		}
		s.place(k, v, n, s.prefixes[i+1])
	}
	first := s.Keys[k].Last
	for s.Versions[first].Index > old+1 {
		first = s.Versions[first].Prev
	}
	for v := first; v != 0; v = s.Versions[v].Next {
		x := &s.Versions[v]
		switch {
		case x.Writer != 0:
			s.connect(v, old)
		case x.Flags&ledger.Ambiguous != 0: // counted
		case x.Possible == 1:
			s.PromoteWriter(v)
		case x.Flags&ledger.Baseline == 0:
			s.Await(v, n, op)
		}
		s.Versions[v].Flags &^= ledger.InUnplaced
	}
	// Elements that are still unplaced come after the whole spine.
	if p := s.KnownBefore(s.Keys[k].Last); p != 0 {
		for u := s.Keys[k].Unplaced; u != 0; u = s.Versions[u].Sibling {
			s.GiveEdge(s.Versions[p].Writer, s.Versions[u].Writer, ledger.WW, u, n)
		}
	}
}

func (s *Lists) place(k, v, n uint32, prefix uint64) {
	if s.Versions[v].Flags&ledger.InUnplaced != 0 {
		s.unlinkUnplaced(v)
		s.Versions[v].Flags |= ledger.InUnplaced // extend still wants to know
	} else if s.Versions[v].Flags&ledger.Kept != 0 {
		s.Unkeep(v)
	}
	x, y := &s.Keys[k], &s.Versions[v]
	y.Flags |= ledger.Placed
	y.Index, y.Prefix = x.Length+1, prefix
	y.Prev, y.Next = x.Last, 0
	y.Witness = n
	s.Pin(n)
	s.Versions[x.Last].Next = v
	x.Last, x.Length = v, y.Index
}

// BehindUnseen says whether v is an element of a list, and another element stands, or may
// stand, between it and n's read. Then its append did not replace the state that n saw, or may
// not have. O(readers of one state).
func (s *Lists) BehindUnseen(v, n uint32) bool {
	x := &s.Versions[v]
	if s.Keys[x.Key].Kind != event.List {
		return false
	}
	if x.Flags&ledger.Placed != 0 {
		for r := s.Versions[x.Prev].Readers; r != 0; r = s.OlderReader(r) {
			if s.Readers[r].Txn == n {
				return false
			}
		}
	}
	return true
}

// ShownBy is the transaction whose read shows the place of the list element v, 0 if it has
// none.
func (s *Lists) ShownBy(v uint32) uint32 {
	x := &s.Versions[v]
	if x.Flags&ledger.Placed == 0 || s.Keys[x.Key].Flags&ledger.Unsupported != 0 || s.Txns[x.Witness].State != ledger.Counted {
		return 0
	}
	return x.Witness
}

// MisorderedList says whether v belongs to a list whose reads misorder the appends of one transaction.
// It looks at the part of the list that is in memory. Neighbours are reported by themselves
// (checkOwnOrder). It costs the length of the list.
func (s *Lists) MisorderedList(v uint32) bool {
	x := &s.Keys[s.Versions[v].Key]
	if x.Kind != event.List {
		return false
	}
	latest := map[uint32]uint32{} // by writer: the operation that appended the element before
	for u := x.First; u != 0; u = s.Versions[u].Next {
		w := s.Versions[u].Writer
		if w == 0 {
			continue
		}
		id := s.WriteOf(w, u)
		if id == 0 {
			continue
		}
		if op, again := latest[w]; again && s.Writes[id].Op < op {
			return true
		}
		latest[w] = s.Writes[id].Op
	}
	return false
}

// InstallList ends the work on a list key: the edges of the external read, then the edges of
// the appends.
func (s *Lists) InstallList(c *causes.Touch, n uint32) {
	if s.Keys[c.Key].Flags&ledger.Repeats != 0 {
		return
	}
	if f := s.Keys[c.Key].Flags; f&ledger.Unsupported != 0 && f&ledger.Deleted != 0 {
		for i := c.FirstOwn; i != 0; i = s.Own[i-1].Next {
			s.PossibleWriter(s.Writes[s.Own[i-1].Write].Version, n)
		}
		return // n itself deleted the list, and no edge of another transaction rests on it any more
	}
	if c.ReadVer != 0 {
		if c.Flags&causes.Wrote != 0 && !s.sawOwn(c) {
			s.divergeList(c.ReadVer, n)
		}
		s.ReadTooEarly(c.ReadVer, n)
		s.sawList(c.ReadVer, n, c.ReadOp)
	}
	again := false
	for i := c.FirstOwn; i != 0; i = s.Own[i-1].Next {
		id := s.Own[i-1].Write
		v := s.Writes[id].Version
		if x := &s.Versions[v]; c.ReadVer != 0 && x.Flags&ledger.Placed != 0 && x.Index <= c.ReadLen {
			if s.Writes[id].Op < c.ReadOp {
				s.SuspectDuplicate(v, n, c.ReadOp) // once before its own end, and there
			} else {
				s.SuspectFuture(v, n, c.ReadOp)
				if s.AttemptOpen(v, n) { // an attempt without a record appended it before
					s.TriesAgain(n)
				}
			}
		}
		if s.PossibleWriter(v, n); s.AppendedBefore(v, n) {
			s.TriesAgain(n)
			s.MakeAmbiguous(v)
		}
		if s.Versions[v].Flags&ledger.Ambiguous == 0 {
			s.Settle(v, id, n, again)
			again = again || s.Versions[v].Flags&ledger.InUnplaced != 0
		}
	}
}

// sawOwn says whether the external read shows an element that the transaction
// appended itself.
func (s *Lists) sawOwn(c *causes.Touch) bool {
	for i := c.FirstOwn; i != 0; i = s.Own[i-1].Next {
		x := &s.Versions[s.Writes[s.Own[i-1].Write].Version]
		if x.Flags&ledger.Placed != 0 && x.Index <= c.ReadLen {
			return true
		}
	}
	return false
}

// divergeList reports two transactions that read one state of a list and both
// appended to it (Elle's lost update, found by index).
func (s *Lists) divergeList(a, n uint32) {
	other := uint32(0)
	for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
		x := &s.Readers[r]
		if x.Txn == n {
			x.Overwrote = true
		} else if !x.Overwrote || s.OfUnknownOutcome(x.Txn) {
			continue
		} else if s.Txns[x.Txn].Asked != s.Txns[n].Asked { // see Diverging in package registers
			s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: n, B: x.Txn, Version: a, Certain: true})
		} else if other == 0 {
			other = x.Txn
		}
	}
	if other != 0 {
		s.Report(ledger.Anomaly{Kind: ledger.Divergence, A: n, B: other, Version: a, Certain: true})
	}
}

// sawList gives the edges of n's read that ended at a: from the writer of its last element, and
// to the writer of the next one.
func (s *Lists) sawList(a, n, op uint32) {
	if p := s.KnownBefore(a); p != 0 {
		s.GiveEdge(s.Versions[p].Writer, n, ledger.WR, p, 0)
		if p == a {
			s.IntermediateRead(a, n, op)
		}
	}
	if q := s.KnownAfter(a); q != 0 {
		s.GiveEdge(n, s.Versions[q].Writer, ledger.RW, q, 0)
		return
	}
	for u := s.Keys[s.Versions[a].Key].Unplaced; u != 0; u = s.Versions[u].Sibling {
		s.GiveEdge(n, s.Versions[u].Writer, ledger.RW, u, 0)
	}
}

// shownAgain takes in that a read shows the element v again. If one append of v is known, and the
// contract allows for an append without a record, the known one is a second attempt.
func (s *Lists) shownAgain(v uint32) {
	x := &s.Versions[v]
	x.Flags |= ledger.Twofold
	s.Signs.Patterns.Get(s.Keys[x.Key].Pattern).Shared = true // clients append again: see window/waiting.go
	if x.Possible != 1 || x.Flags&ledger.Ambiguous != 0 {
		return
	}
	for id := x.Writes; id != 0; id = s.Writes[id].NextOfVer {
		if w := s.Writes[id].Txn; s.Txns[w].State != ledger.Aborted && s.AgainOpen(v, w) {
			s.TriesAgain(w)
			return
		}
	}
}
