package orders

import (
	"math"
	"slices"
	"strconv"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// NumberText numbers v, which n wrote or saw, by the text of its version.
func (s *Orders) NumberText(k, v, n uint32, text []byte) {
	if !s.Opt.NumericVersions {
		return
	}
	if len(text) > 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	if num, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		s.Number(k, v, n, num)
	}
}

// Number puts v, which n wrote or saw, into its place.
func (s *Orders) Number(k, v, n uint32, num int64) {
	x, y := &s.Keys[k], &s.Versions[v]
	if x.Kind != event.Register || x.Flags&ledger.Sums != 0 || x.HasNoOrder() || y.Flags&(ledger.InitialVersion|ledger.Ambiguous) != 0 ||
		y.Flags&ledger.OverwrittenByWriter != 0 && !s.Installed(v) && !s.left(n, v) {
		return // an intermediate version has no place in the order
	}
	place := uint64(num) ^ 1<<63
	if y.Index == 1 {
		if y.Prefix != place {
			s.contradictOrder(k, n, v, v)
		}
		return
	}
	p := x.Last
	for p != x.Initial && s.Versions[p].Prefix > place {
		p = s.Versions[p].Prev
	}
	if p != x.Initial && s.Versions[p].Prefix == place {
		s.contradictOrder(k, n, v, p)
		return
	}
	if place <= x.BasePrefix {
		s.Report(ledger.Anomaly{Kind: ledger.RetiredReader, A: n, Version: v}) // its neighbours have left memory
	}
	y.Index, y.Prefix = 1, place
	y.Prev, y.Next = p, s.Versions[p].Next
	s.Versions[p].Next = v
	if y.Next != 0 {
		s.Versions[y.Next].Prev = v
	} else {
		x.Last = v
	}
	if y.Writer != 0 {
		s.ConnectOrdered(v, nil)
	}
}

// ConnectOrdered gives the edges of v, whose writer and number are known.
func (s *Orders) ConnectOrdered(v uint32, again *reordering) {
	x := s.Versions[v]
	p := s.KnownBefore(x.Prev)
	from := p
	if p != 0 {
		s.WritesFollow(p, v, again)
	} else {
		from = s.Keys[x.Key].Initial
	}
	s.readersPrecede(from, v, v)
	if q := s.KnownAfter(v); q != 0 {
		if p != 0 && s.Opt.Rows && x.Flags&ledger.Tombstone != 0 {
			s.KillEdges(q, s.Versions[q].Writer, ledger.WW) // its row is not p's
		}
		s.WritesFollow(v, q, again)
		s.readersPrecede(v, q, q)
	}
}

// WritesFollow gives the edge from the writer of v to the writer of the next version q.
func (s *Orders) WritesFollow(v, q uint32, again *reordering) {
	label := ledger.WW
	if s.otherRow(v, q) {
		label = ledger.OtherRow
	}
	s.edgeAgain(s.Versions[v].Writer, s.Versions[q].Writer, label, q, again)
}

// readersPrecede gives the edges to the writer of q from the readers of the versions from one
// up to another, which is not among them.
func (s *Orders) readersPrecede(from, to, q uint32) {
	for a := from; a != to && a != 0; a = s.Versions[a].Next {
		if x := &s.Versions[a]; x.Flags&ledger.Ambiguous != 0 || x.Index == 1 && x.Writer == 0 && !s.Numeric(x.Key) {
			continue // its number was the commit timestamp of a writer that is none now
		}
		for r := s.Versions[a].Readers; r != 0; r = s.OlderReader(r) {
			if s.Readers[r].How != ledger.Named {
				s.GiveEdge(s.Readers[r].Txn, s.Versions[q].Writer, ledger.RW, q, s.shownBy(a))
			}
		}
	}
}

// shownBy is the transaction whose commit timestamp is a's number; 0 where a's own
// text is.
func (s *Orders) shownBy(a uint32) uint32 {
	if s.Numeric(s.Versions[a].Key) {
		return 0
	}
	return s.Versions[a].Writer
}

