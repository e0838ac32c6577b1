package causes

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// KnownBefore is the nearest version at or before v in the spine whose writer is
// known, 0 if there is none.
func (s *Absences) KnownBefore(v uint32) uint32 {
	for v != 0 && s.Versions[v].Writer == 0 {
		v = s.Versions[v].Prev
	}
	return v
}

// KnownAfter is the nearest version behind v in the spine whose writer is known.
func (s *Causes) KnownAfter(v uint32) uint32 {
	for v = s.Versions[v].Next; v != 0 && s.Versions[v].Writer == 0; {
		v = s.Versions[v].Next
	}
	return v
}

// CountRoots counts a key as unordered once its versions have two roots: then
// the order between their descendants is unknown.
func (s *Absences) CountRoots(k uint32) {
	x := &s.Keys[k]
	if x.Flags&(ledger.Uncheckable|ledger.Unordered) != 0 || x.Flags&(ledger.Element|ledger.Deleted) == ledger.Element {
		return // in whichever order an element is added, it is there
	}
	numbered := x.Flags&ledger.Element != 0 || x.Base != PartlyOrdered // those with a number have their order
	if id := s.Versions[x.Initial].Over; numbered && id != 0 && s.IsOrdered(s.Writes[id].Version) {
		if next := s.Writes[id].NextOver; next != 0 && s.IsOrdered(s.Writes[next].Version) {
			return // one more version with a number changes nothing
		}
	}
	roots, fromInitial, given := 0, 0, 0
	if x.Flags&ledger.HasBaseline != 0 {
		roots++
	}
	if s.Versions[x.Initial].Flags&ledger.Overwritten != 0 && x.Kind != event.List {
		fromInitial = 1 // by a transaction that has left memory
	}
	for id := s.Versions[x.Initial].Over; id != 0 && roots < 2; id = s.Writes[id].NextOver {
		switch w := &s.Writes[id]; {
		case s.IsOrdered(w.Version):
			given++
		case w.Blind:
			roots++
		default:
			fromInitial = 1
		}
	}
	if given > 0 && numbered {
		fromInitial, given = 1, 0
	}
	if roots+fromInitial+given >= 2 {
		x.Flags |= ledger.Unordered
		s.Counters.Unordered++
		if x.Flags&ledger.Sums != 0 {
			s.Above.Counter.Loosen(k)
		}
	}
}

// KillEdges takes back edges with v at its writer. Other conclusions from v stay.
func (s *Causes) KillEdges(v, writer uint32, labels ledger.Label) {
	s.killEdgesFrom(0, v, writer, labels)
}

// killEdgesFrom is KillEdges of those out of from, 0 for any.
func (s *Causes) killEdgesFrom(from, v, writer uint32, labels ledger.Label) {
	k := ledger.Kill{Version: v, Writer: writer, Labels: labels, Order: true, From: from}
	s.Out.Kills = append(s.Out.Kills, k)
	s.Out.Edges = slices.DeleteFunc(s.Out.Edges, func(e ledger.Edge) bool { return k.Kills(&e) })
}

// IsNothing says whether v is the version that deletes leave in an emptied key.
func (s *Absences) IsNothing(v uint32) bool { return s.Versions[v].Flags&ledger.Nothing != 0 }

// OfElement says whether v is of an element of a set.
func (s *Absences) OfElement(v uint32) bool {
	return s.Keys[s.Versions[v].Key].Flags&ledger.Element != 0
}

// MayCount appends to dst the transactions in memory that did not abort, those that count first, each
// in the order of their ends. Those from the index maybe on do not count: their outcome is unknown, and
// nobody has observed them.
func (s *Causes) MayCount(dst []uint32) (all []uint32, maybe int) {
	from := len(dst)
	for n := range s.Txns {
		if x := &s.Txns[n]; x.State == ledger.Counted || x.State == ledger.Tentative {
			dst = append(dst, uint32(n))
		}
	}
	slices.SortFunc(dst[from:], func(a, b uint32) int {
		x, y := &s.Txns[a], &s.Txns[b]
		return cmp.Or(cmp.Compare(of(x.State == ledger.Tentative), of(y.State == ledger.Tentative)), cmp.Compare(x.End, y.End), cmp.Compare(x.Id.Lo, y.Id.Lo))
	})
	maybe = len(dst)
	for i, n := range dst[from:] {
		if s.Txns[n].State == ledger.Tentative {
			maybe = from + i
			break
		}
	}
	return dst, maybe
}

func of(b bool) int {
	if b {
		return 1
	}
	return 0
}
