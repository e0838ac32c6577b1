package lists

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/infer/ledger"
)

// Unplace gives the key up if only n had shown the order of its last elements, since n's reads do not
// count any more. Earlier elements were also seen by a transaction that showed the elements behind, or
// that read up to there. That transaction's question about their writers takes its place. The
// transaction that showed the last element has seen all orders that n had shown, and no append that is
// unplaced.
func (s *Lists) Unplace(k, n uint32) {
	v, lost, by := s.Keys[k].Last, false, uint32(0)
	for ; v != 0 && s.Versions[v].Witness == n; v = s.Versions[v].Prev {
		if by = s.readBy(v, n); by != 0 {
			break
		}
		lost = true
		if w := s.Versions[v].Writer; w != 0 {
			s.Kill(v, w, ledger.WW|ledger.RW)
		}
	}
	if lost {
		for u := s.Keys[k].Unplaced; u != 0; u = s.Versions[u].Sibling {
			s.Kill(u, s.Versions[u].Writer, ledger.WW|ledger.RW) // perhaps shown by n to come behind
		}
		s.GiveUp(k)
		return
	}
	found := false
	for ; v != 0; v = s.Versions[v].Prev {
		x := &s.Versions[v]
		if x.Witness != n {
			by = x.Witness
			continue
		}
		if by == 0 {
			continue
		}
		found = true
		s.Pin(by)
		x.Witness = by
		s.Unpin(n)
		if x.Possible == 0 && x.Flags&(ledger.InitialVersion|ledger.Baseline) == 0 && s.Txns[by].State == ledger.Counted {
			s.Await(v, by, 0)
		}
		if s.Txns[by].State == ledger.Counted {
			s.suspectAgain(v, by)
		}
	}
	if found {
		s.showAnew(k, n, s.Versions[s.Keys[k].Last].Witness)
	}
}

// readBy is one who read v and is not n, 0 if there is none.
func (s *Lists) readBy(v, n uint32) uint32 {
	for r := s.Versions[v].Readers; r != 0; r = s.OlderReader(r) {
		if t := s.Readers[r].Txn; t != n {
			return t
		}
	}
	return 0
}

// showAnew lets the orders of k that n had shown be shown by now.
func (s *Lists) showAnew(k, n, now uint32) {
	for i := range s.Out.Edges {
		if e := &s.Out.Edges[i]; e.Witness == n && s.Versions[e.Version].Key == k {
			e.Witness = now
		}
	}
	show := func(v uint32) {
		if w := s.Versions[v].Writer; w != 0 {
			s.Out.Shown = append(s.Out.Shown, ledger.Shown{Writer: w, Was: n, Now: now})
		}
	}
	for v := s.Keys[k].Last; v != 0; v = s.Versions[v].Prev {
		show(v)
	}
	for u := s.Keys[k].Unplaced; u != 0; u = s.Versions[u].Sibling {
		show(u)
	}
}

// ShowInstead lets n show what old showed of k: its record takes the place of old's, and has the same
// operations.
func (s *Lists) ShowInstead(k, n, old uint32) {
	found := false
	for v := s.Keys[k].Last; v != 0; v = s.Versions[v].Prev {
		if x := &s.Versions[v]; x.Witness == old {
			found = true
			s.Pin(n)
			x.Witness = n
			s.Unpin(old)
			if x.Possible == 0 && x.Flags&(ledger.InitialVersion|ledger.Baseline) == 0 {
				s.Await(v, n, 0)
			}
			s.suspectAgain(v, n)
		}
	}
	if found {
		s.showAnew(k, old, n)
	}
}

// suspectAgain asks of n, which shows the spine up to v now, what another record was asked. That is whether the
// element that v stands in for was appended once.
func (s *Lists) suspectAgain(v, n uint32) {
	x := &s.Versions[v]
	if x.Flags&ledger.Baseline == 0 {
		return
	}
	if element := s.LookupVersion(x.Key, stoodFor(x.Hash, x.Index)); element != 0 {
		s.SuspectDuplicate(element, n, 0)
	}
}

// EachUnread calls fn with the transactions whose appends to one list no read has shown, without
// repetition. If there are several lists, it takes them in the order of the hashes of their keys. The
// slice is reused.
func (s *Lists) EachUnread(fn func(writers []uint32)) {
	var ks []uint32
	for k := range s.Keys {
		if x := &s.Keys[k]; x.Kind == event.List && x.Unplaced != 0 && s.Versions[x.Unplaced].Sibling != 0 && x.Flags&ledger.Unsupported == 0 {
			ks = append(ks, uint32(k))
		}
	}
	slices.SortFunc(ks, func(a, b uint32) int {
		x, y := s.Keys[a].Hash, s.Keys[b].Hash
		return cmp.Or(cmp.Compare(x.Lo, y.Lo), cmp.Compare(x.Hi, y.Hi))
	})
	var writers []uint32
	for _, k := range ks {
		if writers = s.unread(k, writers[:0]); len(writers) > 1 {
			fn(writers)
		}
	}
}

// unread appends the writers of the unplaced appends of k, each once.
func (s *Lists) unread(k uint32, writers []uint32) []uint32 {
	for v := s.Keys[k].Unplaced; v != 0; v = s.Versions[v].Sibling {
		if w := s.Versions[v].Writer; w != 0 && !slices.Contains(writers, w) {
			writers = append(writers, w)
		}
	}
	return writers
}

// Unread calls fn with the transactions that appended to k what no read has
// shown, if there are several: as EachUnread does.
func (s *Lists) Unread(k uint32, fn func(writers []uint32)) {
	x := &s.Keys[k]
	if x.Kind != event.List || x.Flags&ledger.Unsupported != 0 || x.Unplaced == 0 || s.Versions[x.Unplaced].Sibling == 0 {
		return
	}
	writers := s.unread(k, nil)
	if len(writers) > 1 {
		fn(writers)
	}
}