// SawOrdered gives the edge of n's read of v to the writer of the next known version.
func (s *Orders) SawOrdered(v, n uint32) {
	if s.NamedOnly(v, n) {
		return
	}
	if s.Opt.Partly() {
		s.sawPartly(v, n)
	}
	if s.Versions[v].Index != 1 {
		return
	}
	if q := s.KnownAfter(v); q != 0 {
		s.GiveEdge(n, s.Versions[q].Writer, ledger.RW, q, s.shownBy(v))
	}
}

// BridgeOrdered takes back what rests on w having written v, and joins v's neighbours.
func (s *Orders) BridgeOrdered(v, w uint32) {
	s.Kill(v, w, ledger.WW|ledger.RW|ledger.OtherRow)
	s.displaceReaders(v, w)
	for q := s.Versions[v].Next; q != 0; q = s.Versions[q].Next {
		s.Kill(q, w, ledger.WW|ledger.OtherRow)
	}
	p, q := s.KnownBefore(s.Versions[v].Prev), s.KnownAfter(v)
	if q == 0 {
		return
	}
	from := p
	if p != 0 {
		s.WritesFollow(p, q, nil)
	} else {
		from = s.Keys[s.Versions[v].Key].Initial
	}
	s.readersPrecede(from, q, q)
}

// displaceReaders takes back that the readers of v come before the writers of later versions, where that
// rests on w's commit timestamp.
func (s *Orders) displaceReaders(v, w uint32) {
	if s.Numeric(s.Versions[v].Key) {
		return
	}
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		k := ledger.Kill{Version: v, Writer: s.Readers[r].Txn, Labels: ledger.RW, Order: true, From: s.Readers[r].Txn, Placed: w}
		s.Out.Kills = append(s.Out.Kills, k)
		s.Out.Edges = slices.DeleteFunc(s.Out.Edges, func(e ledger.Edge) bool { return k.Kills(&e) })
	}
}

// ForgetPlaceOfReaders takes back that the readers of v, which is ambiguous now, come before the
// next version in the order of commit timestamps. The readers of other versions still do. A
// version that is a number has its place whoever wrote it.
func (s *Orders) ForgetPlaceOfReaders(v uint32) {
	q := s.KnownAfter(v)
	if q == 0 || s.Numeric(s.Versions[v].Key) {
		return
	}
	w := s.Versions[q].Writer
	s.KillEdges(q, w, ledger.RW)
	if id := s.WriteOf(w, q); id != 0 && s.Writes[id].Pred != 0 {
		s.readersBefore(s.Writes[id].Pred, q, nil)
	}
	from := s.KnownBefore(s.Versions[v].Prev)
	if from == 0 {
		from = s.Keys[s.Versions[v].Key].Initial
	}
	s.readersPrecede(from, q, q)
}

// leaveOrder takes v, which leaves memory, out of its spine.
func (s *Orders) leaveOrder(v uint32) {
	k := &s.Keys[s.Versions[v].Key]
	k.BasePrefix = max(k.BasePrefix, s.Versions[v].Prefix)
	s.UnlinkOrdered(v)
}

// UnlinkOrdered takes v out of its spine.
func (s *Orders) UnlinkOrdered(v uint32) {
	x := &s.Versions[v]
	k := &s.Keys[x.Key]
	s.Versions[x.Prev].Next = x.Next
	if x.Next != 0 {
		s.Versions[x.Next].Prev = x.Prev
	} else {
		k.Last = x.Prev
	}
	x.Index, x.Prev, x.Next = 0, 0, 0
}

// SupersedeInOrder drops v, and the versions behind it one by one. Each must be the first in its spine,
// and the next one must have a retired writer. A read of v is then a read of an old state.
func (s *Orders) SupersedeInOrder(v uint32) {
	for v != 0 {
		x := &s.Versions[v]
		q := s.KnownAfter(v)
		if x.Prev != s.Keys[x.Key].Initial || q == 0 || s.Txns[s.Versions[q].Writer].Flags&ledger.Retired == 0 || !s.Gone(v) {
			return
		}
		next := x.Next
		if s.Drop(v); s.Versions[v].Key != 0 {
			return // a question may still name the version
		}
		v = next
	}
}

