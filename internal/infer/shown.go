package infer

import (
	"cmp"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// unplace gives the key up if only n had shown the order of its last elements, since n's reads do not
// count any more. Earlier elements were also seen by a transaction that showed the elements behind, or
// that read up to there. That transaction's question about their writers takes its place. The
// transaction that showed the last element has seen all orders that n had shown, and no append that is
// unplaced.
func (s *lists) unplace(k, n uint32) {
	v, lost, by := s.keys[k].last, false, uint32(0)
	for ; v != 0 && s.versions[v].witness == n; v = s.versions[v].prev {
		if by = s.readBy(v, n); by != 0 {
			break
		}
		lost = true
		if w := s.versions[v].writer; w != 0 {
			s.kill(v, w, WW|RW)
		}
	}
	if lost {
		for u := s.keys[k].unplaced; u != 0; u = s.versions[u].sibling {
			s.kill(u, s.versions[u].writer, WW|RW) // perhaps shown by n to come behind
		}
		s.giveUp(k)
		return
	}
	found := false
	for ; v != 0; v = s.versions[v].prev {
		x := &s.versions[v]
		if x.witness != n {
			by = x.witness
			continue
		}
		if by == 0 {
			continue
		}
		found = true
		s.pin(by)
		x.witness = by
		s.unpin(n)
		if x.possible == 0 && x.flags&(initialVersion|baseline) == 0 && s.txns[by].state == counted {
			s.await(v, by, 0)
		}
	}
	if found {
		s.showAnew(k, n, s.versions[s.keys[k].last].witness)
	}
}

// readBy is one who read v and is not n, 0 if there is none.
func (s *lists) readBy(v, n uint32) uint32 {
	for r := s.versions[v].readers; r != 0; r = s.olderReader(r) {
		if t := s.readers[r].txn; t != n {
			return t
		}
	}
	return 0
}

// showAnew lets the orders of k that n had shown be shown by now.
func (s *lists) showAnew(k, n, now uint32) {
	for i := range s.out.Edges {
		if e := &s.out.Edges[i]; e.Witness == n && s.versions[e.Version].key == k {
			e.Witness = now
		}
	}
	show := func(v uint32) {
		if w := s.versions[v].writer; w != 0 {
			s.out.Shown = append(s.out.Shown, Shown{Writer: w, Was: n, Now: now})
		}
	}
	for v := s.keys[k].last; v != 0; v = s.versions[v].prev {
		show(v)
	}
	for u := s.keys[k].unplaced; u != 0; u = s.versions[u].sibling {
		show(u)
	}
}

// showInstead lets n show what old showed of k: its record takes the place of old's, and has the same
// operations.
func (s *lists) showInstead(k, n, old uint32) {
	found := false
	for v := s.keys[k].last; v != 0; v = s.versions[v].prev {
		if x := &s.versions[v]; x.witness == old {
			found = true
			s.pin(n)
			x.witness = n
			s.unpin(old)
			if x.possible == 0 && x.flags&(initialVersion|baseline) == 0 {
				s.await(v, n, 0)
			}
		}
	}
	if found {
		s.showAnew(k, old, n)
	}
}

// EachUnread calls fn with the transactions whose appends to one list no read has shown, without
// repetition. If there are several lists, it takes them in the order of the hashes of their keys. The
// slice is reused.
func (s *lists) EachUnread(fn func(writers []uint32)) {
	var ks []uint32
	for k := range s.keys {
		if x := &s.keys[k]; x.kind == event.List && x.unplaced != 0 && s.versions[x.unplaced].sibling != 0 && x.flags&unsupported == 0 {
			ks = append(ks, uint32(k))
		}
	}
	slices.SortFunc(ks, func(a, b uint32) int {
		x, y := s.keys[a].hash, s.keys[b].hash
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
func (s *lists) unread(k uint32, writers []uint32) []uint32 {
	for v := s.keys[k].unplaced; v != 0; v = s.versions[v].sibling {
		if w := s.versions[v].writer; w != 0 && !slices.Contains(writers, w) {
			writers = append(writers, w)
		}
	}
	return writers
}

// Unread calls fn with the transactions that appended to k what no read has
// shown, if there are several: as EachUnread does.
func (s *lists) Unread(k uint32, fn func(writers []uint32)) {
	x := &s.keys[k]
	if x.kind != event.List || x.flags&unsupported != 0 || x.unplaced == 0 || s.versions[x.unplaced].sibling == 0 {
		return
	}
	writers := s.unread(k, nil)
	if len(writers) > 1 {
		fn(writers)
	}
}