// CheckStep reports a transaction n that read or replaced pred and wrote v with a number that is not higher. A read that shows
// pred may be of a version that was never installed, until a record tells who wrote it and took effect. A write that
// names pred as what it replaced is enough.
func (s *Orders) CheckStep(n, pred, v uint32) {
	if !s.Numeric(s.Versions[v].Key) && s.Versions[v].Writer != n {
		return // several wrote the value: its number is not n's commit timestamp
	}
	if s.IsOrdered(pred) && s.IsOrdered(v) && s.Versions[pred].Prefix >= s.Versions[v].Prefix && (s.Versions[pred].Writer != 0 || s.NamedOnly(pred, n)) {
		s.contradictOrder(s.Versions[v].Key, n, v, pred)
	}
}

// CheckStepsFrom is CheckStep for all who replaced pred, whose number was known before its writer.
func (s *Orders) CheckStepsFrom(pred uint32) {
	if !s.Numeric(s.Versions[pred].Key) {
		return // its number came with its writer
	}
	for id := s.Versions[pred].Over; id != 0 && s.IsOrdered(pred); id = s.Writes[id].NextOver {
		if w := &s.Writes[id]; !w.Blind {
			s.CheckStep(w.Txn, pred, w.Version)
		}
	}
}

// contradictOrder reports that the numbers of the versions v and other exclude what n did, and forgets
// the order of k. If a number is the commit timestamp of other's one writer, it falls when other gets a
// second writer.
func (s *Orders) contradictOrder(k, n, v, other uint32) {
	a := ledger.Anomaly{Kind: ledger.CyclicVersions, A: n, B: s.Versions[other].Writer, Version: v, Certain: true}
	if !s.Numeric(k) && other != v {
		a.Other = other
	}
	s.giveUpOrder(k)
	s.Report(a)
}

func (s *Orders) giveUpOrder(k uint32) {
	x := &s.Keys[k]
	x.LoseOrder()
	var all []uint32
	for v := s.Versions[x.Initial].Next; v != 0; v = s.Versions[v].Next {
		all = append(all, v)
		s.KillOrder(v, s.Versions[v].Writer)
	}
	for _, v := range all {
		y := &s.Versions[v]
		y.Index, y.Prefix, y.Prev, y.Next = 0, 0, 0, 0
	}
	s.Versions[x.Initial].Next, x.Last = 0, x.Initial
	for _, v := range append(all, x.Initial) { // what reads say by themselves
		if s.Versions[v].Flags&ledger.Ambiguous != 0 {
			continue
		}
		for id := s.Versions[v].Over; id != 0; id = s.Writes[id].NextOver {
			for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
				if s.Readers[r].Saw() {
					s.GiveEdge(s.Readers[r].Txn, s.Writes[id].Txn, ledger.RW, s.Writes[id].Version, 0)
				}
			}
		}
	}
	s.CountRoots(k)
}

// CommitNumber is the number that n's versions get from its commit timestamp.
func (s *Orders) CommitNumber(t *event.Txn) int64 {
	if s.Opt.TrustCommitTS && t.Flags&event.HasCommitTS != 0 {
		return t.CommitTS
	}
	return math.MinInt64
}

// NothingInOrder is called when empty reads of k name the initial version no more. It only
// takes back their edges to the writers of the versions in order.
func (s *Orders) NothingInOrder(k uint32) {
	if !s.Opt.Ordered || s.Keys[k].Kind == event.List || s.Keys[k].Flags&ledger.Element != 0 {
		return
	}
	for q := s.Versions[s.Keys[k].Initial].Next; q != 0; q = s.Versions[q].Next {
		w := s.Versions[q].Writer
		if w == 0 {
			continue
		}
		s.KillEdges(q, w, ledger.RW)
		if id := s.WriteOf(w, q); id != 0 && s.Writes[id].Pred != 0 {
			s.readersBefore(s.Writes[id].Pred, q, nil)
		}
		if p := s.KnownBefore(s.Versions[q].Prev); p != 0 {
			s.readersPrecede(p, q, q)
		}
	}
	if s.Opt.Partly() {
		s.OrderAgain(k)
	}
}
